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
from .acl import Sizes
from .acltypes import aclDataType
from .attributes import Attribute, boolean, int64s, real, reals
from .call import Call, Operator
from .ir import Operator as IrOperator
from .tiling import MIN_SUPPORT_SCALE, nearest_950, nearest_a2, trilinear_a2
from .tiling_data import Tiling

# ---- In the IR ----

_FLOATS = tuple(map(np.dtype, (np.float16, np.float32, ml_dtypes.bfloat16)))
_FLOAT64, _UINT8 = np.dtype(np.float64), np.dtype(np.uint8)
_INPUT_SIZE, _OUTPUT_SIZE = Attribute("input_size", int64s), Attribute("output_size", int64s)
_ALIGN_CORNERS = Attribute("align_corners", boolean, False)


def _lists(default: tuple[int, ...]) -> tuple[Attribute, ...]:
    return (
        _INPUT_SIZE,
        Attribute("output_size", int64s, default),
        Attribute("scales", reals, default),
    )


UpsampleNearestExact3dGrad = IrOperator(
    name="UpsampleNearestExact3dGrad",
    op="nearest_exact_backward",
    attributes=_lists((0, 0, 0)),
    dtypes=_FLOATS,
    zeros_are_empty=True,
)
UpsampleNearest3dGrad = IrOperator(
    name="UpsampleNearest3dGrad",
    op="nearest_backward",
    attributes=_lists(()),
    dtypes=(*_FLOATS, _FLOAT64, _UINT8),
)
UpsampleTrilinear3dGrad = IrOperator(
    name="UpsampleTrilinear3dGrad",
    op="trilinear_backward",
    attributes=(*_lists(()), _ALIGN_CORNERS),
    dtypes=(*_FLOATS[:2], _FLOAT64),
)
UpsampleTrilinear3dBackward = IrOperator(
    name="UpsampleTrilinear3dBackward",
    op=UpsampleTrilinear3dGrad.op,
    attributes=(
        _OUTPUT_SIZE,
        _INPUT_SIZE,
        _ALIGN_CORNERS,
        *(Attribute(f"scale_{axis}", real, 0.0) for axis in "dhw"),
    ),
    dtypes=_FLOATS,
    scales=("scale_d", "scale_h", "scale_w"),
    inverse=True,
    by_scales=False,
    least_ratio=MIN_SUPPORT_SCALE,
)

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
    name="aclnnUpsampleNearestExact3dBackward",
    ir=(UpsampleNearestExact3dGrad,),
    dtypes=_SINGLES,
    checks=_EXACT,
    tilings=_NEAREST_TILINGS,
    device_cpu=False,
)
NEAREST = Operator(
    name="aclnnUpsampleNearest3dBackward",
    ir=(UpsampleNearest3dGrad,),
    dtypes=_ALL,
    checks=_NEAREST,
    tilings=_NEAREST_TILINGS,
    device_cpu=True,
)
TRILINEAR = Operator(
    name="aclnnUpsampleTrilinear3dBackward",
    ir=(UpsampleTrilinear3dGrad, UpsampleTrilinear3dBackward),
    dtypes=_ALL,
    checks=_TRILINEAR,
    tilings={soc.A2: _trilinear_a2, soc.A3: _trilinear_a2},
    device_cpu=True,
    align_corners=True,
)
TABLE = (EXACT, NEAREST, TRILINEAR)
OPERATORS = {name: row for row in TABLE for name in (row.name, row.op)}
"""The rows, by aclnn's names and by the Plan's."""
