# SPDX-License-Identifier: Apache-2.0
"""Tensors, int arrays and the numbers of the enums."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from aclnn_calls import OPS, arguments, tensor
from aclnn_runs import (
    I_SIDE,
    INVALID,
    ND,
    NULL,
    O_SIDE,
    OBJECTS,
    OK,
    bits,
    gradient,
    run,
)

import upsample3d as up
from upsample3d import aclnn
from upsample3d.aclnn import AclTensor, aclCreateTensor, aclDataType


class Wrong:
    def __index__(self):
        raise ZeroDivisionError


FLOAT = aclDataType.ACL_FLOAT
GOOD = {
    "view_dims": (2, 3), "data_type": FLOAT, "strides": (4, 1), "offset": 1, "format": ND,
    "storage_dims": (8,), "data": bytearray(32),
}  # fmt: skip
REFUSED = [
    ({"view_dims": None}, "viewDims is None, wanted a sequence of 64-bit integers"),
    ({"view_dims": (2, -3)}, "viewDims is (2, -3)"),
    ({"view_dims": (2,) * 65, "strides": (0,) * 65}, "viewDims has more than 64"),
    ({"view_dims": {2, 3}}, "viewDims is {2, 3}, wanted a sequence of 64-bit integers, in order"),
    ({"data_type": 99}, "dataType is 99, wanted an aclDataType"),
    ({"data_type": "float32"}, "dataType is 'float32', wanted an aclDataType"),
    ({"data_type": np.float32}, "dataType is <class 'numpy.float32'>, wanted an aclDataType"),
    ({"strides": (4,)}, "strides has 1 elements, wanted 2"),
    ({"strides": (4, 1.0)}, "strides is (4, 1.0), wanted a sequence of 64-bit integers"),
    ({"strides": (4, 2)}, "offset is 1"),
    ({"offset": 2}, "offset is 2"),
    ({"offset": -1}, "offset is -1"),
    ({"strides": (4, -1)}, "offset is 1"),
    ({"strides": (2**62, 1)}, "offset is 1"),
    ({"offset": 2**64}, f"offset is {2**64}, wanted a 64-bit integer"),
    ({"format": 5}, "format is 5, wanted an aclFormat"),
    ({"format": "NCDHW"}, "format is 'NCDHW', wanted an aclFormat"),
    ({"format": Wrong()}, "format is a Wrong, wanted an aclFormat; it raises ZeroDivisionError"),
    ({"format": None}, "format is None, wanted an aclFormat"),
    ({"storage_dims": (7,)}, "offset is 1"),
    ({"storage_dims": (9,)}, "tensorData has 32 bytes, wanted 36"),
    ({"storage_dims": (2**62, 2**62)}, "tensorData has 32 bytes"),
    ({"data": None}, "tensorData is None"),
    ({"data": 5}, "tensorData is 5, wanted a contiguous buffer"),
    (
        {"data": [0.0] * 8},
        f"tensorData is {[0.0] * 8}, wanted a contiguous buffer",
    ),
    (
        {"data": np.zeros(16, np.float32)[::2]},
        "tensorData has strides of (8,) bytes for (8,), "
        "wanted the contiguous array under it, with strides and offset, or AclTensor.from_array",
    ),
    ({"data": np.zeros((4, 2), np.float32).T}, "tensorData has strides of (4, 8) bytes"),
    (
        {"data": np.zeros(8, np.float32), "data_type": 27},
        "tensorData has dtype float32, wanted bfloat16, another of 2 bytes, or bytes",
    ),
    ({"data": np.zeros(8, np.float16)}, "tensorData has dtype float16, wanted float32"),
    ({"data": np.array([None] * 8)}, "tensorData has dtype object, wanted float32"),
    (
        {"data": np.array([None] * 8), "data_type": 11},
        "tensorData is an array of shape (8,)",
    ),
    ({"data": np.zeros(33, np.uint8)[1:]}, "tensorData is misaligned"),
    *(({"data": make(8)}, "tensorData is a") for make in OBJECTS[1:]),
]


def test_create_tensor():
    data = np.arange(8, dtype=np.float32)
    made = aclCreateTensor(**{**GOOD, "data": data})
    assert made.view.tolist() == [[1, 2, 3], [5, 6, 7]]
    assert (made.view_shape, made.strides, made.offset) == ((2, 3), (4, 1), 1)
    assert (made.dtype, made.format, made.storage_shape) == (FLOAT, ND, (8,))
    assert made.data is data
    back = aclCreateTensor(**{**GOOD, "data": data, "offset": 7, "strides": (-4, -1)})
    assert back.view.tolist() == [[7, 6, 5], [3, 2, 1]]
    still = aclCreateTensor(**{**GOOD, "data": data, "strides": (0, 0)})
    assert still.view.tolist() == [[1] * 3] * 2
    empty = aclCreateTensor((0, 2**40), FLOAT, None, 0, ND, (0,), None)
    assert empty.view_shape == (0, 2**40)
    bf16 = np.arange(8).astype(ml_dtypes.bfloat16)
    longer = np.append(bf16, bf16)
    for data in (bf16, bf16.view(np.uint16), bf16.view(np.uint8), bf16.tobytes(), longer):
        assert aclCreateTensor(**{**GOOD, "data_type": 27, "data": data}).view[1, 2] == 7


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=[str(k) for k in range(len(REFUSED))])
def test_create_tensor_refuses(changes, message):
    assert aclCreateTensor(**{**GOOD, **changes}) is None
    assert aclnn.aclGetRecentErrMsg().startswith(message)


@pytest.mark.parametrize("stride", [2**62, -(2**62), 2**63 - 1, 0])
@pytest.mark.parametrize("shape", [(2, 1, 3), (1, 2, 3), (2, 3, 1)])
def test_strides_of_axes_of_size_1_do_not_matter(shape, stride):
    steps = [stride if size == 1 else step for size, step in zip(shape, (4, 4, 1), strict=True)]
    if shape[2] == 1:
        steps[1] = 1
    data = np.arange(8, dtype=np.float32)
    made = aclCreateTensor(shape, FLOAT, steps, 1, ND, (8,), data)
    assert made.view.ravel().tolist() == [1, 2, 3, 5, 6, 7]
    shape_out, shape_in = (1, 1, 2, 2, 2), (1, 1, 1, 1, 1)
    grad_out = aclCreateTensor(
        shape_out, FLOAT, (stride, stride, 4, 2, 1), 0, ND, (8,), np.ones(8, np.float32)
    )
    grad_input = aclCreateTensor(shape_in, FLOAT, (stride,) * 5, 0, ND, (1,), bytearray(4))
    run(OPS["exact"], grad_out, grad_input, shape_in[2:], shape_out[2:])
    assert grad_input.view.item() == 8


def test_empty_view_stays_inside_too():
    data = bytearray(32)
    assert aclCreateTensor((0, 3), FLOAT, None, 8, ND, (8,), data) is not None
    assert aclCreateTensor((0, 3), FLOAT, None, 9, ND, (8,), data) is None
    assert aclnn.aclGetRecentErrMsg().startswith("offset is 9")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (None, "array is None"),
        ([1.0], "array is a list"),
        (np.zeros(3, ">f4"), "array has dtype '>f4'"),
        (np.zeros(3, "M8[s]"), "array has dtype"),
        (np.ma.zeros(3), "array is a MaskedArray"),
    ],
)
def test_from_array_refuses(array, message):
    assert AclTensor.from_array(array) is None
    assert aclnn.aclGetRecentErrMsg().startswith(message)


def test_from_array_of_a_field():
    record = np.zeros(O_SIDE, [("g", "<f4"), ("flag", "u1")])
    record["g"] = gradient("float32")
    made = AclTensor.from_array(record["g"])
    assert made.strides is None
    grad_input = tensor(I_SIDE)
    run(OPS["exact"], made, grad_input, I_SIDE[2:], O_SIDE[2:])
    assert bits(grad_input.view) == bits(up.nearest_exact_backward(gradient("float32"), I_SIDE))


def test_destroyed_tensor():
    given = arguments()
    destroyed = given["gradOut"]
    assert aclnn.aclDestroyTensor(destroyed) == OK
    assert aclnn.aclDestroyTensor(destroyed) == INVALID
    assert repr(destroyed) == "AclTensor(destroyed)"
    for op in OPS.values():
        assert op.prepare(given) == (INVALID, 0, None)
        assert aclnn.aclGetRecentErrMsg().startswith("gradOut is destroyed")
    assert aclnn.aclDestroyTensor(None) == NULL
    assert aclnn.aclDestroyTensor(7) == INVALID


def test_int_arrays():
    assert aclnn.aclCreateIntArray(np.array([4, 5, 6]), 2) == (4, 5)
    for value, size, message in (
        (None, 0, "value is None"),
        ([1, 2], 3, "size is 3, wanted 0 to 2"),
        ([1] * 100, 65, "size is 65, wanted 0 to 64"),
        ([1, 2], -1, "size is -1"),
        ([1, 2.0], 2, "value is [1, 2.0], wanted a sequence of 64-bit integers"),
        ([1, 2**63], 2, f"value[1] is {2**63}, wanted 64 bits"),
    ):
        assert aclnn.aclCreateIntArray(value, size) is None
        assert aclnn.aclGetRecentErrMsg().startswith(message)
    assert aclnn.aclDestroyIntArray(None) == NULL
    assert aclnn.aclDestroyIntArray("x") == INVALID


def test_numbers_of_the_statuses():
    assert {s.name: s.value for s in aclnn.aclnnStatus} == {
        "ACLNN_SUCCESS": 0,
        "ACLNN_ERR_PARAM_NULLPTR": 161001,
        "ACLNN_ERR_PARAM_INVALID": 161002,
        "ACLNN_ERR_RUNTIME_ERROR": 361001,
        "ACLNN_ERR_INNER_INFERSHAPE_ERROR": 561001,
        "ACLNN_ERR_INNER_TILING_ERROR": 561002,
        "ACLNN_ERR_INNER_FIND_KERNEL_ERROR": 561003,
        "ACLNN_ERR_INNER_CREATE_EXECUTOR": 561101,
        "ACLNN_ERR_INNER_NULLPTR": 561103,
    }
