# SPDX-License-Identifier: Apache-2.0
"""The layering: who may import whom, and which words may not appear where."""

from __future__ import annotations

import ast
import io
import re
import shutil
import sys
import tokenize
from pathlib import Path

import pytest

from upsample3d.geometry import kinds

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "python" / "upsample3d"

PUBLIC = "upsample3d"
LATE = ("aclnn", "graph", "reference", "tiling", "torch", "volumes")

BELOW = {
    "kernel": set(),
    "geometry": set(),
    "spec": {"geometry"},
    "plan": {"spec", "geometry", "kernel"},
    "functional": {"plan", "spec", "geometry", "kernel"},
    "reference": {"plan", "spec", "geometry", "kernel"},
    "cann": {"plan", "spec", "geometry", "kernel"},
    "frameworks": {"plan", "spec", "geometry"},
    "files": {"plan", "spec", "geometry", "kernel"},
    "demo": {PUBLIC, "files", "spec"},
    "commands": {PUBLIC, "demo", "files", "cann", "spec", "kernel"},
    "aclnn": {"cann"},
    "graph": {"cann"},
    "tiling": {"cann"},
    "volumes": {"files"},
    "torch": {"frameworks"},
    "__main__": {"commands"},
    "__init__": {"commands", "functional", "plan", "spec", "geometry", "kernel", *LATE},
}
"""A sub-package, or a file beside them -> what it may import; PUBLIC is the public names."""

ENTRIES = ("aclnn", "graph", "tiling", "volumes", "torch", "__main__")
"""Files that re-export one sub-package and define nothing."""

THIRD_PARTY = {"numpy", "ml_dtypes", "tqdm"}

GUESTS = {"frameworks": {"torch"}}
"""A sub-package -> third-party modules that only it imports, and that are imported only with it."""

OPS = "nearest trilinear exact align_corners aclnn torch"
MAY_NOT_SAY = {
    "pyx/gather.pyx": OPS + " raise malloc calloc free new empty BFLOAT16 FLOAT16 cores",
    "pyx/sum.pxi": OPS + " raise malloc calloc free new empty BFLOAT16 FLOAT16 cores threads",
    "pyx/copy.pxi": OPS + " raise malloc calloc free new empty dtype cores threads",
    "pyx/pack.pxi": OPS + " raise malloc calloc free new empty dtype cores threads",
    "pyx/cpu.pyx": OPS + " calloc gather stride",
    "include/upsample3d/job.h": OPS + " malloc static inline",
    "include/upsample3d/magic.h": OPS + " malloc job_t",
    "include/upsample3d/rows.h": OPS + " malloc new delete throw job_t omp",
    "include/upsample3d/width.h": OPS + " malloc new delete throw job_t omp",
    "include/upsample3d/pack.h": OPS + " malloc new delete throw job_t omp",
    "include/upsample3d/vectors.h": OPS + " malloc new delete throw job_t omp",
    "python/upsample3d/geometry/band.py": "strides float16 bfloat16 NCDHW threads " + OPS,
    "python/upsample3d/geometry/nearest.py": "raise strides float16 NCDHW threads trilinear",
    "python/upsample3d/geometry/linear.py": "raise strides float16 NCDHW threads nearest",
    "python/upsample3d/spec/layout.py": "raise numpy scale align_corners threads " + OPS,
    "python/upsample3d/plan/w_pass.py": "raise scale strides NCDHW dtype rule cores threads " + OPS,
    "python/upsample3d/plan/tiles.py": "raise scale strides NCDHW dtype rule cores threads " + OPS,
    "python/upsample3d/plan/schedule.py": "raise scale strides NCDHW dtype rule " + OPS,
    "python/upsample3d/plan/plan.py": "raise sched_getaffinity cpu_count float32 ceil floor round",
    "python/upsample3d/cann/tiling_data.py": "numpy strides dtype raise",
    "python/upsample3d/cann/tiling_950.py": "strides NCDHW Plan",
    "python/upsample3d/cann/tiling_a2.py": "strides NCDHW Plan",
    "python/upsample3d/cann/first_phase.py": "float64 ceil floor bands schedule Plan",
    "python/upsample3d/cann/executors.py": "float64 ceil floor bands schedule",
    "python/upsample3d/cann/second_phase.py": "float64 ceil floor bands schedule Plan",
    "python/upsample3d/spec/opspec.py": "sched_getaffinity cpu_count gather Job",
    "python/upsample3d/frameworks/torch_override.py": "numpy np Plan stride strides bands float32",
    "python/upsample3d/frameworks/torch_ops.py": "numpy np Plan stride strides bands float32",
    "python/upsample3d/frameworks/torch_run.py": "Library grad backward vmap Meta",
}
"""A file -> the names that belong elsewhere."""

ONLY_IN = {
    "sched_getaffinity": {"machine.py"},
    "cpu_count": {"machine.py"},
    "__array_struct__": set(),
    "nibabel": {"nifti.py", "headers.py"},
    "matplotlib": {"picture.py", "story.py"},
    "Job": {"levels.py", "prepared.py"},
    "execute": {"plan.py", "prepared.py", "torch_run.py"},
}
"""A name -> the Python files of the package that may use it."""


def modules(package: Path = PACKAGE) -> list[Path]:
    return sorted(package.rglob("*.py"))


