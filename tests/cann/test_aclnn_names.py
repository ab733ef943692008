# SPDX-License-Identifier: Apache-2.0
"""Every type and format of CANN's has its name and number here, and a status where it is wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from aclnn_calls import arguments, each_op

from upsample3d import aclnn
from upsample3d.aclnn import aclCreateTensor, aclDataType, aclFormat

TYPES = {
    "ACL_DT_UNDEFINED": -1, "ACL_FLOAT": 0, "ACL_FLOAT16": 1, "ACL_INT8": 2, "ACL_INT32": 3,
    "ACL_UINT8": 4, "ACL_INT16": 6, "ACL_UINT16": 7, "ACL_UINT32": 8, "ACL_INT64": 9,
    "ACL_UINT64": 10, "ACL_DOUBLE": 11, "ACL_BOOL": 12, "ACL_STRING": 13, "ACL_COMPLEX64": 16,
    "ACL_COMPLEX128": 17, "ACL_BF16": 27, "ACL_INT4": 29, "ACL_UINT1": 30, "ACL_COMPLEX32": 33,
    "ACL_HIFLOAT8": 34, "ACL_FLOAT8_E5M2": 35, "ACL_FLOAT8_E4M3FN": 36, "ACL_FLOAT8_E8M0": 37,
    "ACL_FLOAT6_E3M2": 38, "ACL_FLOAT6_E2M3": 39, "ACL_FLOAT4_E2M1": 40, "ACL_FLOAT4_E1M2": 41,
}  # fmt: skip
FORMATS = {
    "ACL_FORMAT_UNDEFINED": -1, "ACL_FORMAT_NCHW": 0, "ACL_FORMAT_NHWC": 1, "ACL_FORMAT_ND": 2,
    "ACL_FORMAT_NC1HWC0": 3, "ACL_FORMAT_FRACTAL_Z": 4, "ACL_FORMAT_NC1HWC0_C04": 12,
    "ACL_FORMAT_HWCN": 16, "ACL_FORMAT_NDHWC": 27, "ACL_FORMAT_FRACTAL_NZ": 29,
    "ACL_FORMAT_NCDHW": 30, "ACL_FORMAT_NDC1HWC0": 32, "ACL_FRACTAL_Z_3D": 33,
    "ACL_FORMAT_NC": 35, "ACL_FORMAT_NCL": 47, "ACL_FORMAT_FRACTAL_NZ_C0_16": 50,
    "ACL_FORMAT_FRACTAL_NZ_C0_32": 51, "ACL_FORMAT_FRACTAL_NZ_C0_2": 52,
    "ACL_FORMAT_FRACTAL_NZ_C0_4": 53, "ACL_FORMAT_FRACTAL_NZ_C0_8": 54,
}  # fmt: skip
BYTES = {  # of an element, where it has whole ones and a type of NumPy's
    "ACL_INT8": 1, "ACL_UINT8": 1, "ACL_BOOL": 1, "ACL_STRING": 1, "ACL_FLOAT8_E5M2": 1,
    "ACL_FLOAT8_E4M3FN": 1, "ACL_FLOAT16": 2, "ACL_BF16": 2, "ACL_INT16": 2, "ACL_UINT16": 2,
    "ACL_FLOAT": 4, "ACL_INT32": 4, "ACL_UINT32": 4, "ACL_INT64": 8, "ACL_UINT64": 8,
    "ACL_DOUBLE": 8, "ACL_COMPLEX64": 8, "ACL_COMPLEX128": 16,
}  # fmt: skip
COMPUTED = {
    "exact": {"ACL_FLOAT", "ACL_FLOAT16", "ACL_BF16"},
    "nearest": {"ACL_FLOAT", "ACL_FLOAT16", "ACL_BF16", "ACL_DOUBLE"},
    "trilinear": {"ACL_FLOAT", "ACL_FLOAT16", "ACL_BF16", "ACL_DOUBLE"},
}
OK, INVALID = 0, 161002
ND, FLOAT = aclFormat.ACL_FORMAT_ND, aclDataType.ACL_FLOAT
O_SIDE, I_SIDE = (2, 2, 3, 4, 5), (2, 2, 6, 8, 10)


def test_a_star_import_has_every_name_with_its_number():
    names: dict[str, object] = {}
    exec("from upsample3d.aclnn import *", names)
    for enum, numbers in ((aclDataType, TYPES), (aclFormat, FORMATS)):
        assert {member.name: int(member) for member in enum} == numbers
        for name in numbers:
            assert names[name] is enum[name]
    assert set(aclnn.__all__) == set(names) - {"__builtins__"}


def created(shape, data_type, format=ND):
    size = math.prod(shape) * BYTES.get(aclDataType(data_type).name, 0)
    return aclCreateTensor(shape, data_type, None, 0, format, shape, np.zeros(size, np.uint8))


@each_op
@pytest.mark.parametrize("name", TYPES)
def test_every_type_has_its_status(op, name):
    computed = COMPUTED[op.name]
    grad_out, grad_input = created(O_SIDE, TYPES[name]), created(I_SIDE, aclDataType[name])
    assert (grad_out.dtype, grad_out.view_shape) == (aclDataType[name], O_SIDE)
    assert repr(grad_input) == f"AclTensor({I_SIDE}, {name}, ACL_FORMAT_ND)"
    status, _, _ = op.prepare(arguments(gradOut=grad_out, gradInput=grad_input))
    assert status == (OK if name in computed else INVALID)
    if status:
        assert aclnn.aclGetRecentErrMsg().startswith(f"gradOut has dtype {name}, wanted ACL_FLOAT ")
        status, _, _ = op.prepare(arguments(gradInput=grad_input))
        assert status == INVALID
        said = f"gradInput has dtype {name}, wanted ACL_FLOAT"
        assert aclnn.aclGetRecentErrMsg() == said


@each_op
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_its_status(op, name):
    """Trilinear takes three; the nearest ops read any other than NDHWC as NCDHW."""
    last = name == "ACL_FORMAT_NDHWC"
    shapes = [(s[0], *s[2:], s[1]) if last else s for s in (O_SIDE, I_SIDE)]
    tensors = [created(shape, FLOAT, FORMATS[name]) for shape in shapes]
    status, _, _ = op.prepare(arguments(gradOut=tensors[0], gradInput=tensors[1]))
    three = ("ACL_FORMAT_ND", "ACL_FORMAT_NCDHW", "ACL_FORMAT_NDHWC")
    refused = op.name == "trilinear" and name not in three
    assert status == (INVALID if refused else OK)
    if refused:
        said = f"gradOut has format {name}, wanted NCDHW, NDHWC or ND"
        assert aclnn.aclGetRecentErrMsg() == said


@pytest.mark.parametrize("name", sorted(TYPES.keys() - BYTES.keys()))
def test_the_memory_of_types_that_numpy_has_not_is_not_looked_at(name):
    for data in (None, bytearray(3), np.zeros(4, np.float32), [1]):
        tensor = aclCreateTensor((2, 3), TYPES[name], (3, 1), 0, ND, (6,), data)
        assert (tensor.view_shape, tensor.strides, tensor.data) == ((2, 3), None, data)
    assert aclCreateTensor((2, 4), TYPES[name], (3, 1), 0, ND, (6,), None) is None
    assert aclnn.aclGetRecentErrMsg().startswith("offset is 0, strides are (3, 1)")
    assert aclnn.aclDestroyTensor(tensor) == OK


@pytest.mark.parametrize("name", sorted(BYTES))
def test_the_memory_of_the_others_has_their_size(name):
    size = 6 * BYTES[name]
    assert aclCreateTensor((2, 3), TYPES[name], None, 0, ND, (6,), bytearray(size)) is not None
    assert aclCreateTensor((2, 3), TYPES[name], None, 0, ND, (6,), bytearray(size - 1)) is None
    said = f"tensorData has {size - 1} bytes, wanted {size} for storageDims"
    assert aclnn.aclGetRecentErrMsg() == said
