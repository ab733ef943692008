# SPDX-License-Identifier: Apache-2.0
"""Both phases of the operators, run; and what tests of them compare."""

from __future__ import annotations

import ctypes

import numpy as np
import oracle
import pytest
from aclnn_calls import NDHWC, OPS, arguments

from upsample3d import aclnn
from upsample3d.aclnn import aclDataType, aclFormat

OK, NULL, INVALID, RUNTIME = 0, 161001, 161002, 361001
ND = aclFormat.ACL_FORMAT_ND
I_SIDE, O_SIDE = (2, 3, 2, 3, 5), (2, 3, 5, 4, 9)
DTYPES = [("exact", t) for t in ("float32", "float16", "bfloat16")] + [
    (name, t) for name in ("nearest", "trilinear") for t in oracle.DTYPES
]
each_dtype = pytest.mark.parametrize(("op", "dtype"), [(OPS[n], t) for n, t in DTYPES], ids=str)
DATA_TYPE = {
    "float32": aclDataType.ACL_FLOAT, "float16": aclDataType.ACL_FLOAT16,
    "bfloat16": aclDataType.ACL_BF16, "float64": aclDataType.ACL_DOUBLE,
}  # fmt: skip


def call(op, grad_out, grad_input, i, o, scales=(0.0, 0.0, 0.0), align_corners=False):
    """The first phase's answer for two tensors and the sizes (D, H, W)."""
    planes = plane_sizes(grad_out)
    return op.prepare(
        {
            "gradOut": grad_out, "outputSize": o, "inputSize": (*planes, *i),
            "alignCorners": align_corners, "scalesD": scales[0], "scalesH": scales[1],
            "scalesW": scales[2], "gradInput": grad_input,
        }
    )  # fmt: skip


def plane_sizes(grad_out):
    shape = grad_out.view_shape
    return (shape[0], shape[4]) if grad_out.format == NDHWC else shape[:2]


def run(op, *given, **options):
    """Both phases; the second with exactly what the first asks for."""
    status, size, executor = call(op, *given, **options)
    assert status == OK, aclnn.aclGetRecentErrMsg()
    workspace = np.full(size, 0xFF, np.uint8) if size else None
    assert op.second(workspace, size, executor, None) == OK, aclnn.aclGetRecentErrMsg()


def ready(op, value=3):
    """(arguments, size, executor) of a call that can run."""
    given = arguments()
    given["gradOut"].view[...] = value
    status, size, executor = op.prepare(given)
    assert status == OK
    return given, size, executor


def gradient(dtype, shape=O_SIDE, seed=3):
    g = np.random.default_rng(seed).standard_normal(shape)
    return g.astype(oracle.numpy_dtype(dtype))


def bits(array):
    return np.ascontiguousarray(array).tobytes()


def in_format(shape, format):
    return (shape[0], *shape[2:], shape[1]) if format == NDHWC else shape


def as_ncdhw(tensor):
    return oracle.from_format(tensor.view, "NDHWC" if tensor.format == NDHWC else "NCDHW")


OBJECTS = (
    lambda size: np.array([None] * size),
    lambda size: memoryview(np.array([None] * size)),
    lambda size: (ctypes.py_object * size)(),
    lambda size: (Record * size)(),
)
"""Buffers of references to objects, which a kernel must never write."""


class Record(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("reference", ctypes.py_object)]
