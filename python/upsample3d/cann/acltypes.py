# SPDX-License-Identifier: Apache-2.0
"""Element types and formats of tensors, by CANN's names and numbers; every member has its own name.

Source: aclDataType and aclFormat of CANN's acl_base.h. Operators compute few of them; the others
are there to be refused with the operators' status.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import ml_dtypes
import numpy as np


class aclDataType(IntEnum):
    """Element types, by CANN's names and numbers."""

    ACL_DT_UNDEFINED = -1
    ACL_FLOAT = 0
    ACL_FLOAT16 = 1
    ACL_INT8 = 2
    ACL_INT32 = 3
    ACL_UINT8 = 4
    ACL_INT16 = 6
    ACL_UINT16 = 7
    ACL_UINT32 = 8
    ACL_INT64 = 9
    ACL_UINT64 = 10
    ACL_DOUBLE = 11
    ACL_BOOL = 12
    ACL_STRING = 13
    ACL_COMPLEX64 = 16
    ACL_COMPLEX128 = 17
    ACL_BF16 = 27
    ACL_INT4 = 29
    ACL_UINT1 = 30
    ACL_COMPLEX32 = 33
    ACL_HIFLOAT8 = 34
    ACL_FLOAT8_E5M2 = 35
    ACL_FLOAT8_E4M3FN = 36
    ACL_FLOAT8_E8M0 = 37
    ACL_FLOAT6_E3M2 = 38
    ACL_FLOAT6_E2M3 = 39
    ACL_FLOAT4_E2M1 = 40
    ACL_FLOAT4_E1M2 = 41

    @property
    def numpy(self) -> np.dtype[Any]:
        """NumPy's type of the same elements; where it has none, a type of no bytes."""
        return _NUMPY[self]

    @property
    def title(self) -> str:
        """The name that NumPy gives it, else CANN's in small letters: float32, hifloat8."""
        return self.numpy.name if self in _KNOWN else self.name.removeprefix("ACL_").lower()


class aclFormat(IntEnum):
    """What the axes of a tensor are."""

    ACL_FORMAT_UNDEFINED = -1
    ACL_FORMAT_NCHW = 0
    ACL_FORMAT_NHWC = 1
    ACL_FORMAT_ND = 2
    ACL_FORMAT_NC1HWC0 = 3
    ACL_FORMAT_FRACTAL_Z = 4
    ACL_FORMAT_NC1HWC0_C04 = 12
    ACL_FORMAT_HWCN = 16
    ACL_FORMAT_NDHWC = 27
    ACL_FORMAT_FRACTAL_NZ = 29
    ACL_FORMAT_NCDHW = 30
    ACL_FORMAT_NDC1HWC0 = 32
    ACL_FRACTAL_Z_3D = 33
    ACL_FORMAT_NC = 35
    ACL_FORMAT_NCL = 47
    ACL_FORMAT_FRACTAL_NZ_C0_16 = 50
    ACL_FORMAT_FRACTAL_NZ_C0_32 = 51
    ACL_FORMAT_FRACTAL_NZ_C0_2 = 52
    ACL_FORMAT_FRACTAL_NZ_C0_4 = 53
    ACL_FORMAT_FRACTAL_NZ_C0_8 = 54


(
    ACL_DT_UNDEFINED, ACL_FLOAT, ACL_FLOAT16, ACL_INT8, ACL_INT32, ACL_UINT8, ACL_INT16, ACL_UINT16,
    ACL_UINT32, ACL_INT64, ACL_UINT64, ACL_DOUBLE, ACL_BOOL, ACL_STRING, ACL_COMPLEX64,
    ACL_COMPLEX128, ACL_BF16, ACL_INT4, ACL_UINT1, ACL_COMPLEX32, ACL_HIFLOAT8, ACL_FLOAT8_E5M2,
    ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E8M0, ACL_FLOAT6_E3M2, ACL_FLOAT6_E2M3, ACL_FLOAT4_E2M1,
    ACL_FLOAT4_E1M2,
) = aclDataType  # fmt: skip
(
    ACL_FORMAT_UNDEFINED, ACL_FORMAT_NCHW, ACL_FORMAT_NHWC, ACL_FORMAT_ND, ACL_FORMAT_NC1HWC0,
    ACL_FORMAT_FRACTAL_Z, ACL_FORMAT_NC1HWC0_C04, ACL_FORMAT_HWCN, ACL_FORMAT_NDHWC,
    ACL_FORMAT_FRACTAL_NZ, ACL_FORMAT_NCDHW, ACL_FORMAT_NDC1HWC0, ACL_FRACTAL_Z_3D, ACL_FORMAT_NC,
    ACL_FORMAT_NCL, ACL_FORMAT_FRACTAL_NZ_C0_16, ACL_FORMAT_FRACTAL_NZ_C0_32,
    ACL_FORMAT_FRACTAL_NZ_C0_2, ACL_FORMAT_FRACTAL_NZ_C0_4, ACL_FORMAT_FRACTAL_NZ_C0_8,
) = aclFormat  # fmt: skip

