# SPDX-License-Identifier: Apache-2.0
"""A result made in parts has the bits of the whole, and the parts are its memory in order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import upsample3d as up
from upsample3d.files.axes import FORMATS, Axes, parts

RNG = np.random.default_rng(2)
OPS = (
    "nearest", "nearest_exact", "trilinear",
    "nearest_backward", "nearest_exact_backward", "trilinear_backward",
)  # fmt: skip
SIZES = [((5, 6, 7), (9, 13, 17)), ((9, 13, 17), (5, 6, 7)), ((6, 6, 6), (6, 12, 6))]
EVERY = [Axes(names, order) for fmt in FORMATS.values() for names in fmt.values()
         for order in (False, True)]  # fmt: skip


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("options", [{}, {"scales": (1.7, 2.3, 0.6)}, {"rule": "torch"}])
@pytest.mark.parametrize("data_format", ["NCDHW", "NDHWC"])
def test_parts_have_the_bits_of_the_whole(op, options, data_format):
    for (i, o), dtype in itertools.product(SIZES, ["float32", "float16"]):
        backward = op.endswith("_backward")
        x = RNG.standard_normal((2, 3, *(o if backward else i))).astype(dtype)
        x = x if data_format == "NCDHW" else np.moveaxis(x, 1, -1)
        sides = dict(input_size=(2, 3, *i)) if backward else dict(output_size=o)
        plan = up.Plan(
            op, x.shape, dtype, **sides, **options, data_format=data_format, strides=x.strides
        )
        whole = plan(x)
        made = np.full_like(whole, 7)
        sizes = plan.spec.result_shape
        cuts = [
            sorted({0, size, *RNG.integers(1, size, 2)}) if size > 1 else [0, 1] for size in sizes
        ]
        for part in itertools.product(*(itertools.pairwise(cut) for cut in cuts)):
            order = (0, 1, 2, 3, 4) if data_format == "NCDHW" else (0, 2, 3, 4, 1)
            out = made[tuple(slice(*part[axis]) for axis in order)]
            source = x[plan.sources(part)]
            plan.part(part, source.strides, out.strides)(source, out)
        assert made.tobytes() == whole.tobytes(), (i, o, dtype)


@pytest.mark.parametrize("axes", EVERY, ids=str)
@pytest.mark.parametrize("most", [1, 100, 1000, 5000, 10**9])
def test_parts_are_memory_in_order(axes, most):
    sizes = dict(zip("NCDHW", (2, 3, 5, 7, 11), strict=True))
    shape = [sizes[name] for name in axes.names]
    array = np.arange(np.prod(shape)).reshape(shape, order="F" if axes.fortran else "C")
    five = axes.five(array)
    assert np.shares_memory(five, array)
    assert axes.own(five.shape) == array.shape
    source = (*five.shape[:2], 4, 8, 11)
    seen = []
    for part in parts(source, five.shape, axes.memory, 1, most):
        piece = five[tuple(slice(*reach) for reach in part)].transpose(axes.memory)
        assert piece.size <= max(most, 1)
        seen.append(piece.ravel())
    np.testing.assert_array_equal(np.concatenate(seen), np.arange(array.size))


def test_parts_of_a_reduction_count_their_sources():
    for part in parts((1, 1, 64, 64, 64), (1, 1, 8, 8, 8), (0, 1, 2, 3, 4), 4, 8 * 64 * 64 * 4):
        assert part == ((0, 1), (0, 1), (part[2][0], part[2][0] + 1), (0, 8), (0, 8))
