# SPDX-License-Identifier: Apache-2.0
"""Offsets past 2^31 elements and 2^32 bytes, sizes at the edges of 2^31, 2^32 and 2^63.

Memory that is far apart is a mapping without reserve: what is not touched takes none. The volumes
that take some carry the slow marker: `pytest -m slow tests/functional/test_big.py`, 8 GB.
"""

from __future__ import annotations

import math
import mmap
import sys

import numpy as np
import oracle
import pytest

import upsample3d as up
from upsample3d.plan import machine
from upsample3d.spec import opspec

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mappings are Linux's")
NO_RESERVE = 0x4000  # Linux's MAP_NORESERVE, which Python's mmap has from 3.13 on
OPS = [op + way for op in oracle.OPS for way in ("_backward", "")]
FAR = 2**31 + 64
SMALL, LARGE = (2, 3, 4, 3, 5), (2, 3, 7, 6, 11)
GB = 10**9


def mapping(size: int) -> np.ndarray:
    """Bytes that are 0 and take memory only where they are written."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
    return np.frombuffer(mmap.mmap(-1, size, flags=flags), np.uint8)


def far_apart(shape, dtype, order, axis, sign):
    """An array of 0, axes in `order` of memory, whose `axis` steps 2^31 elements and 64 more."""
    strides, step = [0] * 5, dtype.itemsize
    for k in reversed([k for k in order if k != axis]):
        strides[k], step = step, step * shape[k]
    strides[axis] = sign * FAR * dtype.itemsize
    reach = FAR * dtype.itemsize * (shape[axis] - 1)
    memory = mapping(reach + step)
    return np.ndarray(shape, dtype, memory, reach if sign < 0 else 0, strides)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("axis", range(5), ids="NCDHW")
@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (0, 2, 3, 4, 1), (4, 3, 2, 1, 0)], ids=str)
@pytest.mark.parametrize("op", OPS)
def test_every_axis_far_apart(op, order, axis, sign):
    """Source and result that reach over 16 to 190 GB give what small ones give."""
    source_shape, shape = (LARGE, SMALL) if op.endswith("_backward") else (SMALL, LARGE)
    size = {"input_size": SMALL} if op.endswith("_backward") else {"output_size": LARGE[2:]}
    for name in ("float32", "float16", "float64"):
        dtype = np.dtype(name)
        values = np.random.default_rng(axis).integers(-4, 5, source_shape).astype(dtype)
        source = far_apart(source_shape, dtype, order, axis, sign)
        source[...] = values
        out = far_apart(shape, dtype, order, axis, sign)
        truth = oracle.answer(op, values, SMALL[2:], LARGE[2:])
        for result in (
            getattr(up, op)(source, **size, num_threads=2),
            getattr(up, op)(values, **size, out=out),
            getattr(up, op)(source, **size, out=out, schedule=1),
        ):
            truth.check(np.ascontiguousarray(result), (op, order, axis, sign, name))


def test_lanes_beyond_32_bits_are_not_looked_up():
    """The pixel in the middle of a row lies 3.8e9 elements from its beginning, which the kernel's
    tables of 32 bits do not hold."""
    w, c = 2**30 + 4, 7
    source = mapping(w * c * 2).view(np.float16).reshape(1, 1, 1, w, c)
    source[0, 0, 0, 2**29] = np.arange(c)  # floor(w / 2 in float32)
    for op in ("trilinear", "nearest_exact"):
        out = getattr(up, op)(source, (1, 1, 1), data_format="NDHWC", rule="torch")
        assert out.ravel().tolist() == list(range(c))


@pytest.mark.slow
@pytest.mark.parametrize("data_format", ["NCDHW", "NDHWC"])
@pytest.mark.parametrize("op", OPS)
def test_more_than_2_to_the_31_elements_that_need_no_memory(op, data_format):
    """A row seen 2.1 million times: sums of ones are whole numbers that float32 holds."""
    large, small = (2048, 1024, 1100), (2, 2, 2)
    row = np.ones((275, 4), np.float32)
    if data_format == "NCDHW":
        source = np.broadcast_to(row.ravel(), (1, 1, *large))
    else:
        source = np.broadcast_to(row, (1, *large[:2], 275, 4))
        large = (*large[:2], 275)
    n, c = 1, 1 if data_format == "NCDHW" else 4
    if op.endswith("_backward"):
        got = getattr(up, op)(source, (n, c, *small), data_format=data_format)
        total = math.prod(large)
        assert np.isclose(oracle.from_format(got, data_format)[0, 0].sum(dtype=float), total, 1e-5)
        if not op.startswith("trilinear"):
            for k in np.ndindex(2, 2, 2):
                windows = [
                    oracle.matrix(op, 2, o)[:, which].sum()
                    for which, o in zip(k, large, strict=True)
                ]
                assert (
                    oracle.from_format(got, data_format)[(0, slice(None), *k)] == np.prod(windows)
                ).all()
    else:
        got = getattr(up, op)(source, small, data_format=data_format)
        wanted = [oracle.matrix(op, i, o).sum(axis=1) for i, o in zip(large, small, strict=True)]
        product = np.einsum("d,h,w->dhw", *wanted)
        assert np.allclose(oracle.from_format(got, data_format)[0], product, 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("data_format", ["NCDHW", "NDHWC"])
def test_a_volume_of_5_gb(data_format):
    """Gradients of 1096^3 numbers, and ops that make as many. values[d, h, w] = f[d] + g[h] + k[w],
    so each result is a sum of three products of one-dimensional ones."""
    c = 1 if data_format == "NCDHW" else 4
    o = (1096, 1096, 1096 // c)
    i = tuple(size // 2 for size in o)
    memory = np.empty(math.prod(o) * c, np.float32)
    assert memory.nbytes > 5 * GB
    axes = [np.arange(size) % m for size, m in zip(o, (7, 5, 3), strict=True)]
    lines = [line.astype(np.float32) for line in axes]
    source = memory.reshape(1, *o, c)
    for d in range(o[0]):
        source[0, d] = (lines[0][d] + lines[1][:, None] + lines[2])[..., None]
    if data_format == "NCDHW":
        source = source.transpose(0, 4, 1, 2, 3)
    smalls = {}
    for op in ("nearest_exact_backward", "nearest_backward", "trilinear_backward"):
        smalls[op] = getattr(up, op)(source, (1, c, *i), data_format=data_format)
        compare(op, smalls[op], axes, i, o, data_format, backward=True)
    for op in ("nearest_exact", "nearest", "trilinear"):
        short = [line[:size] for line, size in zip(axes, i, strict=True)]
        small = np.add.outer(np.add.outer(*short[:2]), short[2]).astype(np.float32)
        small = np.broadcast_to(small[None, ..., None], (1, *i, c))
        small = small.transpose(0, 4, 1, 2, 3) if data_format == "NCDHW" else small
        getattr(up, op)(small, o, data_format=data_format, out=source)
        compare(op, source, short, i, o, data_format, backward=False)


def compare(op, got, lines, i, o, data_format, backward):
    """Raises AssertionError where a slab differs from the three products by more than rounding."""
    matrices = [oracle.matrix(op, a, b).T if backward else oracle.matrix(op, a, b)
                for a, b in zip(i, o, strict=True)]  # fmt: skip
    mine = [m @ line for m, line in zip(matrices, lines, strict=True)]
    ones = [m.sum(axis=1) for m in matrices]
    got = oracle.from_format(got, data_format)
    for d in range(got.shape[2]):
        wanted = (
            mine[0][d] * np.multiply.outer(ones[1], ones[2])
            + ones[0][d] * np.multiply.outer(mine[1], ones[2])
            + ones[0][d] * np.multiply.outer(ones[1], mine[2])
        )
        assert np.allclose(got[0, :, d], wanted, 3e-6), (op, d)


# ---- Sizes at the edges: (op, source shape, the others, dtype, format) and what comes of it ----

E31, E32, E63 = 2**31, 2**32, 2**63
BIG = "wanted fewer than 2^63 bytes"
LONG = "wanted 1 to 2147483647"
PLAN = "bytes to plan, this machine has 16000000000"
SPAN = "more than an address can say"
BACK, FORE, TRI = "nearest_backward", "nearest", "trilinear_backward"
BOUNDARIES = [
    (BACK, (1, 1, 1, 1, E31 - 1), (1, 1, 1, 1, 1), "float32", "NCDHW", None),
    (BACK, (1, 1, 1, 1, E31), (1, 1, 1, 1, 1), "float32", "NCDHW", LONG),
    (BACK, (1, 1, 1, E31 - 1, 1), (1, 1, 1, 1, 1), "float16", "NCDHW", None),
    (BACK, (1, 1, E31 - 1, 1, 1), (1, 1, 2, 1, 1), "float64", "NDHWC", None),
    (BACK, (1, 1, E31 + 1, 1, 1), (1, 1, 1, 1, 1), "float32", "NCDHW", LONG),
    (BACK, (1, 1, E32, 1, 1), (1, 1, 1, 1, 1), "float32", "NCDHW", LONG),
    (BACK, (1, 1, E63, 1, 1), (1, 1, 1, 1, 1), "float32", "NCDHW", LONG),
    (BACK, (1, 1, 2**64, 1, 1), (1, 1, 1, 1, 1), "float32", "NCDHW", LONG),
    (BACK, (1, 1, 1, 1, 1), (1, 1, 1, 1, E31 - 1), "float32", "NCDHW", PLAN),
    (BACK, (1, 1, 1, 1, 1), (1, 1, 1, 1, E31), "float32", "NCDHW", LONG),
    (BACK, (1, 1, 1, 1, 1), (1, 1, 1, 1, 0), "float32", "NCDHW", LONG),
    (BACK, (1, 1, 1, 1, 1), (1, 1, 1, 1, -1), "float32", "NCDHW", LONG),
    (BACK, (1, 1, 0, 1, 1), (1, 1, 1, 1, 1), "float32", "NCDHW", LONG),
    (BACK, (1, 1, -E63, 1, 1), (1, 1, 1, 1, 1), "float32", "NCDHW", LONG),
    (BACK, (-1, 1, 1, 1, 1), (-1, 1, 1, 1, 1), "float32", "NCDHW", "N and C >= 0"),
    (BACK, (1, -E63, 1, 1, 1), (1, -E63, 1, 1, 1), "float32", "NCDHW", "N and C >= 0"),
    (BACK, (1, 1, 2**21, 2**21, 2**18), (1, 1, 1, 1, 1), "float32", "NCDHW", None),
    (BACK, (1, 1, 2**21, 2**21, 2**19), (1, 1, 1, 1, 1), "float32", "NCDHW", BIG),
    (BACK, (1, 1, 2**21, 2**21, 2**19 - 1), (1, 1, 1, 1, 1), "float32", "NCDHW", None),
    (BACK, (1, 1, 2**21, 2**21, 2**21), (1, 1, 1, 1, 1), "float16", "NCDHW", BIG),
    (BACK, (1, 1, 2**21, 2**21, 2**20 - 1), (1, 1, 1, 1, 1), "float16", "NCDHW", None),
    (BACK, (1, 1, 2**20, 2**20, 2**20 - 1), (1, 1, 1, 1, 1), "float64", "NCDHW", None),
    (BACK, (1, 1, 2**20, 2**20, 2**20), (1, 1, 1, 1, 1), "float64", "NCDHW", BIG),
    (BACK, (E31, 1, 1, 1, 1), (E31, 1, 1, 1, 1), "float32", "NCDHW", None),
    (BACK, (1, E32 + 1, 1, 1, 1), (1, E32 + 1, 1, 1, 1), "float32", "NCDHW", None),
    (BACK, (1, 1, 1, 1, E32 + 1), (1, E32 + 1, 1, 1, 1), "float32", "NDHWC", None),
    (BACK, (E31, E31, 1, 1, 1), (E31, E31, 1, 1, 1), "float16", "NCDHW", BIG),
    (BACK, (E31, E31 - 1, 1, 1, 1), (E31, E31 - 1, 1, 1, 1), "float16", "NCDHW", None),
    (BACK, (E32, E32, 1, 1, 1), (E32, E32, 1, 1, 1), "float16", "NCDHW", BIG),
    (BACK, (2**61 - 1, 1, 1, 1, 1), (2**61 - 1, 1, 1, 1, 1), "float32", "NCDHW", None),
    (BACK, (2**61, 1, 1, 1, 1), (2**61, 1, 1, 1, 1), "float32", "NCDHW", BIG),
    (BACK, (2**62, 1, 1, 1, 1), (2**62, 1, 1, 1, 1), "float16", "NCDHW", BIG),
    (BACK, (E63 // 3, 1, 1, 1, 1), (E63 // 3, 1, 1, 1, 1), "float16", "NCDHW", None),
    (BACK, (E63 // 3, 3, 1, 1, 1), (E63 // 3, 3, 1, 1, 1), "float16", "NCDHW", BIG),
    (BACK, (E63 // 6, 3, 1, 1, 1), (E63 // 6, 3, 1, 1, 1), "float16", "NCDHW", None),
    (BACK, (0, E63, 1, 1, 1), (0, E63, 1, 1, 1), "float32", "NCDHW", BIG),
    (BACK, (0, 2**60, 1, 1, 1), (0, 2**60, 1, 1, 1), "float32", "NCDHW", None),
    (BACK, (0, 2**60, 2, 2, 2), (0, 2**60, 1, 1, 1), "float32", "NCDHW", BIG),
    (BACK, (2**60, 0, 1, 1, 1), (2**60, 0, 1, 1, 2), "float32", "NCDHW", BIG),
    (BACK, (2**40, 1, 1, 1, 1), (2**40, 1, 2**10, 2**10, 2), "float32", "NCDHW", BIG),
    (BACK, (2**40, 1, 1, 1, 1), (2**40, 1, 2**10, 2**10, 1), "float32", "NCDHW", None),
    (TRI, (1, 1, 1, 1, 2**28), (1, 1, 1, 1, 1), "float32", "NCDHW", PLAN),
    (TRI, (1, 1, 1, 1, 9), (1, 1, 1, 1, 2**28), "float32", "NCDHW", PLAN),
    (TRI, (1, 8, 2, 1, 2**58 - 1), (1, 2**58 - 1, 4, 1, 1), "float16", "NDHWC", SPAN),
    (TRI, (1, 8, 2, 1, 2**57 - 1), (1, 2**57 - 1, 4, 1, 1), "float16", "NDHWC", None),
    (FORE, (1, 1, 1, 1, 1), (1, 1, E31), "float32", "NCDHW", LONG),
    (FORE, (1, 1, 1, 1, 1), (E32 + 1, 1, 1), "float32", "NCDHW", LONG),
    (FORE, (1, 1, 1, 1, 1), (2**21, 2**21, 2**19), "float32", "NCDHW", BIG),
    (FORE, (1, 1, 1, 1, 1), (2**21, 2**21, 2**19 - 1), "float32", "NCDHW", None),
    (FORE, (1, 1, 1, 1, 1), (2**21, 2**21, 2**21), "float16", "NCDHW", BIG),
    (FORE, (1, 1, 1, 1, 1), (1, 1, E31 - 1), "float32", "NCDHW", PLAN),
    ("trilinear", (1, 1, 1, 1, E31 - 1), (1, 1, 2), "float32", "NCDHW", None),
    ("trilinear", (1, 1, 1, E31 - 1, 2), (1, 3, 1), "float64", "NDHWC", None),
    ("trilinear", (1, 1, 1, 1, E31 - 1), (1, 1, E31 - 1), "float32", "NCDHW", PLAN),
]


@pytest.mark.parametrize(("op", "shape", "other", "dtype", "fmt", "refused"), BOUNDARIES, ids=str)
def test_sizes_at_the_edges(op, shape, other, dtype, fmt, refused, monkeypatch):
    monkeypatch.setattr(opspec, "_memory", lambda: 16 * GB)
    monkeypatch.setattr(machine, "allowed_threads", lambda: 4)
    size = {"input_size": other} if op.endswith("_backward") else {"output_size": other}

    def plan():
        return up.Plan(op, shape, dtype, data_format=fmt, **size)

    if refused:
        with pytest.raises(MemoryError if refused in (PLAN, SPAN) else up.ParameterError) as caught:
            plan()
        assert refused in str(caught.value)
        return
    made = plan()
    n, c, d, h, w = shape if fmt == "NCDHW" else (*shape[:1], shape[4], *shape[1:4])
    spatial = other[-3:]
    assert made.out_shape == ((n, c, *spatial) if fmt == "NCDHW" else (n, *spatial, c))
    steps = [math.prod(max(size, 1) for size in shape[k + 1 :]) for k in range(5)]
    assert made.strides == tuple(step * made.dtype.itemsize for step in steps)
    if 0 in (n, c):
        assert made.workspace_size == 0
        return
    cut, tiles = made.schedule, made.schedule.tiles
    if not cut.copy_bytes:
        assert cut.units == cut.groups * spatial[0] * tiles.tiles_h * tiles.tiles_w
        assert cut.groups * cut.inner * made.layout.pixel == n * c
        assert tiles.tiles_h * tiles.tile_h >= spatial[1]
        assert tiles.tiles_w * tiles.tile_w >= spatial[2]
    else:
        assert cut.copy_bytes == n * c * d * h * w * made.dtype.itemsize
        assert cut.units * cut.copy_unit >= cut.copy_bytes > (cut.units - 1) * cut.copy_unit
    assert made.workspace_size < 2**63


def test_a_result_that_memory_does_not_hold_is_a_memory_error():
    source = np.broadcast_to(np.float32(1), (2**40, 1, 1, 1, 1))
    with pytest.raises(MemoryError):
        up.nearest_backward(source, (2**40, 1, 4, 4, 4))


def test_looking_at_a_band_of_a_long_axis_takes_no_memory_for_it():
    """Nor does a plan: the source is one element, seen 2^31 - 1 times."""
    import tracemalloc

    source = np.broadcast_to(np.float32(3), (1, 1, 1, 1, E31 - 1))
    tracemalloc.start()
    try:
        assert up.trilinear(source, (1, 1, 3)).ravel().tolist() == [3, 3, 3]
        assert up.nearest(source, (1, 1, 2), rule="torch").ravel().tolist() == [3, 3]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000
