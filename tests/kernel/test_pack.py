# SPDX-License-Identifier: Apache-2.0
"""Sources whose rows are not contiguous are packed, many slabs at a time: the bits are the same."""

from __future__ import annotations

import itertools

import numpy as np
import oracle
import pytest
from arrays import placed

import upsample3d as up

SIZES = [
    ((5, 6, 7), (9, 13, 17)),
    ((20, 33, 18), (41, 50, 37)),
    ((40, 3, 19), (7, 9, 40)),
    ((9, 8, 130), (9, 16, 47)),
]
OPS = ["nearest", "nearest_exact_backward", "trilinear", "trilinear_backward"]
DTYPES = ["float32", "float16", "bfloat16", "float64"]


def sides(op, dtype, i, o, channels=3):
    """The source, and the options of a call."""
    backward = op.endswith("_backward")
    x = np.random.default_rng(5).standard_normal((2, channels, *(o if backward else i)))
    options = {"input_size": (2, channels, *i)} if backward else {"output_size": o}
    return x.astype(oracle.numpy_dtype(dtype)), options


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kilobytes", [800, 20, 2])
def test_every_order_of_axes(op, dtype, kilobytes, tune):
    tune(pack_bytes=kilobytes * 1000)
    for i, o in SIZES:
        x, options = sides(op, dtype, i, o)
        wanted = getattr(up, op)(x, **options).tobytes()
        for order in itertools.permutations(range(5)):
            got = getattr(up, op)(placed(x, order), **options)
            assert np.ascontiguousarray(got).tobytes() == wanted, (i, o, order)


@pytest.mark.parametrize("steps", [2, -3, (1, 1, -1, 1, -1), (1, 1, -1, 3, -3)], ids=str)
@pytest.mark.parametrize("op", OPS)
def test_steps(op, steps):
    for (i, o), order in itertools.product(
        SIZES, [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (0, 1, 4, 2, 3)]
    ):
        x, options = sides(op, "float32", i, o)
        wanted = getattr(up, op)(x, **options).tobytes()
        got = getattr(up, op)(placed(x, order, steps), **options)
        assert np.ascontiguousarray(got).tobytes() == wanted, (i, o, order)


@pytest.mark.parametrize("sch_id", [1, 2, 3])
@pytest.mark.parametrize("op", OPS)
def test_units_of_several_planes_and_threads(op, sch_id):
    """A share begins anywhere, and a unit goes from plane to plane."""
    i, o = SIZES[1]
    x, options = sides(op, "float32", i, o)
    wanted = getattr(up, op)(x, **options).tobytes()
    lies = placed(x, (4, 3, 2, 1, 0))
    for threads in (1, 2, 3, 7):
        plan = up.Plan(
            op, x.shape, x.dtype, strides=lies.strides, schedule=sch_id, num_threads=threads,
            input_size=(2, 3, *i), output_size=o,
        )  # fmt: skip
        assert plan.schedule.tiles.pack
        assert np.ascontiguousarray(plan(lies)).tobytes() == wanted, threads


def test_permuted_sources_are_packed_in_a_workspace_of_a_mebibyte():
    for dtype, o in itertools.product(DTYPES, [(64, 64, 64), (512, 512, 512), (3, 70000, 20)]):
        size = (1, 1, *o)
        fortran = np.array(np.cumprod([1, *size])[:-1]) * oracle.numpy_dtype(dtype).itemsize
        plan = up.Plan("trilinear_backward", size, oracle.numpy_dtype(dtype), output_size=o,
                       strides=tuple(fortran), input_size=(1, 1, *(-(-n // 2) for n in o)),
                       num_threads=1)  # fmt: skip
        assert plan.schedule.tiles.pack
        assert plan.workspace_size <= 2**20
