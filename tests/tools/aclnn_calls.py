# SPDX-License-Identifier: Apache-2.0
"""Calls of the operators' first phases: the unit tests' default one, changed, and its answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from upsample3d import aclnn
from upsample3d.aclnn import AclTensor, aclCreateTensor, aclDataType, aclFormat
from upsample3d.cann import call, operators

OK, N, I = 0, 161001, 161002  # noqa: E741
NAN, INF, HUGE = math.nan, math.inf, 2**31
STATUSES = set(aclnn.aclnnStatus)
POSITIONS = (
    "gradOut", "outputSize", "inputSize", "alignCorners", "scalesD", "scalesH", "scalesW",
    "gradInput",
)  # fmt: skip
NCDHW, NDHWC = aclFormat.ACL_FORMAT_NCDHW, aclFormat.ACL_FORMAT_NDHWC


@dataclass(frozen=True)
class Op:
    """An operator's two phases, and the function and the checks behind them."""

    name: str
    first: Any
    second: Any
    function: str
    operator: call.Operator

    def prepare(self, arguments: dict[str, Any]) -> tuple[Any, Any, Any]:
        """The first phase; alignCorners goes where it belongs."""
        given = dict(arguments)
        if self.name != "trilinear":
            del given["alignCorners"]
        return self.first(**given)


OPS = {
    name: Op(
        name,
        getattr(aclnn, f"aclnnUpsample{middle}3dBackwardGetWorkspaceSize"),
        getattr(aclnn, f"aclnnUpsample{middle}3dBackward"),
        f"{function}_backward",
        getattr(operators, name.upper()),
    )
    for name, middle, function in (
        ("exact", "NearestExact", "nearest_exact"),
        ("nearest", "Nearest", "nearest"),
        ("trilinear", "Trilinear", "trilinear"),
    )
}
each_op = pytest.mark.parametrize("op", list(OPS.values()), ids=list(OPS))


def tensor(shape, data_type=aclDataType.ACL_FLOAT, format=NCDHW, value=3):
    """A tensor of its own memory; of one element seen again and again where sizes are huge."""
    dtype = np.dtype(NUMPY[data_type])
    if max(shape, default=0) >= HUGE:
        memory, strides, storage = np.full(1, value, dtype), (0,) * len(shape), (1,)
    else:
        memory, strides, storage = np.full(math.prod(shape), value, dtype), None, shape
    made = aclCreateTensor(shape, data_type, strides, 0, format, storage, memory)
    assert made is not None, aclnn.aclGetRecentErrMsg()
    return made


NUMPY = {
    0: "f4", 1: "f2", 2: "i1", 3: "i4", 4: "u1", 6: "i2", 9: "i8", 11: "f8", 12: "?", 13: "S1",
    16: "c8", 17: "c16", 27: ml_dtypes.bfloat16,
}  # fmt: skip


def arguments(**changes):
    """The unit tests' default call, changed. Shapes become tensors of the formats and types."""
    given = {
        "gradOut": (2, 2, 3, 4, 5),
        "outputSize": (3, 4, 5),
        "inputSize": (2, 2, 6, 8, 10),
        "alignCorners": False,
        "scalesD": 0.0,
        "scalesH": 0.0,
        "scalesW": 0.0,
        "gradInput": (2, 2, 6, 8, 10),
        "types": (aclDataType.ACL_FLOAT,) * 2,
        "formats": (NCDHW,) * 2,
        **changes,
    }
    types, formats = given.pop("types"), given.pop("formats")
    for name, data_type, format in zip(("gradOut", "gradInput"), types, formats, strict=True):
        if type(given[name]) is tuple:
            given[name] = tensor(given[name], data_type, format)
    return given


def answer(op, **changes):
    """(status, message) of a first phase, whose triple must hold together."""
    status, size, executor = op.prepare(arguments(**changes))
    assert type(size) is int
    if status == OK:
        assert type(executor) is aclnn.AclOpExecutor
        return status, ""
    assert (size, executor) == (0, None)
    return status, aclnn.aclGetRecentErrMsg()


def same(size):
    return {"inputSize": size, "gradInput": size}


FLOAT16 = (aclDataType.ACL_FLOAT16,) * 2
BF16 = (aclDataType.ACL_BF16,) * 2
DOUBLE = (aclDataType.ACL_DOUBLE,) * 2
SCALED = {
    "gradOut": (2, 2, 4, 8, 12), "outputSize": (4, 8, 12), **same((2, 2, 2, 4, 8)),
    "scalesD": 2.0, "scalesH": 2.0, "scalesW": 1.5,
}  # fmt: skip
LAST = {
    "gradOut": (2, 2, 3, 4, 5), "outputSize": (2, 3, 4), "inputSize": (2, 5, 4, 6, 8),
    "gradInput": (2, 4, 6, 8, 5), "formats": (NDHWC, NDHWC),
}  # fmt: skip


def pixels(given):
    """The bytes of gradInput, whatever stands there."""
    made = given["gradInput"]
    if type(made) is AclTensor and type(getattr(made, "view", None)) is np.ndarray:
        return made.view.tobytes()
    return b""
