# SPDX-License-Identifier: Apache-2.0
"""Numbers at the edges of a type: one table of results worked out by hand, in every mode.

Each row holds along every axis, in both layouts, on few and many elements, and whatever
floating-point mode the caller and the other threads are in.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import modes
import numpy as np
import pytest
from arrays import channels_last
from floats import (
    BF16,
    DTYPES,
    F16,
    F32,
    F64,
    INF,
    along,
    edges,
    same,
    wrong_blends,
    wrong_gradients,
    wrong_sums,
)
from modes import FTZ_DAZ, TO_ZERO, UPWARD, Mode, x86

import upsample3d as up
from upsample3d.plan import machine

each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: str(np.dtype(d)))


@each_dtype
@pytest.mark.parametrize("op", [up.nearest, up.nearest_exact])
def test_picks_keep_numbers(op, dtype):
    """Nearest up-sampling moves bits: subnormals, -0.0 and infinities stay what they are."""
    tiny, normal, most = edges(dtype)
    numbers = (0.0, -0.0, tiny, -tiny, normal - tiny, normal, most, -most, INF, -INF)
    for axis in (2, 3, 4):
        source = along(axis, numbers, dtype, 1)
        size = [2 * n if k == axis else n for k, n in enumerate(source.shape)]
        for lay in (np.asarray, channels_last):
            found = np.moveaxis(op(lay(source), tuple(size[2:])), axis, 0)
            assert all(same(found[k], numbers[k // 2]) for k in range(20)), axis


@pytest.mark.parametrize(
    ("threads", "bits"),
    [
        pytest.param(1, 0, id="1 thread"),
        pytest.param(3, 0, id="3 threads"),
        pytest.param(3, FTZ_DAZ, id="FTZ and DAZ", marks=x86),
        pytest.param(3, UPWARD, id="upward", marks=x86),
        pytest.param(1, FTZ_DAZ | TO_ZERO, id="FTZ, DAZ and to zero", marks=x86),
    ],
)
@each_dtype
def test_table(dtype, threads, bits, monkeypatch, tune):
    tune(thread_bytes=1)
    monkeypatch.setattr(machine, "allowed_threads", lambda: threads)
    calls = {up.nearest_backward: wrong_sums, up.nearest_exact_backward: wrong_sums}
    calls |= {up.trilinear: wrong_blends, up.trilinear_backward: wrong_gradients}
    for op, wrong in calls.items():

        def call(source, size, op=op):
            if not bits:
                return op(source, size)
            mode = Mode()
            before = mode.get()
            try:
                mode.set(before | bits)
                result = op(source, size)
                after = mode.get()
            finally:
                mode.set(before)
            assert after == before | bits
            return result

        assert wrong(dtype, call) == []


@each_dtype
@pytest.mark.parametrize("op", ["nearest", "nearest_exact", "trilinear"])
def test_copies_keep_every_bit_of_a_nan(op, dtype):
    """SCH_ID 0: quiet and signalling NaNs of both signs, with their payloads."""
    bits = np.dtype(dtype).itemsize * 8
    whole = f"u{bits // 8}"
    exponent = int(np.array(INF, dtype).view(whole))
    numbers = [
        exponent | sign << bits - 1 | payload
        for sign in (0, 1)
        for payload in (1, 2, 5, (exponent & -exponent) >> 1, (exponent & -exponent) - 1)
    ]
    source = np.array(numbers * 12, whole).view(dtype).reshape(1, 2, 3, 2, 10)
    with np.errstate(invalid="ignore"):
        assert np.isnan(source).all()
    for way, size in (("", source.shape[2:]), ("_backward", source.shape)):
        for lay in (np.asarray, channels_last, lambda a: a[..., ::-1]):
            for sch_id in (None, 0):
                given = lay(source)
                found = getattr(up, op + way)(given, size, schedule=sch_id)
                assert np.array_equal(
                    np.ascontiguousarray(found).view(whole), np.ascontiguousarray(given).view(whole)
                )


# ---- Modes of other threads ----

WORKERS = """
import ctypes, faulthandler, os
faulthandler.dump_traceback_later(100, exit=True)
import numpy as np
import upsample3d as up
from dataclasses import replace
from upsample3d.plan import machine
from agnostic import CASES, digest
from modes import Mode
machine.this = replace(machine.this, thread_bytes=1)
openmp = ctypes.CDLL(up.build_info()["openmp"].split()[1])
region = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
mode = Mode()
wanted = {p.values[0]: digest(p.values[0].result(num_threads=1)) for p in CASES}
def everywhere(function):
    # function(thread) in each of the three threads of a region that OpenMP starts
    done = {}
    def body(_):
        done[openmp.omp_get_thread_num()] = function(openmp.omp_get_thread_num())
    openmp.GOMP_parallel(region(body), None, 3, 0)
    assert sorted(done) == [0, 1, 2]
    return done
