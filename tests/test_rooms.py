# SPDX-License-Identifier: Apache-2.0
"""The rooms: who may import whom, and which words may not appear where."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "python" / "upsample3d"

MAY_IMPORT = {
    "status": set(),
    "dtypes": set(),
    "bands": set(),
    "layout": set(),
    "sizes": set(),
    "types": set(),
    "forms": set(),
    "tiles": {"forms"},
    "schedule": {"cpu", "forms", "tiles"},
    "wait_policy": {"cpu"},
    "levels": {"cpu", "_v2.gather"},
    "arguments": {"dtypes", "status"},
    "problem": {"arguments", "bands", "dtypes", "layout", "sizes", "status", "types"},
    "buffers": {"arguments", "layout", "status"},
    "plan": {"bands", "buffers", "cpu", "layout", "levels", "problem", "schedule", "types"},
    "foreign": {"status"},
    "acltypes": set(),
    "acl": {"acltypes", "buffers", "foreign", "layout", "status"},
    "aclnn_checks": {
        "acl",
        "acltypes",
        "arguments",
        "buffers",
        "foreign",
        "layout",
        "status",
        "types",
    },
    "aclnn_limits": {"acl", "aclnn_checks", "arguments", "cpu", "foreign", "status"},
    "aclnn": {
        "acl",
        "aclnn_checks",
        "aclnn_limits",
        "acltypes",
        "buffers",
        "cpu",
        "foreign",
        "layout",
        "plan",
        "status",
    },
    "cores": set(),
    "tiling": {"arguments", "cores", "cpu", "dtypes", "foreign", "status"},
    "attributes": {"foreign"},
    "graph": {
        "arguments",
        "attributes",
        "buffers",
        "cpu",
        "dtypes",
        "foreign",
        "layout",
        "plan",
        "status",
        "tiling",
    },
    "chips": {"acl", "aclnn_checks", "cores", "tiling"},
    "verdicts": {
        "aclnn",
        "aclnn_checks",
        "aclnn_limits",
        "chips",
        "cores",
        "foreign",
        "status",
        "tiling",
    },
    "check": {
        "acl",
        "aclnn_checks",
        "acltypes",
        "arguments",
        "chips",
        "cpu",
        "layout",
        "status",
        "verdicts",
    },
    "functional": {
        "arguments",
        "bands",
        "buffers",
        "cpu",
        "plan",
        "problem",
        "schedule",
        "status",
        "types",
    },
    "torch_kernels": {"buffers", "plan", "schedule", "status", "types"},
    "torch_ops": {"torch_kernels"},
    "torch": {"torch_kernels", "torch_ops"},
    "reference": {
        "arguments",
        "bands",
        "buffers",
        "cpu",
        "dtypes",
        "layout",
        "problem",
        "types",
    },
    "axes": set(),
    "grids": set(),
    "nifti": set(),
    "start": set(),
    "process": set(),
    "places": {"process"},
    "headers": {"grids", "nifti"},
    "files": {"arguments", "axes", "headers", "nifti", "places", "status"},
    "elements": {"axes", "files", "problem"},
    "notices": {"files", "grids", "headers", "nifti"},
    "targets": {
        "types",
        "arguments",
        "cpu",
        "files",
        "grids",
        "nifti",
        "plan",
        "problem",
        "sizes",
        "status",
    },
    "volumes": {
        "arguments",
        "axes",
        "elements",
        "files",
        "grids",
        "headers",
        "nifti",
        "notices",
        "places",
        "plan",
        "process",
        "status",
        "targets",
    },
    "resample": {"arguments", "axes", "check", "volumes"},
    "phantom": set(),
    "picture": set(),
    "recovery": {"upsample3d"},
    "demo": {
        "upsample3d",
        "phantom",
        "picture",
        "places",
        "process",
        "recovery",
        "types",
        "volumes",
    },
    "__main__": {"upsample3d", "check", "demo", "process", "resample"},
    "__init__": {
        "aclnn",
        "bands",
        "functional",
        "graph",
        "levels",
        "plan",
        "reference",
        "start",
        "status",
        "tiling",
        "torch",
        "volumes",
        "wait_policy",
    },
}
"""A file -> the rooms it may import; "upsample3d" is the public names."""

THIRD_PARTY = {"numpy", "ml_dtypes", "tqdm"}

GUESTS = {room: {"torch"} for room in ("torch_kernels", "torch_ops", "torch")}
"""A file -> third-party modules that only it imports, and that are imported only with it."""

OPS = "nearest trilinear exact align_corners aclnn torch"
MAY_NOT_SAY = {
    "pyx/gather.pyx": OPS + " raise malloc calloc free new empty BFLOAT16 FLOAT16 cores",
    "pyx/sum.pxi": OPS + " raise malloc calloc free new empty BFLOAT16 FLOAT16 cores threads",
    "pyx/pick.pxi": OPS + " raise malloc calloc free new empty dtype cores threads",
    "pyx/pack.pxi": OPS + " raise malloc calloc free new empty dtype cores threads",
    "pyx/cpu.pyx": OPS + " malloc gather stride",
    "include/upsample3d/job.h": OPS + " malloc static inline",
    "include/upsample3d/magic.h": OPS + " malloc job_t",
    "include/upsample3d/rows.h": OPS + " malloc new delete throw job_t omp",
    "include/upsample3d/width.h": OPS + " malloc new delete throw job_t omp",
    "include/upsample3d/pack.h": OPS + " malloc new delete throw job_t omp",
    "include/upsample3d/vectors.h": OPS + " malloc new delete throw job_t omp",
    "python/upsample3d/bands.py": "raise strides stride float16 bfloat16 NCDHW threads out_strides",
    "python/upsample3d/layout.py": "raise numpy scale align_corners threads " + OPS,
    "python/upsample3d/forms.py": "raise scale strides NCDHW dtype rule cores threads " + OPS,
    "python/upsample3d/tiles.py": "raise scale strides NCDHW dtype rule cores threads " + OPS,
    "python/upsample3d/schedule.py": "raise scale strides NCDHW dtype rule " + OPS,
    "python/upsample3d/plan.py": "raise_ sched_getaffinity cpu_count float32 ceil floor round",
    "python/upsample3d/cores.py": "numpy strides dtype raise",
    "python/upsample3d/tiling.py": "strides NCDHW Plan",
    "python/upsample3d/aclnn.py": "float64 ceil floor bands schedule",
    "python/upsample3d/problem.py": "sched_getaffinity cpu_count gather Job",
    "python/upsample3d/torch.py": "numpy np Plan stride strides bands float32",
    "python/upsample3d/torch_ops.py": "numpy np Plan stride strides bands float32",
    "python/upsample3d/torch_kernels.py": "Library grad backward vmap Meta",
}
"""A file -> the names that belong to other rooms."""

ONLY_IN = {
    "sched_getaffinity": {"schedule.py"},
    "cpu_count": {"schedule.py"},
    "__array_struct__": set(),
    "nibabel": {"nifti.py", "headers.py"},
    "matplotlib": {"picture.py", "demo.py"},
    "Job": {"levels.py", "plan.py"},
    "fill": {"plan.py", "torch_kernels.py"},
}
"""A name -> the Python files of the package that may use it."""


def modules() -> list[Path]:
    return sorted(PACKAGE.glob("*.py"))


def imports(path: Path) -> tuple[set[str], set[str]]:
    """(rooms of ours, third-party modules imported at module level) that a file imports."""
    tree = ast.parse(path.read_text())
    ours, others = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                ours |= {"upsample3d"} if alias.name.split(".")[0] == "upsample3d" else set()
        elif isinstance(node, ast.ImportFrom) and node.level:
            ours |= {node.module} if node.module else {alias.name for alias in node.names}
    for node in tree.body:
        if isinstance(node, ast.Import):
            others |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            others |= {node.module.split(".")[0]}
    return ours, others


def names(path: Path) -> set[str]:
    """The identifiers of a file, and the numbers' and strings' none."""
    text = path.read_text()
    if path.suffix == ".py":
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        return {token.string for token in tokens if token.type == tokenize.NAME}
    if path.suffix == ".h":
        text = re.sub(r"//.*", " ", text)
    else:  # C between quotes after `extern from *:` stays: it is code
        block = re.compile(r'(from \*:\s*""".*?""")|""".*?"""', flags=re.DOTALL)
        text = block.sub(lambda found: found[1] or " ", text)
        text = re.sub(r"#\s.*", " ", text)
    text = re.sub(r'/\*.*?\*/|"[^"\n]+"', " ", text, flags=re.DOTALL)
    return set(re.findall(r"[A-Za-z_]\w*", text))


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.stem)
def test_imports_run_one_way(path):
    ours, others = imports(path)
    assert path.stem in MAY_IMPORT, "a new room needs a row in the table"
    assert ours <= MAY_IMPORT[path.stem]
    assert {name for name in others if name in THIRD_PARTY or not is_standard(name)} <= (
        THIRD_PARTY | {"upsample3d"} | GUESTS.get(path.stem, set())
    )


def is_standard(name: str) -> bool:
    import sys

    return name in sys.stdlib_module_names


def test_every_row_has_its_file():
    assert {path.stem for path in modules()} == set(MAY_IMPORT)


def test_nobody_imports_in_a_circle():
    left = dict(MAY_IMPORT)
    while left:
        free = {room for room, needs in left.items() if not needs & set(left)}
        assert free, f"a circle among {sorted(left)}"
        left = {room: needs for room, needs in left.items() if room not in free}


@pytest.mark.parametrize("file", MAY_NOT_SAY)
def test_words_stay_in_their_rooms(file):
    assert not names(ROOT / file) & set(MAY_NOT_SAY[file].split())


@pytest.mark.parametrize("name", ONLY_IN)
def test_names_that_one_room_owns(name):
    users = {path.name for path in modules() if name in names(path)}
    assert users <= ONLY_IN[name]


def test_only_vectors_h_asks_for_instructions():
    sources = [*ROOT.glob("include/**/*.h"), *ROOT.glob("pyx/*"), *PACKAGE.rglob("*.py*")]
    users = {path.name for path in sources if "__AVX" in path.read_text()}
    assert users == {"vectors.h"}


def test_nothing_shipped_is_built_for_this_machine_or_with_fast_math():
    text = (ROOT / "setup.py").read_text() + (ROOT / "pyproject.toml").read_text()
    assert "-march=native" not in text
    assert "fast-math" not in text
    assert "-ffp-contract=off" in text


SOURCES = [
    path
    for pattern in ("include/**/*.h", "pyx/*.p*", "python/**/*.py*", "tests/*.py", "bench/*.py")
    for path in sorted(ROOT.glob(pattern))
    if path.suffix in {".h", ".pyx", ".pxd", ".pxi", ".py", ".pyi"}
]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_every_file_is_short_and_says_its_licence(path):
    lines = path.read_text().splitlines()
    assert "SPDX-License-Identifier: Apache-2.0" in lines[0]
    assert len(lines) <= 400
