# SPDX-License-Identifier: Apache-2.0
from .cann.tiling import __doc__ as __doc__
from .cann.tiling import nearest_950, nearest_a2, trilinear_a2
from .cann.tiling_data import MatrixTiling, Pass, SimtTiling

__all__ = ["MatrixTiling", "Pass", "SimtTiling", "nearest_950", "nearest_a2", "trilinear_a2"]