def imports(path: Path, package: Path = PACKAGE) -> tuple[set[str], set[str]]:
    """(modules of ours, third-party modules imported at module level) that a file imports."""
    here = path.relative_to(package).parts
    tree = ast.parse(path.read_text())
    ours, others = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            ours |= {PUBLIC for alias in node.names if alias.name.split(".")[0] == PUBLIC}
        elif isinstance(node, ast.ImportFrom) and node.level:
            base = [*here[: len(here) - node.level], *(node.module or "").split(".")]
            base = ".".join(filter(None, base))
            inside = package / base.replace(".", "/")
            named = [f"{base}.{alias.name}".strip(".") for alias in node.names]
            ours |= set(named) if inside.is_dir() else {base}
        elif isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == PUBLIC:
            ours |= {PUBLIC}
    for node in tree.body:
        if isinstance(node, ast.Import):
            others |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            others |= {node.module.split(".")[0]}
    return ours, others


def complaints(package: Path) -> list[str]:
    """What stands where it may not, and who imports what it may not."""
    found = []
    for path in modules(package):
        parts = path.relative_to(package).parts
        part = parts[0].removesuffix(".py")
        name = "/".join(parts)
        if part not in BELOW or len(parts) > 2:
            found.append(f"{name} has no place")
            continue
        ours, others = imports(path, package)
        for module in sorted(ours):
            target = module.split(".")[0]
            if target not in BELOW[part] and not (target == part and len(parts) == 2):
                found.append(f"{name} imports {module}")
        foreign = {other for other in others if other not in sys.stdlib_module_names}
        for other in sorted(foreign - THIRD_PARTY - {PUBLIC} - GUESTS.get(part, set())):
            found.append(f"{name} imports {other}")
    return found


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


def test_imports_run_one_way():
    assert complaints(PACKAGE) == []


@pytest.mark.parametrize(
    ("file", "line", "complaint"),
    [
        ("kernel/levels.py", "from ..plan import plan", "imports plan.plan"),
        ("geometry/band.py", "from ..spec.errors import Status", "imports spec.errors"),
        ("spec/errors.py", "from .. import functional", "imports functional"),
        ("cann/phases.py", "def f():\n    from ..files import axes", "imports files.axes"),
        ("files/axes.py", "import upsample3d", "imports upsample3d"),
        ("plan/tiles.py", "import torch", "imports torch"),
        ("aclnn.py", "from .files.axes import FORMATS", "imports files.axes"),
        ("kernel/deeper/new.py", "", "has no place"),
        ("new.py", "", "has no place"),
    ],
)
def test_a_wrong_place_and_a_wrong_import_are_seen(file, line, complaint, tmp_path):
    package = tmp_path / "upsample3d"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    (package / file).parent.mkdir(exist_ok=True)
    with (package / file).open("a") as changed:
        changed.write(f"\n{line}\n")
    assert complaints(package) == [f"{file} {complaint}"]


def test_only_the_registry_takes_names_of_ops_apart():
    """What follows from an op's name is said in kinds.py, and asked of it."""
    names = {*kinds.OPERATIONS, "_backward"}
    found = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            asked = []
            if isinstance(node, ast.Compare):
                asked = [n for side in (node.left, *node.comparators) for n in ast.walk(side)]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                affix = ("startswith", "endswith", "removeprefix", "removesuffix")
                asked = node.args if node.func.attr in affix else []
            said = {n.value for n in asked if isinstance(n, ast.Constant)}
            if said & names:
                found.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert found == []


def test_every_row_has_its_place():
    found = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in modules()}
    assert found == set(BELOW)


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_only_re_exports(name):
    text = (PACKAGE / f"{name}.py").read_text()
    tree = ast.parse(text)
    assert len(text.splitlines()) <= 20
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    assert any(isinstance(n, ast.Name) and n.id == "__all__" for n in ast.walk(tree)) or (
        "__all__ as __all__" in text
    )


def test_nobody_imports_in_a_circle():
    def name(path):
        return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")

    left = {name(path): imports(path)[0] for path in modules() if path.parent != PACKAGE}
    assert len(left) > 40
    while left:
        free = {module for module, needs in left.items() if not (needs - {module}) & set(left)}
        assert free, f"a circle among {sorted(left)}"
        left = {module: needs for module, needs in left.items() if module not in free}


@pytest.mark.parametrize("file", MAY_NOT_SAY)
def test_words_stay_where_they_belong(file):
    assert not names(ROOT / file) & set(MAY_NOT_SAY[file].split())


@pytest.mark.parametrize("name", ONLY_IN)
def test_names_that_one_file_owns(name):
    users = {path.name for path in modules() if name in names(path)}
    assert users <= ONLY_IN[name]


def test_only_vectors_h_asks_for_instructions():
    sources = [*ROOT.glob("include/**/*.h"), *ROOT.glob("pyx/*.p*"), *modules()]
    users = {path.name for path in sources if "__AVX" in path.read_text()}
    assert users == {"vectors.h"}


def test_nothing_shipped_is_built_for_this_machine_or_with_fast_math():
    text = (ROOT / "setup.py").read_text() + (ROOT / "pyproject.toml").read_text()
    assert "-march=native" not in text
    assert "fast-math" not in text
    assert "-ffp-contract=off" in text


SOURCES = [
    path
    for pattern in ("include/**/*.h", "pyx/*.p*", "python/**/*.py*", "tests/**/*.py", "bench/*.py")
    for path in sorted(ROOT.glob(pattern))
    if path.suffix in {".h", ".pyx", ".pxd", ".pxi", ".py", ".pyi"}
]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_every_file_is_short_and_says_its_licence(path):
    lines = path.read_text().splitlines()
    assert "SPDX-License-Identifier: Apache-2.0" in lines[0]
    assert len(lines) <= 400
