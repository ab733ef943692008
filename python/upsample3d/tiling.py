# SPDX-License-Identifier: Apache-2.0
"""The device's planning numbers, as pure functions of shapes, type, scales and core count."""

from .cann.tiling import nearest_950, nearest_a2, trilinear_a2
from .cann.tiling_data import MatrixTiling, Pass, SimtTiling

__all__ = ["MatrixTiling", "Pass", "SimtTiling", "nearest_950", "nearest_a2", "trilinear_a2"]
