# SPDX-License-Identifier: Apache-2.0
"""What the bits of a result must not depend on: one test per sentence of the promise."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from importlib import import_module

import agnostic
import numpy as np
import pytest
from agnostic import CASES, DTYPES, LEVELS, OPS, Case, digest
from arrays import channels_last, misaligned, placed
from modes import FTZ_DAZ, TO_ZERO, UPWARD, Mode, x86

import upsample3d as up
from upsample3d.plan import machine

each_case = pytest.mark.parametrize("case", CASES)


@pytest.fixture
def many_threads(monkeypatch, tune):
    """Small work is shared too, and by more threads than there are cores."""
    tune(thread_bytes=1)
    monkeypatch.setattr(machine, "allowed_threads", lambda: 8)


@each_case
def test_level(case):
    plan, source = case.plan(), case.source()
    out = np.empty(plan.out_shape, case.dtype)
    workspace = np.empty(plan.workspace_size, np.uint8)
    plan = case.plan(out_strides=out.strides)
    wanted = digest(case.result())
    for level in LEVELS:
        job = import_module(f"upsample3d.kernel.{level}.gather").Job
        job(plan.bands, plan.layout, plan.schedule).run(source, out, workspace, 1)
        assert digest(out) == wanted, level
        out[...] = 7  # by address, as callers do that have no arrays
        job(plan.bands, plan.layout, plan.schedule).run(
            source.ctypes.data, out.ctypes.data, workspace, 1
        )
        assert digest(out) == wanted, level


DIGESTS = "from agnostic import *\nfor p in CASES: print(digest(p.values[0].result()))"


@pytest.mark.long
def test_level_forced_from_outside():
    found = []
    for level in LEVELS:
        environment = {**os.environ, "UPSAMPLE3D_LEVEL": level}
        here = os.path.dirname(agnostic.__file__)
        run = subprocess.run(
            [sys.executable, "-c", DIGESTS], cwd=here, env=environment, capture_output=True,
            text=True, check=True, timeout=120,
        )  # fmt: skip
        found.append(run.stdout.split())
    assert len(found[0]) == len(CASES)
    assert all(other == found[0] for other in found)


@each_case
def test_threads(case, many_threads):
    wanted = digest(case.result(num_threads=1))
    for threads in range(2, 9):
        plan = case.plan(num_threads=threads)
        assert plan.schedule.threads == min(threads, plan.schedule.units)
        assert digest(plan(case.source())) == wanted, threads


def test_threads_of_the_process(tune):
    tune(thread_bytes=1)
    case = Case("trilinear_backward", np.float32, "widths")
    before = up.get_num_threads()
    found = set()
    try:
        for threads in (1, 2, 3):
            up.set_num_threads(threads)
            assert case.plan().schedule.threads == up.get_num_threads() <= threads
            found.add(digest(case.result()))
    finally:
        up.set_num_threads(before)
    assert len(found) == 1


@each_case
def test_schedule(case, many_threads):
    wanted = digest(case.result())
    for sch_id in (1, 2, 3):
        assert digest(case.result(schedule=sch_id)) == wanted, sch_id


@each_case
def test_tiles(case, tune):
    wanted = digest(case.result())
    for tile_bytes, group_bytes in ((2000, 3000), (400, 1200), (1, 1)):
        tune(tile_bytes=tile_bytes, group_bytes=group_bytes)
        plan = case.plan()
        assert digest(plan(case.source())) == wanted, (tile_bytes, group_bytes)
    # One source at a time: where several results share it they share a tile, else each has its own.
    assert min(plan.schedule.tiles.tiles_h, plan.schedule.tiles.tiles_w) > 1


@each_case
def test_streaming(case, tune):
    wanted = digest(case.result())
    tune(stream_bytes=0, stream_row_bytes=1)
    plan = case.plan()
    assert plan.schedule.tiles.stream
    assert digest(plan(case.source())) == wanted


@each_case
def test_layout(case):
    source, wanted = case.source(), case.result()
    for lay_source, lay_out in itertools.product((np.ascontiguousarray, channels_last), repeat=2):
        out = lay_out(np.full_like(wanted, 5))
        assert case.result(lay_source(source), out=out) is out
        assert digest(out) == digest(wanted)


@each_case
def test_data_format(case):
    source, wanted = case.source(), digest(case.result())
    for lay in (np.ascontiguousarray, channels_last):
        turned = lay(source).transpose(0, 2, 3, 4, 1)
        result = case.result(turned, data_format="NDHWC")
        assert digest(result.transpose(0, 4, 1, 2, 3)) == wanted


STRIDES = [
    ((0, 1, 2, 3, 4), (1, 1, -1, 1, 1)),
    ((0, 1, 2, 3, 4), (1, 1, 1, -1, -1)),
    ((0, 1, 2, 3, 4), (2, 1, 1, 2, 3)),
    ((4, 3, 2, 1, 0), (1, 1, 1, 1, 1)),
    ((0, 2, 3, 4, 1), (1, -1, 1, 1, 1)),
    ((0, 2, 3, 4, 1), (1, 1, 2, 1, -2)),
    ((2, 0, 1, 3, 4), (-1, 3, 1, 1, 1)),
]


@each_case
def test_strides_of_the_source(case):
    source, wanted = case.source(), digest(case.result())
    for order, steps in STRIDES:
        assert digest(case.result(placed(source, order, steps))) == wanted, (steps, order)


@each_case
def test_strides_of_out(case):
    wanted = case.result()
    for order, steps in STRIDES:
        out = placed(np.full_like(wanted, 3), order, steps)
        case.result(out=out)
        assert digest(out) == digest(wanted), (steps, order)


@each_case
def test_broadcast_source(case):
    source = case.source()
    for axis in range(5):
        one = source.take([0], axis)
        wide = np.broadcast_to(one, source.shape)
        assert wide.strides[axis] == 0
        assert digest(case.result(wide)) == digest(case.result(wide.copy())), axis


@each_case
def test_misaligned_source(case):
    source = case.source()
    assert digest(case.result(misaligned(source))) == digest(case.result())


@each_case
def test_workspace_content(case):
    plan, source = case.plan(), case.source()
    found = set()
    for byte in (0x00, 0x7F, 0xFF):
        workspace = np.full(plan.workspace_size + 8, byte, np.uint8)
        found.add(digest(plan(source, workspace=workspace)))
    assert found == {digest(case.result())}


@each_case
def test_batch_and_channels_split(case):
    source, wanted = case.source(), case.result()
    sizes = case.sizes
    for n, c in np.ndindex(source.shape[:2]):
        if case.backward:
            sizes = {"input_size": (1, 1, *wanted.shape[2:])}
        part = getattr(up, case.op)(source[n : n + 1, c : c + 1], **sizes)
        assert digest(part) == digest(wanted[n : n + 1, c : c + 1])


@each_case
def test_repetition(case, many_threads):
    plan, source = case.plan(num_threads=3), case.source()
    assert len({digest(plan(source)) for _ in range(20)}) == 1


@x86
@each_case
@pytest.mark.parametrize("bits", [FTZ_DAZ, UPWARD, FTZ_DAZ | TO_ZERO], ids=hex)
def test_floating_point_mode_of_the_caller(case, bits, many_threads):
    source, mode = case.source(), Mode()
    wanted = digest(case.result(num_threads=1))
    before = mode.get()
    try:
        mode.set(before | bits)
        result = case.plan(num_threads=3)(source)  # a new plan: its bands are made in this mode
        after = mode.get()
    finally:
        mode.set(before)
    assert after == before | bits
    assert digest(result) == wanted


@x86
@pytest.mark.parametrize("bits", [FTZ_DAZ, UPWARD, FTZ_DAZ | TO_ZERO], ids=hex)
def test_floating_point_mode_does_not_reach_the_bands(bits):
    """Windows, weights and sizes from scales do not depend on how the caller rounds."""
    questions = [
        (op + way, i, o, scale, corners and op == "trilinear", rule, dtype)
        for op, way in itertools.product(OPS, ("_backward", ""))
        for i, o, scale in ((7, 33, None), (49, 13, None), (10, 17, 1.7), (30, 13, 0.43))
        for corners, rule, dtype in itertools.product(
            (False, True), ("aclnn", "torch"), ("float32", "float64")
        )
    ]
    source, mode = np.ones((1, 1, 10, 10, 10), np.float32), Mode()

    def answers() -> list[bytes]:
        found = [up.bands(*question) for question in questions]
        arrays = [a for band in found for a in (band.lo, band.hi, band.w) if a is not None]
        plan = up.Plan("nearest", source.shape, "float32", scales=(1.7, 0.3, 2.3))
        return [np.array(plan.out_shape).tobytes(), *(a.tobytes() for a in arrays)]

    wanted, before = answers(), mode.get()
    try:
        mode.set(before | bits)
        found = answers()
        after = mode.get()
    finally:
        mode.set(before)
    assert after == before | bits
    assert found == wanted


@x86
def test_import_leaves_the_mode():
    code = """
import ctypes, numpy, ml_dtypes
before, after = (ctypes.c_uint32 * 8)(), (ctypes.c_uint32 * 8)()
ctypes.CDLL(None).fegetenv(before)
import upsample3d
ctypes.CDLL(None).fegetenv(after)
assert before[7] == after[7], (before[7], after[7])
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: str(np.dtype(d)))
@pytest.mark.parametrize("op", [op + way for op in OPS for way in ("_backward", "")])
def test_schedule_0_copies_bytes(op, dtype):
    sizes = (2, 3, 4, 5, 17)
    bits = np.random.default_rng(1).integers(0, 256, np.prod(sizes) * np.dtype(dtype).itemsize)
    source = bits.astype(np.uint8).view(dtype).reshape(sizes)
    target = {"input_size": sizes} if op.endswith("_backward") else {"output_size": sizes[2:]}
    for lay in (np.ascontiguousarray, channels_last, lambda a: placed(a, *STRIDES[2])):
        for sch_id in (None, 0):
            result = getattr(up, op)(lay(source), schedule=sch_id, **target)
            assert result.tobytes() == source.tobytes()
    with np.errstate(all="ignore"):
        assert digest(getattr(up, op)(source, schedule=3, **target)) == digest(source)
