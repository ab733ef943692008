# SPDX-License-Identifier: Apache-2.0
"""The IR operators: attributes, inferred shapes and types, refusals, and runs as the functions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from graph_calls import (
    ALL,
    FIVE,
    LISTS,
    NEITHER_FAILS,
    TEN,
    Raising,
    every,
    names,
    refused,
    with_lists,
)

from upsample3d.aclnn import aclDataType
from upsample3d.graph import (
    UpsampleNearest3dGrad,
    UpsampleNearestExact3dGrad,
    UpsampleTrilinear3dBackward,
    UpsampleTrilinear3dGrad,
)
from upsample3d.spec.errors import InferShapeError, KernelNotFoundError, TilingError


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
