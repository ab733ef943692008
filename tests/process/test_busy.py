# SPDX-License-Identifier: Apache-2.0
"""The same bits again and again, with more threads than cores, on a machine that does other things.

Here a case of each op and type, a few times; all cases, 20 times each, and larger ones, with

    pytest -m slow tests/process/test_busy.py
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import numpy as np
import pytest
from agnostic import CASES, DTYPES, OPS, SHAPES, digest

import upsample3d as up
from upsample3d.plan import machine

THREADS = (1, 2, 3, 4, 7, 8, 16)
SPIN = "while True: pass"


@pytest.fixture(scope="module")
def busy():
    """Beside the tests every core computes something else, at the same priority."""
    others = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(os.cpu_count() or 1)]
    yield
    for other in others:
        other.kill()
        other.wait()


@pytest.fixture(params=[False, True], ids=["as asked", "dynamic"])
def dynamic(request):
    """OMP_DYNAMIC=true: OpenMP starts fewer threads than asked for when the machine is busy."""
    if up.build_info()["openmp"] is None:
        pytest.skip("built without OpenMP")
    openmp = ctypes.CDLL(up.build_info()["openmp"].split()[1])
    before = openmp.omp_get_dynamic()
    openmp.omp_set_dynamic(int(request.param))
    yield
    openmp.omp_set_dynamic(before)


@pytest.fixture
def many(monkeypatch, tune):
    """Small work is shared too, and by more threads than there are cores."""
    tune(thread_bytes=1)
    monkeypatch.setattr(machine, "allowed_threads", lambda: max(THREADS))


def digests(case, threads: int, repeats: int) -> set[str]:
    plan, source = case.plan(num_threads=threads), case.source()
    assert plan.schedule.threads == min(threads, plan.schedule.units)
    return {digest(plan(source)) for _ in range(repeats)}


SOME = [  # of each op and type, the shapes in turn
    p for k, p in enumerate(CASES) if k % len(SHAPES) == k // len(SHAPES) % len(SHAPES)
]
assert len(SOME) == len(OPS) * 2 * len(DTYPES)


@pytest.mark.parametrize("case", SOME)
def test_some(case, busy, dynamic, many):
    wanted = {digest(case.result(num_threads=1))}
    for threads in THREADS[1:]:
        assert digests(case, threads, 2) == wanted, threads


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_all(case, busy, dynamic, many):
    wanted = {digest(case.result(num_threads=1))}
    for threads in THREADS:
        assert digests(case, threads, 20) == wanted, threads


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: str(np.dtype(d)))
@pytest.mark.parametrize("op", OPS)
def test_large(op, dtype, busy, dynamic, many):
    """Gradients of 2 x 8 x 96^3, past the caches, with schedules and threads as they come."""
    source = np.random.default_rng(5).standard_normal((2, 8, 96, 96, 96)).astype(dtype)
    call, size = getattr(up, op + "_backward"), (2, 8, 48, 48, 48)
    wanted = digest(call(source, size, num_threads=1))
    for repeat in range(20):
        threads, sch_id = THREADS[repeat % len(THREADS)], (1, 2, 3)[repeat % 3]
        found = call(source, size, num_threads=threads, schedule=sch_id)
        assert digest(found) == wanted, (threads, sch_id)
