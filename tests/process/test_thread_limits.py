# SPDX-License-Identifier: Apache-2.0
"""If the system refuses more threads, fewer are used, and the process lives on."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from threadpoolctl import threadpool_info

import upsample3d as up

pytestmark = [
    pytest.mark.skipif(up.build_info()["openmp"] is None, reason="built without OpenMP"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits are Linux's"),
    pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="ASan needs memory"),
]

SETUP = """
import os, resource, threading
import numpy as np
import upsample3d as up
from upsample3d.kernel import cpu
from dataclasses import replace
from upsample3d.plan import machine
machine.this = replace(machine.this, waking_factor=0)  # all calls here wake threads
source = np.random.default_rng(0).random((1, 8, 64, 64, 64), np.float32)
plan = up.Plan("trilinear_backward", source.shape, "f4", input_size=(1, 8, 32, 32, 32))
assert plan.schedule.threads == 16
workspace = np.empty(plan.workspace_size, np.uint8)
outs = [np.empty(plan.out_shape, np.float32) for _ in range(9)]
wanted = up.trilinear_backward(source, (1, 8, 32, 32, 32), num_threads=1).tobytes()
def tasks():
    return len(os.listdir("/proc/self/task"))
def limit_memory(mib):
    size = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (size + mib * 2**20,) * 2)
def limit_tasks(more):  # those of a user: of one that nobody else is, where that can be had
    mine = tasks() + more if os.geteuid() == 0 else 1
    resource.setrlimit(resource.RLIMIT_NPROC, (mine, mine))
    if os.geteuid() == 0: os.setuid(54321)
def right(out=outs[0]):
    out[...] = 7
    return plan(source, out, workspace).tobytes() == wanted
"""


def python(code: str, **environment: str) -> str:
    """What a program prints whose calls want 16 threads."""
    run = subprocess.run(
        [sys.executable, "-c", SETUP + code], capture_output=True, text=True, timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "16", "OPENBLAS_NUM_THREADS": "1", **environment},
    )  # fmt: skip
    assert run.returncode == 0, (run.returncode, run.stdout, run.stderr)
    return run.stdout.strip()


@pytest.mark.parametrize("mib", [3, 7, 12, 20, 30, 45, 70, 100])
def test_no_memory_for_stacks(mib):
    code = f"""
limit_memory({mib})
assert all(right() for _ in range(150))
print(cpu.ensure_threads(16, True), tasks())
"""
    found, tasks = map(int, python(code, OMP_STACKSIZE="8M").split())
    assert found == tasks  # the main thread and the others that OpenMP keeps
    assert found <= 1 + mib // 8


@pytest.mark.long
def test_size_of_the_stacks_is_openmps():
    """Stacks of 200 MiB: memory for many of the usual size holds one, with one to spare."""
    code = "limit_memory(%d)\nassert right()\nprint(cpu.ensure_threads(16, True), tasks())"
    for name in ("OMP_STACKSIZE", "GOMP_STACKSIZE"):
        for size in ("200M", "204800", " 204800k ", "209715200B"):
            found, tasks = map(int, python(code % 650, **{name: size}).split())
            assert found == tasks
            assert 1 < found <= 3, (name, size)
    # A thread that calls malloc as it starts, as LLVM's do, takes another 64 MiB.
    assert python(code % 1400, OMP_STACKSIZE="1M") == "16 16"
    assert python(code % 1400, OMP_STACKSIZE="much") == "16 16"


@pytest.mark.parametrize("more", [0, 1, 2, 5, 10])
def test_no_more_tasks(more):
    code = f"""
limit_tasks({more})
assert all(right() for _ in range(150))
print(cpu.ensure_threads(16, True), tasks())
"""
    found, tasks = map(int, python(code).split())
    assert found == tasks
    assert found == (max(1, more) if os.geteuid() == 0 else 1)  # one is left to spare


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a user for itself")
@pytest.mark.parametrize("more", [8, 10, 14])
def test_python_threads_that_want_the_same_few(more):
    code = f"""
limit_tasks({more})
wrong, started = [], threading.Barrier(8)
def run(out):
    started.wait()
    for _ in range(30):
        workspace = np.empty(plan.workspace_size, np.uint8)
        if plan(source, out, workspace).tobytes() != wanted: wrong.append(1)
threads = [threading.Thread(target=run, args=(out,)) for out in outs[1:]]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not wrong
print("fine")
"""
    assert python(code) == "fine"


@pytest.mark.skipif("gomp" not in str(up.build_info()["openmp"]), reason="others keep threads")
def test_a_smaller_team_between_larger_ones():
    """OpenMP lets the threads go that a smaller team does not need: they are tried anew."""
    code = """
assert right() and tasks() == 16
small = up.Plan("trilinear_backward", source.shape, "f4", input_size=(1, 8, 32, 32, 32),
                num_threads=2)
assert small(source).tobytes() == wanted
while tasks() > 2: pass
limit_tasks(4)
assert right()
print(cpu.ensure_threads(16, True))
assert all(right() for _ in range(150))
"""
    assert int(python(code)) == (2 + 3 if os.geteuid() == 0 else 2)  # one to spare


def test_openmp_decides():
    """OMP_DYNAMIC and OMP_THREAD_LIMIT: fewer threads than asked for do all the work."""
    for environment in ({"OMP_DYNAMIC": "true"}, {"OMP_THREAD_LIMIT": "3"}):
        assert python("print(all(right() for _ in range(20)))", **environment) == "True"


def test_threadpoolctl_sees_us():
    files = [found["filepath"] for found in threadpool_info() if found["user_api"] == "openmp"]
    assert os.path.realpath(up.build_info()["openmp"].split()[1]) in map(os.path.realpath, files)
