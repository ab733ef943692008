# SPDX-License-Identifier: Apache-2.0
"""The IR operators: attributes, inferred shapes and types, refusals, and runs as the functions."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import upsample3d as up
from upsample3d.aclnn import aclDataType
from upsample3d.graph import (
    UpsampleNearest3dGrad,
    UpsampleNearestExact3dGrad,
    UpsampleTrilinear3dBackward,
    UpsampleTrilinear3dGrad,
)
from upsample3d.spec.errors import InferShapeError, KernelNotFoundError, TilingError

LISTS = (UpsampleNearestExact3dGrad, UpsampleNearest3dGrad, UpsampleTrilinear3dGrad)
ALL = (*LISTS, UpsampleTrilinear3dBackward)
TEN, FIVE = (1, 1, 10, 10, 10), (1, 1, 5, 5, 5)


def names(operator) -> str:
    return operator.name


every = pytest.mark.parametrize("operator", ALL, ids=names)
with_lists = pytest.mark.parametrize("operator", LISTS, ids=names)


def refused(operator, *arguments, **attributes) -> InferShapeError:
    with pytest.raises(InferShapeError) as caught:
        operator.infer_shape(*arguments, **attributes)
    assert caught.value.status == up.Status.INFERSHAPE_ERROR == 561001
    assert operator.name in str(caught.value)
    return caught.value


def test_attributes_in_order_with_defaults():
    attributes = {o.name: [(a.name, a.default) for a in o.attributes] for o in ALL}
    zeros, empty = (0, 0, 0), ()
    assert attributes == {
        "UpsampleNearestExact3dGrad": [
            ("input_size", None), ("output_size", zeros), ("scales", zeros),
        ],
        "UpsampleNearest3dGrad": [("input_size", None), ("output_size", empty), ("scales", empty)],
        "UpsampleTrilinear3dGrad": [
            ("input_size", None), ("output_size", empty), ("scales", empty),
            ("align_corners", False),
        ],
        "UpsampleTrilinear3dBackward": [
            ("output_size", None), ("input_size", None), ("align_corners", False),
            ("scale_d", 0.0), ("scale_h", 0.0), ("scale_w", 0.0),
        ],
    }  # fmt: skip


# ---- The operators' unit tests: active ones, then those that state an intent ----


@with_lists
def test_both_lists_fail(operator):
    refused(operator, TEN, (1, 1, 5, 5, 5), (1, 1, 5, 5, 5), (2, 2, 2))
    refused(operator, TEN, input_size=FIVE, output_size=(10, 10, 10), scales=(2, 2, 2))


TRILINEAR = {
    "test2": dict(output_size=(1, 1, 10, 10, 10)),
    "test3": dict(output_size=(7, 7, 7)),
    "test4": dict(scales=(2, 2, 2, 2, 2)),
    "test5": dict(scales=(1.5, 1.5, 1.5)),
}
INTENT = {
    "neither list": {},
    "output_size (10, 10)": dict(output_size=(10, 10)),
    "scales (2, 2)": dict(scales=(2, 2)),
    "input_size 4 long": dict(input_size=(1, 5, 5, 5), output_size=(10, 10, 10)),
    "input 6^3": dict(input_size=(1, 1, 6, 6, 6), scales=(2, 2, 2)),
}
NEITHER_FAILS = [UpsampleNearest3dGrad, UpsampleTrilinear3dGrad]


@with_lists
@pytest.mark.parametrize("case", {**TRILINEAR, **INTENT})
def test_lists_that_fail(operator, case):
    attributes = {"input_size": FIVE, **{**TRILINEAR, **INTENT}[case]}
    if case == "neither list" and operator not in NEITHER_FAILS:
        assert operator.infer_shape(TEN, **attributes) == FIVE
    else:
        refused(operator, TEN, **attributes)


@with_lists
@pytest.mark.parametrize("lists", [dict(output_size=(10, 10, 10)), dict(scales=(2, 2, 2))])
def test_lists_that_are_right(operator, lists):
    """test6 and test7 of trilinear, and the two of nearest."""
    assert operator.infer_shape(TEN, FIVE, **lists) == FIVE
    assert operator.infer_shape(list(TEN), list(FIVE), **lists) == FIVE


@every
def test_rank_4_fails(operator):
    error = refused(operator, TEN[1:], input_size=FIVE, output_size=(10, 10, 10))
    assert "grad_output is (1, 10, 10, 10)" in str(error)


@every
def test_no_attributes_fail(operator):
    first = operator.attributes[0].name
    assert f"{first} is not given, but required" in str(refused(operator, TEN))
    assert f"{first} is None, wanted" in str(refused(operator, TEN, None))


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
@pytest.mark.parametrize("operator", [*LISTS[:2], UpsampleTrilinear3dBackward], ids=names)
def test_dtype_is_grad_outputs(operator, dtype):
    assert operator.infer_dtype(dtype) == np.dtype(dtype)


# ---- Types ----


class Raising:
    """What raises what no reader foresees, and cannot be printed."""

    def raises(self, *arguments):
        raise RuntimeError

    __iter__ = __len__ = __index__ = __truediv__ = __bool__ = __eq__ = __repr__ = raises


ADMITTED = {
    UpsampleNearestExact3dGrad: "float16 float32 bfloat16",
    UpsampleNearest3dGrad: "float16 float32 bfloat16 float64 uint8",
    UpsampleTrilinear3dGrad: "float16 float32 float64",
    UpsampleTrilinear3dBackward: "float16 float32 bfloat16",
}
OTHERS = ("int8", "int32", "int64", "bool", "complex64", ">f4")


@every
def test_types_of_the_ir(operator):
    admitted = ADMITTED[operator].split()
    for dtype in admitted:
        assert operator.infer_dtype(dtype) == np.dtype(dtype)
    others = {*ADMITTED[UpsampleNearest3dGrad].split(), *OTHERS} - {*admitted}
    for dtype in [*others, None, "nothing", 3, Raising(), aclDataType.ACL_FLOAT]:
        with pytest.raises(InferShapeError, match="wanted NumPy's float16 or ") as caught:
            operator.infer_dtype(dtype)
        assert caught.value.status == 561001
    for dtype in others:
        with pytest.raises(InferShapeError, match="dtype is"):
            operator(np.ones(TEN, dtype), input_size=FIVE, output_size=(10, 10, 10))


def test_uint8_has_a_shape_but_no_kernel():
    with pytest.raises(KernelNotFoundError, match="uint8") as caught:
        UpsampleNearest3dGrad(np.ones(TEN, np.uint8), FIVE, (10, 10, 10))
    assert caught.value.status == 561003


# ---- Empty lists, zeros, floors ----


@pytest.mark.parametrize("output_size", [(), (0, 0, 0), (0,), (10, 10, 10)])
@pytest.mark.parametrize("scales", [(), (0, 0, 0), (0.0, -0.0, 0.0), (2, 2, 2)])
def test_zeros_are_empty_for_the_exact_op(output_size, scales):
    if any(output_size) and any(scales):
        refused(UpsampleNearestExact3dGrad, TEN, FIVE, output_size, scales)
    else:
        assert UpsampleNearestExact3dGrad.infer_shape(TEN, FIVE, output_size, scales) == FIVE


@pytest.mark.parametrize("operator", NEITHER_FAILS, ids=names)
@pytest.mark.parametrize("lists",
    [((), ()), ((0, 0, 0), ()), ((), (0, 0, 0)), ((0, 0, 0), (0, 0, 0)),
     ((10, 10, 10), (0, 0, 0)), ((0, 0, 0), (2, 2, 2))])  # fmt: skip
def test_zeros_are_a_list_for_the_others(operator, lists):
    refused(operator, TEN, FIVE, *lists)


@with_lists
def test_the_product_is_rounded_to_float32_before_it_is_rounded_down(operator):
    """float32(0.7) is below 0.7, and 10 times it below 7; but float32(10 * 0.7) is 7."""
    assert math.floor(10 * float(np.float32(0.7))) == 6
    size = (1, 1, 10, 10, 10)
    assert operator.infer_shape((1, 1, 7, 7, 7), size, scales=(0.7, 0.7, 0.7)) == size
    refused(operator, (1, 1, 6, 6, 6), size, scales=(0.7, 0.7, 0.7))


@with_lists
def test_the_size_is_rounded_to_float32_too(operator):
    big = 2**24 + 1
    size = (1, 1, 1, 1, big)
    assert operator.infer_shape((1, 1, 1, 1, 2**24), size, scales=(1, 1, 1)) == size
    refused(operator, size, size, scales=(1, 1, 1))


@with_lists
@pytest.mark.parametrize("scale", [math.nan, math.inf, -2.0, 1e39, -math.inf])
@pytest.mark.parametrize("axis", range(3))
def test_scales_that_lead_nowhere(operator, scale, axis):
    scales = [2.0, 2.0, 2.0]
    scales[axis] = scale
    refused(operator, TEN, FIVE, scales=scales)


@with_lists
@pytest.mark.parametrize("axis", range(3))
def test_every_axis_is_compared(operator, axis):
    sizes, scales = [10, 10, 10], [2.0, 2.0, 2.0]
    sizes[axis], scales[axis] = 11, 2.2
    refused(operator, TEN, FIVE, output_size=sizes)
    refused(operator, TEN, FIVE, scales=scales)


@every
def test_n_and_c_are_compared_when_it_runs(operator):
    for size in ((2, 1, 5, 5, 5), (1, 3, 5, 5, 5)):
        attributes = {"input_size": size, "output_size": (10, 10, 10)}
        assert operator.infer_shape(TEN, **attributes) == size
        with pytest.raises(TilingError, match="N, C") as caught:
            operator(np.ones(TEN, np.float32), **attributes)
        assert caught.value.status == 561002


def test_trilinear_backward_needs_its_output_size():
    operator = UpsampleTrilinear3dBackward
    assert operator.infer_shape(TEN, (10, 10, 10), FIVE, True, 0.5, 0.5, 0.5) == FIVE
    assert operator.infer_shape(TEN, (10, 10, 10), FIVE, scale_d=0.3) == FIVE  # not compared
    for sizes in ((), (10, 10), (10, 10, 9), (0, 0, 0)):
        refused(operator, TEN, sizes, FIVE)
    assert "output_size" in str(refused(operator, TEN, input_size=FIVE))
    refused(operator, TEN, (10, 10, 10), input_size=None)


# ---- Running ----

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
