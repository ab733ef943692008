# SPDX-License-Identifier: Apache-2.0
"""The same six functions, slow and plain, in the kernel's order of summation or in the device's.

For people who check operators. order="ours" is the kernel's order and gives its bits: along D, then
H, then W, each sum starting from its first term. order="device" is the NPU's:

- Ascend 950, gradients of the nearest ops (device="950"): one accumulator per result, which starts
  at +0 and walks d (outer), h, w (inner) of the window. Source: the kernel behind
  aclnnUpsampleNearestExact3dBackward and aclnnUpsampleNearest3dBackward.
- Atlas A2 and A3, the same gradients (device="a2"), and the trilinear ops: along W, then H, then D,
  each sum starting at +0 and taking its terms by ascending source index; an axis that changes
  nothing is left out. Source: the matrix kernels behind those two operators,
  aclnnUpsampleTrilinear3dBackward and aclnnUpsampleTrilinear3d. How their cube unit adds within a
  product is not published: this is the order in which it is fed. Its products with the matrix's
  zeros are left out, so that an inf or NaN stays in its window.

The 950 has no kernel for trilinear's gradient, and the engine that computes it there is not
published. The nearest ops have one term per result, hence no order. Windows and weights are those
of `rule` in every order. The device's kernels never get float64 data; here it takes the same
orders. If no axis changes anything, every order is a copy.
"""

from .gradients import nearest_backward, nearest_exact_backward, trilinear_backward
from .resampling import nearest, nearest_exact, trilinear

__all__ = [
    "nearest",
    "nearest_backward",
    "nearest_exact",
    "nearest_exact_backward",
    "trilinear",
    "trilinear_backward",
]
