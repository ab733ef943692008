# SPDX-License-Identifier: Apache-2.0
"""The CPU level, the number of threads, and what build_info says of them."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import upsample3d as up
from upsample3d.kernel import cpu

LEVELS = up.build_info()["levels"]


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True,
        text=True, timeout=120,
    )  # fmt: skip


SAY_LEVEL = "import upsample3d as up; print(up.build_info()['level'])"


@pytest.mark.parametrize("level", LEVELS)
def test_level_can_be_forced(level):
    assert python(SAY_LEVEL, UPSAMPLE3D_LEVEL=level).stdout.strip() == level


def test_best_level_is_the_default():
    assert python(SAY_LEVEL, UPSAMPLE3D_LEVEL="").stdout.strip() == LEVELS[0]


@pytest.mark.parametrize("level", ["v9", "V3", "native"])
def test_impossible_level_lists_the_possible_ones(level):
    run = python(SAY_LEVEL, UPSAMPLE3D_LEVEL=level)
    assert run.returncode != 0
    last = run.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError")
    assert repr(level) in last
    assert ", ".join(LEVELS) in last


PSABI = {
    "v2": "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3",
    "v3": "abm avx avx2 bmi1 bmi2 f16c fma movbe xsave",
    "v4": "avx512f avx512bw avx512cd avx512dq avx512vl",
}
"""The features of each level (System V ABI, x86-64 supplement), as Linux names them."""


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="not Linux")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="a machine without levels")
def test_levels_are_those_that_linux_sees():
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    flags = next(line for line in lines if line.startswith("flags")).split()
    levels = []
    for level, features in PSABI.items():
        if not set(features.split()) <= set(flags):
            break
        levels.insert(0, level)
    assert cpu.levels() == tuple(levels or ["base"])


def test_build_info():
    info = up.build_info()
    assert list(info) == ["version", "level", "levels", "compiler", "openmp", "threads"]
    assert info["version"] == up.__version__
    assert info["threads"] == up.get_num_threads() >= 1


def test_affinity_is_respected():
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    code += "import upsample3d as up; print(up.get_num_threads())"
    assert python(code, OMP_NUM_THREADS="").stdout.strip() == "1"


@pytest.mark.skipif(up.build_info()["openmp"] is None, reason="built without OpenMP")
def test_omp_num_threads_is_respected():
    code = "import upsample3d as up; print(up.get_num_threads())"
    for threads in ("1", "3"):
        assert python(code, OMP_NUM_THREADS=threads).stdout.strip() == threads


@pytest.mark.skipif(up.build_info()["openmp"] is None, reason="built without OpenMP")
def test_threadpoolctl_limits_the_calling_thread():
    code = "import upsample3d as up; from threadpoolctl import threadpool_limits\n"
    code += "with threadpool_limits(1): print(up.get_num_threads())\nprint(up.get_num_threads())"
    assert python(code, OMP_NUM_THREADS="3").stdout.split() == ["1", "3"]


def test_set_num_threads():
    before = up.get_num_threads()
    try:
        up.set_num_threads(1)
        assert up.get_num_threads() == 1
        source = np.ones((1, 4, 64, 64, 64), np.float32)
        plan = up.Plan("nearest_backward", source.shape, "float32", input_size=(1, 4, 32, 32, 32))
        assert plan.schedule.threads == 1
    finally:
        up.set_num_threads(before)


def test_a_plan_runs_with_no_more_threads_than_are_allowed_then():
    source = np.random.default_rng(0).random((1, 4, 64, 64, 64), np.float32)
    plan = up.Plan("nearest_backward", source.shape, "float32", input_size=(1, 4, 32, 32, 32))
    wanted = plan(source)
    with threadpool_limits(1):
        assert np.array_equal(plan(source), wanted)