_KNOWN: dict[aclDataType, np.dtype[Any]] = {
    ACL_FLOAT: np.dtype(np.float32),
    ACL_FLOAT16: np.dtype(np.float16),
    ACL_INT8: np.dtype(np.int8),
    ACL_INT32: np.dtype(np.int32),
    ACL_UINT8: np.dtype(np.uint8),
    ACL_INT16: np.dtype(np.int16),
    ACL_UINT16: np.dtype(np.uint16),
    ACL_UINT32: np.dtype(np.uint32),
    ACL_INT64: np.dtype(np.int64),
    ACL_UINT64: np.dtype(np.uint64),
    ACL_DOUBLE: np.dtype(np.float64),
    ACL_BOOL: np.dtype(np.bool_),
    ACL_COMPLEX64: np.dtype(np.complex64),
    ACL_COMPLEX128: np.dtype(np.complex128),
    ACL_BF16: np.dtype(ml_dtypes.bfloat16),
    ACL_FLOAT8_E5M2: np.dtype(ml_dtypes.float8_e5m2),
    ACL_FLOAT8_E4M3FN: np.dtype(ml_dtypes.float8_e4m3fn),
}
_NUMPY = {
    **{dtype: np.dtype([(dtype.name, "V0")]) for dtype in aclDataType},  # of no bytes
    **_KNOWN,
    ACL_STRING: np.dtype("S1"),
}
"""What NumPy has no elements for has a type of its own without bytes: no operator looks at any."""

OF_NUMPY = {dtype: number for number, dtype in _NUMPY.items()}
"""NumPy's type -> the member."""

__all__ = [
    "ACL_BF16", "ACL_BOOL", "ACL_COMPLEX32", "ACL_COMPLEX64", "ACL_COMPLEX128", "ACL_DOUBLE",
    "ACL_DT_UNDEFINED", "ACL_FLOAT", "ACL_FLOAT4_E1M2", "ACL_FLOAT4_E2M1", "ACL_FLOAT6_E2M3",
    "ACL_FLOAT6_E3M2", "ACL_FLOAT8_E4M3FN", "ACL_FLOAT8_E5M2", "ACL_FLOAT8_E8M0", "ACL_FLOAT16",
    "ACL_FORMAT_FRACTAL_NZ", "ACL_FORMAT_FRACTAL_NZ_C0_2", "ACL_FORMAT_FRACTAL_NZ_C0_4",
    "ACL_FORMAT_FRACTAL_NZ_C0_8", "ACL_FORMAT_FRACTAL_NZ_C0_16", "ACL_FORMAT_FRACTAL_NZ_C0_32",
    "ACL_FORMAT_FRACTAL_Z", "ACL_FORMAT_HWCN", "ACL_FORMAT_NC", "ACL_FORMAT_NC1HWC0",
    "ACL_FORMAT_NC1HWC0_C04", "ACL_FORMAT_NCDHW", "ACL_FORMAT_NCHW", "ACL_FORMAT_NCL",
    "ACL_FORMAT_ND", "ACL_FORMAT_NDC1HWC0", "ACL_FORMAT_NDHWC", "ACL_FORMAT_NHWC",
    "ACL_FORMAT_UNDEFINED", "ACL_FRACTAL_Z_3D", "ACL_HIFLOAT8", "ACL_INT4", "ACL_INT8",
    "ACL_INT16", "ACL_INT32", "ACL_INT64", "ACL_STRING", "ACL_UINT1", "ACL_UINT8", "ACL_UINT16",
    "ACL_UINT32", "ACL_UINT64", "aclDataType", "aclFormat",
]  # fmt: skip
