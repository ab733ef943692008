# SPDX-License-Identifier: Apache-2.0
"""Rows of every length and number of channels: what the forms of the W pass make of them.

A form depends on the band of W, the channels and the type, and a vector on the CPU level. Each
channel on its own, as float64 sums rounded once or bits picked by hand, is the truth.
"""

from __future__ import annotations

import itertools

import numpy as np
import oracle
import pytest

import upsample3d as up

WIDER = [(1, 1), (5, 9), (7, 50), (13, 25), (16, 31), (17, 33), (31, 35), (40, 79), (64, 130)]
SIZES = [*WIDER, (3, 1), (20, 20), *((o, i) for i, o in WIDER)]
CHANNELS = (1, 2, 3, 4, 5, 7, 8, 11, 15, 16, 17, 33)


def integers(shape, dtype):
    """Small integers: sums of a few terms are exact in float32, and rounded once."""
    return np.random.default_rng(7).integers(-8, 9, shape).astype(oracle.numpy_dtype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("op", ["nearest", "nearest_exact", "nearest_backward"])
def test_sums_of_integers(op, channels, dtype):
    for (i, o), h in itertools.product(SIZES, [(1, 1), (2, 4), (18, 5)]):
        size, output = (2, channels, 1, h[0], i), (1, h[1], o)
        backward = op.endswith("_backward")
        x = integers((2, channels, *output) if backward else size, dtype)
        options = {"input_size": size} if backward else {"output_size": output}
        wanted = oracle.answer(op, x, size[2:], output).value.astype(np.float32).astype(x.dtype)
        for data_format in ("NCDHW", "NDHWC"):
            placed = oracle.to_format(x, data_format)
            got = getattr(up, op)(placed, data_format=data_format, **options)
            assert np.array_equal(oracle.from_format(got, data_format), wanted), (i, o, h)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("op", ["trilinear", "trilinear_backward"])
def test_weights(op, channels, dtype):
    for (i, o), h in itertools.product(SIZES, [(1, 1), (2, 4), (18, 5)]):
        size, output = (1, channels, 1, h[0], i), (1, h[1], o)
        backward = op.endswith("_backward")
        x = np.random.default_rng(8).standard_normal((1, channels, *output) if backward else size)
        x = x.astype(oracle.numpy_dtype(dtype))
        options = {"input_size": size} if backward else {"output_size": output}
        truth = oracle.answer(op, x, size[2:], output)
        bits = set()
        for data_format in ("NCDHW", "NDHWC"):
            placed = oracle.to_format(x, data_format)
            got = getattr(up, op)(placed, data_format=data_format, **options)
            got = oracle.from_format(got, data_format)
            truth.check(got, f"{op} {channels} {i} {o} {h} {data_format}")
            bits.add(np.ascontiguousarray(got).tobytes())
        assert len(bits) == 1, (i, o, h)


@pytest.mark.parametrize("op", ["nearest", "trilinear", "nearest_backward", "trilinear_backward"])
@pytest.mark.parametrize("channels", [1, 3, 8])
def test_nothing_beyond_a_row_is_seen(op, channels):
    """NaN around a view of rows of every length, also those shorter than a vector."""
    for i, o in SIZES:
        size, output = (1, channels, 2, 2, i), (3, 3, o)
        backward = op.endswith("_backward")
        shape = (1, 3, 3, o, channels) if backward else (1, 2, 2, i, channels)
        memory = np.full([n + 2 for n in shape], np.nan, np.float32)
        x = memory[1:-1, 1:-1, 1:-1, 1:-1, 1:-1]
        x[...] = 1
        options = {"input_size": size} if backward else {"output_size": output}
        got = getattr(up, op)(x, data_format="NDHWC", **options)
        clean = getattr(up, op)(x.copy(), data_format="NDHWC", **options)
        assert not np.isnan(got).any()
        assert got.tobytes() == clean.tobytes()


@pytest.mark.parametrize("channels", [1, 3, 32])
@pytest.mark.parametrize("w", [(16, 64), (24, 60), (500, 1100)])
@pytest.mark.parametrize("h", [(11, 33), (7, 17), (2, 70)])
def test_rows_that_repeat(h, w, channels):
    """Rows of the same source follow each other, in groups of any number, into strided memory."""
    x = integers((2, channels, 2, h[0], w[0]), "float32")
    wanted = np.arange(3) * 2 // 3, np.arange(h[1]) * h[0] // h[1], np.arange(w[1]) * w[0] // w[1]
    for order in ((0, 1, 2, 3, 4), (0, 2, 3, 4, 1)):
        memory = np.empty([(2, channels, 3, h[1], 2 * w[1])[a] for a in order], np.float32)
        out = memory.transpose(np.argsort(order))[..., ::2]
        up.nearest(x, output_size=(3, h[1], w[1]), out=out)
        assert np.array_equal(out, x[:, :, *np.ix_(*wanted)])


def test_rows_that_repeat_across_tiles():
    """Two threads cut a plane between rows of the same source, each with one row at a time."""
    x = integers((1, 1, 1, 2, 500), "float32")
    out = np.empty((1, 1, 1, 70, 2200), np.float32)[..., ::2]
    plan = up.Plan("nearest", x.shape, "f4", output_size=out.shape[2:], out_strides=out.strides,
                   num_threads=2)  # fmt: skip
    assert plan.schedule.tiles.rows_together == 1
    assert 35 % plan.schedule.tiles.tile_h
    plan(x, out)
    assert np.array_equal(out, x[..., np.arange(70)[:, None] // 35, np.arange(1100) * 500 // 1100])


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("op", ["nearest", "nearest_exact", "nearest_backward", "trilinear"])
def test_results_of_a_vector_whose_sources_lie_just_within_two(op, dtype):
    """Every length of sources for results of a vector or a little more, on every CPU level."""
    for results, sources in itertools.product((3, 4, 5, 8, 9, 16, 17, 33), range(1, 75)):
        backward = op.endswith("_backward")
        i, o = (results, sources) if backward else (sources, results)
        x = np.random.default_rng(9).integers(-20, 21, (1, 1, 1, 3, sources))
        x = x.astype(oracle.numpy_dtype(dtype))
        options = {"input_size": (1, 1, 1, 3, i)} if backward else {"output_size": (1, 3, o)}
        truth = oracle.answer(op, x, (1, 3, i), (1, 3, o))
        truth.check(getattr(up, op)(x, **options), f"{op} {sources} -> {results}")
