# SPDX-License-Identifier: Apache-2.0
"""The gradients on the device, one row each: names, attributes, types, checks, chips, tilings.

Sources: the operators' definitions and documents in ops-cv, master 6ae8765 of 2026-08-21 (Ascend
950 is with the exact op since 2026-05-12); what the operators' first phases hand to a kernel:
float32 on Atlas A2 and A3 for float16 and bfloat16 too.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from . import checks, soc
from .acltypes import aclDataType
from .attributes import Attribute, boolean, int64s, real, reals
from .call import Call, Operator
from .ir import Operator as IrOperator
from .tensors import Sizes
from .tiling_950 import nearest_950
from .tiling_a2 import MIN_SUPPORT_SCALE, nearest_a2, trilinear_a2
from .tiling_data import Tiling

# ---- In the IR ----

_FLOATS = tuple(map(np.dtype, (np.float16, np.float32, ml_dtypes.bfloat16)))
_FLOAT64, _UINT8 = np.dtype(np.float64), np.dtype(np.uint8)
_INPUT_SIZE, _OUTPUT_SIZE = Attribute("input_size", int64s), Attribute("output_size", int64s)
_ALIGN_CORNERS = Attribute("align_corners", boolean, False)


def _lists(default: tuple[int, ...]) -> tuple[Attribute, ...]:
    scales = Attribute("scales", reals, default)
    return _INPUT_SIZE, Attribute("output_size", int64s, default), scales


UpsampleNearestExact3dGrad = IrOperator(
    "UpsampleNearestExact3dGrad", "nearest_exact_backward", _lists((0, 0, 0)), _FLOATS,
    zeros_are_empty=True,
)  # fmt: skip
UpsampleNearest3dGrad = IrOperator(
    "UpsampleNearest3dGrad", "nearest_backward", _lists(()), (*_FLOATS, _FLOAT64, _UINT8)
)
UpsampleTrilinear3dGrad = IrOperator(
    "UpsampleTrilinear3dGrad", "trilinear_backward", (*_lists(()), _ALIGN_CORNERS),
    (*_FLOATS[:2], _FLOAT64),
)  # fmt: skip
_SCALES = ("scale_d", "scale_h", "scale_w")
UpsampleTrilinear3dBackward = IrOperator(
    "UpsampleTrilinear3dBackward", UpsampleTrilinear3dGrad.op,
    (_OUTPUT_SIZE, _INPUT_SIZE, _ALIGN_CORNERS, *(Attribute(s, real, 0.0) for s in _SCALES)),
    _FLOATS, _SCALES, inverse=True, by_scales=False, least_ratio=MIN_SUPPORT_SCALE,
)  # fmt: skip

# ---- How a kernel would share a call ----


def _source(call: Call) -> Sizes:
    """gradOut's N, C, D, H, W, whatever its format."""
    return *call.input_size[:2], *call.output_size


def _nearest_950(call: Call, cores: int) -> Tiling:
    dtype, scales = call.grad_out.dtype.numpy.name, call.scales_that_count or (0, 0, 0)
    return nearest_950(_source(call), call.input_size, dtype, scales, cores=cores)


def _nearest_a2(call: Call, cores: int) -> Tiling:
    scales = call.scales_that_count or (0, 0, 0)
    return nearest_a2(_source(call), call.input_size, scales=scales, cores=cores)


def _trilinear_a2(call: Call, cores: int) -> Tiling:
    scales = call.scales_that_count
    return trilinear_a2(
        _source(call),
        call.input_size,
        inverse_scales=[1 / scale for scale in scales] if scales else (0, 0, 0),
        align_corners=call.align_corners,
        cores=cores,
    )


# ---- What the first phase checks in which order, by the numbers of the exact op ----

_EXACT = (
    checks.dtype_known,  # 2
    checks.dtypes_equal,  # 3
    checks.grad_out_rank,  # 4
    checks.output_size_length,  # 5
    checks.input_size_length,  # 6
    checks.sizes_positive,  # 7
    checks.grad_out_shape,  # 8
    checks.grad_input_shape,  # 9
    checks.formats_equal,  # where the code would write a transposed result
    checks.scales_limited,  # 10
    checks.sizes_in_int32,  # 11
)
_NEAREST = tuple(fails for fails in _EXACT if fails is not checks.scales_limited)
_TRILINEAR = (*_NEAREST[:5], checks.grad_out_format, *_NEAREST[5:])

# ---- The table ----

_SINGLES = (aclDataType.ACL_FLOAT, aclDataType.ACL_FLOAT16, aclDataType.ACL_BF16)
_ALL = (*_SINGLES, aclDataType.ACL_DOUBLE)
_NEAREST_TILINGS = {soc.A2: _nearest_a2, soc.A3: _nearest_a2, soc.A950: _nearest_950}

EXACT = Operator(
    "aclnnUpsampleNearestExact3dBackward", (UpsampleNearestExact3dGrad,), _SINGLES, _EXACT,
    _NEAREST_TILINGS, device_cpu=False,
)  # fmt: skip
NEAREST = Operator(
    "aclnnUpsampleNearest3dBackward", (UpsampleNearest3dGrad,), _ALL, _NEAREST, _NEAREST_TILINGS,
    device_cpu=True,
)  # fmt: skip
TRILINEAR = Operator(
    "aclnnUpsampleTrilinear3dBackward", (UpsampleTrilinear3dGrad, UpsampleTrilinear3dBackward),
    _ALL, _TRILINEAR, {soc.A2: _trilinear_a2, soc.A3: _trilinear_a2}, device_cpu=True,
    align_corners=True,
)  # fmt: skip
TABLE = (EXACT, NEAREST, TRILINEAR)
OPERATORS = {name: row for row in TABLE for name in (row.name, row.op)}
"""The rows, by aclnn's names and by the Plan's."""
