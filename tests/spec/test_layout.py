# SPDX-License-Identifier: Apache-2.0
"""Where bytes lie."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import upsample3d as up
from upsample3d.plan import w_pass
from upsample3d.spec import layout

SIZE, SHAPE = (2, 3, 4, 5, 6), (2, 3, 8, 10, 12)


def offsets(shape, strides) -> np.ndarray:
    """Where every element begins, one by one."""
    where = [sum(map(int.__mul__, k, strides)) for k in itertools.product(*map(range, shape))]
    return np.sort(np.array(where, np.int64))


@pytest.mark.parametrize("stride", [-(2**63), 1 - 2**63, 2**63 - 1, 0, 7])
@pytest.mark.parametrize("axis", range(5))
@pytest.mark.parametrize("data_format", ["NCDHW", "NDHWC"])
def test_strides_of_axes_of_length_1_do_not_matter(data_format, axis, stride):
    def odd(array):
        strides = (*array.strides[:axis], stride, *array.strides[axis + 1 :])
        return np.lib.stride_tricks.as_strided(array, array.shape, strides)

    shape, space = [4, 3, 5, 2, 6], [2, 3, 4] if data_format == "NCDHW" else [1, 2, 3]
    shape[axis] = 1
    size = [n if k == axis else n + 1 for k, n in enumerate(shape) if k in space]
    x = np.random.default_rng(axis).random(shape, np.float32)
    for op in ("nearest", "trilinear"):
        wanted = getattr(up, op)(x, size, data_format=data_format)
        assert wanted.shape[axis] == 1
        out = np.zeros_like(wanted)
        view = odd(out)
        assert view.strides[axis] == odd(x).strides[axis] == stride
        got = getattr(up, op)(odd(x), size, data_format=data_format, out=view)
        assert got is view
        assert np.array_equal(out, wanted)
        plan = up.Plan(
            op, shape, "f4", output_size=size, data_format=data_format, strides=odd(x).strides,
            out_strides=view.strides,
        )  # fmt: skip
        out[:] = 0
        plan(odd(x), view, np.empty(plan.workspace_size, np.uint8))
        assert np.array_equal(out, wanted)
        assert np.array_equal(getattr(up, op)(odd(x), size, data_format=data_format), wanted)


@pytest.mark.parametrize("name", ["strides", "out_strides"])
def test_a_stride_without_absolute_value(name):
    """Longer axes have none of -2^63; one step would leave every memory."""
    options = {"output_size": (8, 10, 12), name: (-(2**63), 480, 96, 16, 4)}
    with pytest.raises(up.ParameterError, match=rf"{name}\[0\] is -9223372036854775808, wanted"):
        up.Plan("nearest", SIZE, "f4", **options)


STEPS = (0, 2, 4, 6, 8, 12, 16, 24, 48)


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (1, 4), (2, 2, 2), (1, 2, 3), (3, 1, 1)])
def test_dense_and_overlaps_against_every_element(shape):
    seen = set()
    for strides in itertools.product(STEPS, repeat=len(shape)):
        where = offsets(shape, strides)
        fills = np.array_equal(where, 4 * np.arange(len(where)))
        assert layout.dense(shape, strides, 4) == fills, strides
        apart = bool((np.diff(where) >= 4).all())
        refused = layout.overlaps_itself(shape, strides, 4)
        assert refused or apart, strides
        assert not (fills and refused), strides
        turned = tuple(-s for s in strides)
        assert layout.overlaps_itself(shape, turned, 4) == refused
        seen.add((fills, apart, refused))
    assert {(True, True, False), (False, True, False), (False, False, True)} <= seen


def test_rows_beyond_32_bits_have_no_table():
    """A table counts elements of a row, channels included, in 32 bits."""
    for channels, fits in ((1, True), (2, False), (3, False)):
        sources = 2**30
        lo = np.arange(sources - 8, sources)
        band = up.Band(lo, lo + 1, np.arange(9), None, sources)
        shape, strides = (1, channels, 1, 1, sources), (0, 4, 0, 0, 4 * channels)
        lies = layout.arrange(0, 4, shape, strides, (*shape[:4], 8), strides)
        assert lies.pixel == channels
        assert w_pass.fits_table(band, lies, 4, copy=False) == fits
