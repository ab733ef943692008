# SPDX-License-Identifier: Apache-2.0
"""The sentences of SECURITY.md that no other file of tests states."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import upsample3d as up
from upsample3d import aclnn, volumes
from upsample3d.plan import buffers

ROOT = Path(__file__).parent.parent.parent
SECURITY = (ROOT / "SECURITY.md").read_text()
MODULES = sorted((ROOT / "python" / "upsample3d").rglob("*.py"))

NEVER = {
    "socket", "urllib", "http", "ssl", "ftplib", "smtplib", "subprocess", "multiprocessing",
    "pickle", "marshal", "shelve", "dill", "ctypes", "runpy", "code",
}  # fmt: skip
"""Modules that connect, start processes, unpickle or reach memory by its address."""


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_no_module_connects_starts_unpickles_or_evaluates(module):
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            assert not {alias.name.split(".")[0] for alias in node.names} & NEVER
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            assert node.module.split(".")[0] not in NEVER
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called not in {"eval", "exec", "compile", "os.system", "os.popen", "os.fork"}
            for keyword in node.keywords:
                if keyword.arg == "allow_pickle":
                    assert ast.unparse(keyword.value) == "False"


NAMED = {
    "levels.py": ["UPSAMPLE3D_LEVEL"],
    "machine.py": ["OMP_NUM_THREADS"],
    "wait_policy.py": ["GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "KMP_BLOCKTIME"],
    "cpu.pyx": ["OMP_STACKSIZE", "GOMP_STACKSIZE"],
}
"""Who looks at the environment, and for what."""


def test_the_environment_is_read_for_these_variables():
    files = [*MODULES, *(ROOT / "pyx").glob("*.p*"), *(ROOT / "include").rglob("*.h")]
    texts = {file.name: file.read_text() for file in files}
    reads = re.compile(r"\b(environ|getenv)\b")
    assert {name for name, text in texts.items() if reads.search(text)} == set(NAMED)
    for file, names in NAMED.items():
        said = [name for name in re.findall(r'"([A-Z_0-9]+)"', texts[file]) if "_" in name]
        assert names == list(dict.fromkeys(said)), file
        assert all(f"`{name}`" in SECURITY for name in names)


@pytest.mark.parametrize("level", ["../evil", "v3.gather", "os"])
def test_a_level_loads_nothing_but_kernels(level):
    run = subprocess.run(
        [sys.executable, "-c", "import upsample3d"], capture_output=True, text=True,
        env={**os.environ, "UPSAMPLE3D_LEVEL": level},
    )  # fmt: skip
    assert run.returncode == 1
    assert "cannot be had here" in run.stderr


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_files_do_not_unpickle(tmp_path, suffix):
    path, mark = tmp_path / f"x.{suffix}", tmp_path / "mark"
    content = np.array([[[Bomb(mark)]]], object)
    (np.save if suffix == "npy" else np.savez)(path, content)
    with pytest.raises(ValueError, match=str(path)):
        volumes.read(path)
    assert not mark.exists()
    with path.open("rb") as file:
        loaded = np.load(file, allow_pickle=True)
        _ = loaded if suffix == "npy" else loaded["arr_0"]
    assert mark.exists(), "the bomb is one"


class Renamed(np.ndarray):
    """An array that says it is shorter along W than it is, and elsewhere."""

    @property
    def shape(self):
        return (1, 1, 2, 2, 2)

    @property
    def strides(self):
        return (0, 0, 0, 0, 0)

    @property
    def __array_struct__(self):
        raise AssertionError("not asked")

    @property
    def __array_interface__(self):
        raise AssertionError("not asked")


def test_the_operators_read_past_methods_that_lie():
    true = np.arange(64, dtype=np.float32).reshape(1, 1, 4, 4, 4)
    source = aclnn.AclTensor.from_array(true.view(Renamed))
    result = aclnn.AclTensor.from_array(np.zeros((1, 1, 2, 2, 2), np.float32))
    status, size, executor = aclnn.aclnnUpsampleNearest3dBackwardGetWorkspaceSize(
        source, (4, 4, 4), (1, 1, 2, 2, 2), 0.0, 0.0, 0.0, result
    )
    assert status == 0, aclnn.aclGetRecentErrMsg()
    workspace = np.empty(size, np.uint8)
    assert aclnn.aclnnUpsampleNearest3dBackward(workspace, size, executor, None) == 0
    blocks = true.reshape(2, 2, 2, 2, 2, 2)
    assert np.array_equal(result.view[0, 0], blocks.sum(axis=(1, 3, 5)))


def test_an_overlap_that_is_too_hard_to_decide_counts_as_one():
    """Views of a long buffer whose strides make it a knapsack: NumPy gives up, we refuse."""
    memory = np.zeros(2**21, np.float32)
    rng = np.random.default_rng(3)
    asked = []
    for _ in range(200):
        shape = tuple(rng.integers(8, 12, 5))
        steps = [tuple(4 * rng.integers(1000, 9000, 5)) for _ in range(2)]
        a, b = (np.lib.stride_tricks.as_strided(memory[k:], shape, steps[k]) for k in range(2))
        try:
            np.shares_memory(a, b, max_work=10_000)
        except np.exceptions.TooHardError:
            asked.append((a, b))
    if not asked:
        pytest.skip("NumPy finds none of them hard")
    assert all(buffers.share_memory(a, b) for a, b in asked)


def test_two_short_arguments_are_2_to_the_62_bytes():
    """No memory is asked for before the arguments are judged; what is allowed may not be had."""
    source = np.broadcast_to(np.float32(1), (1, 1, 1, 1, 1))
    with pytest.raises(MemoryError):
        up.nearest(source, (2**20, 2**20, 2**20))
    with pytest.raises(up.ParameterError, match="2\\^63"):
        up.nearest(source, (2**20, 2**20, 2**21))
