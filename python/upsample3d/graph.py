# SPDX-License-Identifier: Apache-2.0
from .cann.ir import InferShapeError, KernelNotFoundError, Operator, TilingError
from .cann.ir import __doc__ as __doc__
from .cann.operators import (
    UpsampleNearest3dGrad,
    UpsampleNearestExact3dGrad,
    UpsampleTrilinear3dBackward,
    UpsampleTrilinear3dGrad,
)

__all__ = [
    "InferShapeError",
    "KernelNotFoundError",
    "Operator",
    "TilingError",
    "UpsampleNearest3dGrad",
    "UpsampleNearestExact3dGrad",
    "UpsampleTrilinear3dBackward",
    "UpsampleTrilinear3dGrad",
]
