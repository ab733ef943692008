# SPDX-License-Identifier: Apache-2.0
"""The device's planning numbers, as pure functions of shapes, type, scales and core count.

To be compared with what an NPU logs, and to see how a call is shared among its cores. Shapes are
(N, C, D, H, W). Arithmetic is float32 where the device's is. What the device's tiling refuses is a
TilingError, 561002; what is no shape, scale or number of cores at all is a ParameterError or a
ParameterTypeError. dtype is anything that np.dtype takes. The fields of the results are told at
SimtTiling (950) and MatrixTiling (A2 and A3).

Sources, in the ops-cv library: the tiling of UpsampleNearestExact3dGrad and UpsampleNearest3dGrad
on Ascend 950 (nearest_950) and on Atlas A2 and A3 (nearest_a2), and of UpsampleTrilinear3dBackward
(trilinear_a2). Called through aclnn, A2 and A3 see float32 for float16 and bfloat16; float64,
where an operator takes it, goes to the device's CPU. Left out are the tiles of the cube unit, which
a closed library chooses.
"""

from .tiling_950 import nearest_950
from .tiling_a2 import nearest_a2, trilinear_a2
from .tiling_data import MatrixTiling, Pass, SimtTiling

__all__ = ["MatrixTiling", "Pass", "SimtTiling", "nearest_950", "nearest_a2", "trilinear_a2"]
