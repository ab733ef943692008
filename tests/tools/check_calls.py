# SPDX-License-Identifier: Apache-2.0
"""Options of `upsample3d check`."""

from __future__ import annotations

GOOD = {
    "--op": "nearest_exact_backward",
    "--grad-output-shape": "1,1,64,64,64",
    "--input-size": "1,1,32,32,32",
    "--soc": "ascend950",
}
OPS = {
    "nearest_exact_backward": "aclnnUpsampleNearestExact3dBackward",
    "nearest_backward": "aclnnUpsampleNearest3dBackward",
    "trilinear_backward": "aclnnUpsampleTrilinear3dBackward",
}
CHIPS = {"ascend910b": "Atlas A2", "ascend910_93": "Atlas A3", "ascend950": "Ascend 950"}
A2, A950 = {"--soc": "ascend910b"}, {"--soc": "ascend950"}
TRILINEAR = {"--op": "trilinear_backward"}
