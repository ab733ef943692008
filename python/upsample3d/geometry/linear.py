# SPDX-License-Identifier: Apache-2.0
"""The linear kind, trilinear on three axes: two inputs per output, each with its weight.

Sources: aclnnUpsampleTrilinear3dBackward; PyTorch's CPU kernels in UpSample.h, UpSampleKernel.cpp
and UpSampleMoreKernel.cpp.
"""

from __future__ import annotations

import numpy as np

from .axis import Axis, fused_centres
from .band import Band, identity, weighted


def direct(axis: Axis) -> bool:
    """Whether the rule is one of the axis's own direction: it is the forward op's."""
    return not axis.backward


def band(axis: Axis) -> Band:
    """Output x lies at r; inputs i0 = floor(r) and i0 + 1 have the weights 1 - (r - i0) and r - i0.

    r = s * x with align_corners, s = (i - 1) / (o - 1); else r = max(s * (x + 0.5) - 0.5, 0),
    s = i / o. At the last input the weight is one. A given scale is float32(1 / scale) in the
    operators. torch rounds s * (x + 0.5) - 0.5 once in float32, and floors float32(r) also for
    float64 data.
    """
    i, o, scale, real = axis.i, axis.o, axis.scale, axis.real
    if i == o:
        return identity(i)
    torch = axis.rule != "aclnn"
    x = np.arange(o).astype(real)
    half = real(0.5)
    with np.errstate(all="ignore"):
        if axis.align_corners:
            r = (real(i - 1) / real(o - 1) if o > 1 else real(0)) * x
        else:
            s = real(i) / real(o)
            if scale is not None:
                s = real(1.0 / scale) if torch else real(np.float32(1.0 / scale))
            fused = torch and real is np.float32
            r = fused_centres(x, s) if fused else s * (x + half) - half
            r = np.maximum(r, 0)
        floor = np.floor(r.astype(np.float32) if torch else r)
    i0 = np.minimum(np.fmin(floor, i - 1).astype(np.int64), i - 1)
    w1 = np.clip(r - i0.astype(real), real(0), real(1))
    w0 = real(1) - w1
    last = i0 == i - 1
    w0[last], w1[last] = 1, 0
    return weighted(i0, np.stack([w0, w1], axis=1), i)