modes = (0x1f80, 0x9fc0, 0x5f80)  # the default; FTZ and DAZ; upward
everywhere(lambda thread: mode.set(modes[thread]))
cases = [case.values[0] for case in CASES if case.id.endswith("-widths")]
assert len(cases) == 24
for case in cases:
    plan, one = case.plan(num_threads=3), case.plan(num_threads=1)
    assert plan.schedule.threads == 3  # with fewer, OpenMP would end threads and start new ones
    assert digest(plan(case.source())) == digest(one(case.source())) == wanted[case]
found = everywhere(lambda thread: mode.get() & ~0x3f)  # but for the flags of what has happened
assert found == dict(enumerate(modes)), found
print("fine")
"""


@x86
@pytest.mark.skipif(up.build_info()["openmp"] is None, reason="built without OpenMP")
def test_modes_of_openmps_threads():
    """A pool whose threads are each in a mode of their own: right results, and they stay in it."""
    openmp = ctypes.CDLL(up.build_info()["openmp"].split()[1])
    if not hasattr(openmp, "GOMP_parallel"):
        pytest.skip("an OpenMP runtime without GOMP_parallel")
    run = subprocess.run(
        [sys.executable, "-c", WORKERS], cwd=os.path.dirname(modes.__file__), capture_output=True,
        text=True, timeout=120, env={**os.environ, "OMP_NUM_THREADS": "3"},
    )  # fmt: skip
    assert run.stdout.strip() == "fine", run.stderr


TRAPS = """
import ctypes, numpy as np, upsample3d as up
library = ctypes.CDLL(None)
source = np.array([np.inf, -np.inf, 3e38, 3e38, 1e-45, 1e-45, 1, 2], np.float32)
source = np.tile(source, 40_000).reshape(1, 1, 40, 80, 100)
ready = [up.Plan(op, source.shape, "f4", input_size=(1, 1, 20, 80, 50)) for op in
         ("nearest_backward", "trilinear_backward")]
outs = [np.empty(plan.out_shape, np.float32) for plan in ready]
spaces = [np.empty(plan.workspace_size, np.uint8) for plan in ready]
traps = 0x1d  # FE_INVALID, FE_DIVBYZERO, FE_OVERFLOW, FE_UNDERFLOW of x86
library.feenableexcept(traps)
for plan, out, space in zip(ready, outs, spaces):
    plan(source, out, space)
assert library.fegetexcept() == traps
library.fedisableexcept(traps)
assert np.isnan(outs[0]).any() and np.isinf(outs[0]).any()
print("fine")
"""


@x86
def test_traps_of_the_caller():
    """Where the caller has the system stop at overflows and the like, ours do not, and it stays."""
    run = subprocess.run([sys.executable, "-c", TRAPS], capture_output=True, text=True, timeout=120)
    assert run.stdout.strip() == "fine", (run.returncode, run.stderr)


@x86
@each_dtype
def test_torch_set_flush_denormal(dtype):
    torch = pytest.importorskip("torch")
    import upsample3d.torch as backend

    def tensor(array):
        wide = torch.from_numpy(np.ascontiguousarray(array).view(f"i{array.itemsize}"))
        kinds = {F32: torch.float32, F16: torch.float16, BF16: torch.bfloat16, F64: torch.float64}
        return wide.view(kinds[dtype])

    def blend(source, size):
        result = backend.interpolate(tensor(source), tuple(size), mode="trilinear")
        return result.view(getattr(torch, f"int{source.itemsize * 8}")).numpy().view(dtype)

    def flushing(op):
        def call(source, size):
            assert torch.set_flush_denormal(True)
            try:
                mode = Mode().get()
                result = op(source, size)
                after = Mode().get()
            finally:
                torch.set_flush_denormal(False)
            assert after & ~0x3F == mode & ~0x3F
            assert mode & FTZ_DAZ == FTZ_DAZ
            return result

        return call

    assert wrong_sums(dtype, flushing(up.nearest_backward)) == []
    assert wrong_blends(dtype, flushing(up.trilinear)) == []
    assert wrong_blends(dtype, flushing(blend)) == []
