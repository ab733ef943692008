# SPDX-License-Identifier: Apache-2.0
"""What the IR operators compute, and what their tiling refuses."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from graph_calls import (
    FIVE,
    LISTS,
    TEN,
    every,
    with_lists,
)
from hypothesis import given, settings
from hypothesis import strategies as st

import upsample3d as up
from upsample3d.graph import (
    UpsampleNearest3dGrad,
    UpsampleNearestExact3dGrad,
    UpsampleTrilinear3dBackward,
    UpsampleTrilinear3dGrad,
)
from upsample3d.spec.errors import InferShapeError, TilingError

DTYPES = (np.float16, np.float32, ml_dtypes.bfloat16, np.float64)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def gradient(shape, dtype, seed=0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def runs(operator):
    return [dtype for dtype in DTYPES if np.dtype(dtype) in operator.dtypes]


@with_lists
def test_runs_as_the_function(operator):
    function = getattr(up, operator.op)
    for dtype in runs(operator):
        grad_output = gradient((2, 3, 9, 7, 11), dtype)
        size, scales = (2, 3, 4, 5, 3), (2.4, 1.5, 3.7)
        assert same(operator(grad_output, size, (9, 7, 11)), function(grad_output, size))
        assert same(operator(grad_output, size, scales=scales), function(grad_output, size, scales))
        assert not same(function(grad_output, size, scales), function(grad_output, size))


def test_exact_runs_by_sizes_where_nothing_is_given():
    grad_output, size = gradient((2, 3, 9, 7, 11), np.float32), (2, 3, 4, 5, 3)
    wanted = up.nearest_exact_backward(grad_output, size)
    assert same(UpsampleNearestExact3dGrad(grad_output, size), wanted)
    assert same(UpsampleNearestExact3dGrad(grad_output, size, (0, 0, 0), ()), wanted)


@pytest.mark.parametrize("align_corners", [False, True])
def test_trilinear_runs_with_corners(align_corners):
    grad_output, size = gradient((1, 2, 8, 9, 10), np.float32), (1, 2, 4, 5, 6)
    wanted = up.trilinear_backward(grad_output, size, align_corners=align_corners)
    assert same(UpsampleTrilinear3dGrad(grad_output, size, (8, 9, 10), (), align_corners), wanted)
    backward = UpsampleTrilinear3dBackward(grad_output, (8, 9, 10), size, align_corners)
    assert same(backward, wanted)


def test_trilinear_backward_runs_with_reciprocals():
    """scale_d, scale_h, scale_w are 1 / scale in float32, and the weights take just that."""
    for dtype in runs(UpsampleTrilinear3dBackward):
        grad_output, size = gradient((1, 2, 9, 7, 11), dtype), (1, 2, 4, 5, 3)
        scales = (2.4, 1.5, 3.7)
        inverse = [np.float32(1 / scale) for scale in scales]
        result = UpsampleTrilinear3dBackward(grad_output, (9, 7, 11), size, False, *inverse)
        assert same(result, up.trilinear_backward(grad_output, size, scales))
        one = UpsampleTrilinear3dBackward(grad_output, (9, 7, 11), size, scale_h=inverse[1])
        assert same(one, up.trilinear_backward(grad_output, size, (None, 1.5, None)))


@settings(max_examples=500, deadline=None)
@given(st.floats(np.float32(0.02), np.float32(2**60), width=32))
def test_a_reciprocal_survives_the_way_to_the_plan(inverse):
    assert np.float32(1.0 / (1 / inverse)) == np.float32(inverse)
    assert up.bands("trilinear", 4, 9, 1 / inverse).sources == 4


@every
def test_strides_and_empties(operator):
    size = {"input_size": (2, 3, 2, 2, 2), "output_size": (4, 4, 4)}
    last = gradient((2, 4, 4, 4, 3), np.float32).transpose(0, 4, 1, 2, 3)
    flipped = gradient((2, 3, 4, 4, 8), np.float32)[..., ::-2]
    for grad_output in (last, flipped):
        wanted = getattr(up, operator.op)(grad_output, size["input_size"])
        assert same(operator(grad_output, **size), wanted)
        assert operator(grad_output, **size).strides == wanted.strides
    empty = operator(
        np.ones((0, 3, 4, 4, 4), np.float16), **{**size, "input_size": (0, 3, 2, 2, 2)}
    )
    assert (empty.shape, empty.dtype) == ((0, 3, 2, 2, 2), np.float16)


# ---- Tiling failures ----


@every
@pytest.mark.parametrize("axis", range(3))
def test_zero_sizes_fail_in_tiling(operator, axis):
    sizes = [4, 4, 4]
    sizes[axis] = 0
    with pytest.raises(TilingError) as caught:
        operator(np.ones((1, 1, 4, 4, 4), np.float32), input_size=(1, 1, *sizes),
                 output_size=(4, 4, 4))  # fmt: skip
    assert caught.value.status == 561002
    with pytest.raises((TilingError, InferShapeError)):
        operator(np.ones((1, 1, *sizes), np.float32), input_size=(1, 1, 4, 4, 4),
                 output_size=sizes)  # fmt: skip


def test_only_trilinear_backward_has_a_least_ratio():
    grad_output = gradient((1, 1, 1, 1, 51), np.float32)
    attributes = {"input_size": (1, 1, 1, 1, 1), "output_size": (1, 1, 51)}
    for operator in LISTS:
        wanted = getattr(up, operator.op)(grad_output, (1, 1, 1, 1, 1))
        assert same(operator(grad_output, **attributes), wanted)
    with pytest.raises(TilingError, match="along W"):
        UpsampleTrilinear3dBackward(grad_output, **attributes)
    with pytest.raises(TilingError, match="along H"):
        UpsampleTrilinear3dBackward(grad_output, **attributes, scale_h=0.0199, scale_w=1)
    least = UpsampleTrilinear3dBackward(grad_output, **attributes, scale_w=0.02)
    assert least.shape == (1, 1, 1, 1, 1)
    fifty = UpsampleTrilinear3dBackward(grad_output[..., :50], (1, 1, 50), (1, 1, 1, 1, 1))
    assert fifty.shape == (1, 1, 1, 1, 1)


def test_a_scale_without_reciprocal():
    grad_output = gradient(TEN, np.float32)
    for scale in (math.inf, 1e39):
        with pytest.raises(TilingError, match="along D"):
            UpsampleTrilinear3dBackward(grad_output, (10, 10, 10), FIVE, scale_d=scale)
    for scale in (math.nan, -1.0, 0.0, -math.inf):
        result = UpsampleTrilinear3dBackward(grad_output, (10, 10, 10), FIVE, scale_d=scale)
        assert same(result, up.trilinear_backward(grad_output, FIVE))


def test_a_size_past_the_plan_is_a_tiling_failure():
    with pytest.raises(TilingError, match="2147483648"):
        UpsampleNearest3dGrad(np.ones(TEN, np.float32), (1, 1, 2**31, 5, 5), (10, 10, 10))


@every
def test_grad_output_is_an_array(operator):
    for thing in (None, [1.0], 3):
        with pytest.raises(up.ParameterTypeError, match="grad_output is"):
            operator(thing, input_size=FIVE, output_size=(10, 10, 10))
