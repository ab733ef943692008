# SPDX-License-Identifier: Apache-2.0
"""The nearest kinds: "aclnn" has windows of the gradient, "torch" a map of the forward op.

Sources: aclnnUpsampleNearestExact3dBackward and aclnnUpsampleNearest3dBackward; PyTorch's CPU
kernels in UpSample.h, UpSampleKernel.cpp and UpSampleMoreKernel.cpp, each direction its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .axis import Axis, fused_centres
from .band import Band, copies, identity, unweighted

PLAIN, EXACT = 0.0, 0.5
"""Where in its voxel an index lies: at the edge, or at the centre."""


def direct(axis: Axis) -> bool:
    """Whether the rule is one of the axis's own direction."""
    return axis.backward == (axis.rule == "aclnn")


def plain(axis: Axis) -> Band:
    """The windows, or the map, of nearest."""
    return _windows(axis, PLAIN) if axis.rule == "aclnn" else _map(axis, False)


def exact(axis: Axis) -> Band:
    """The windows, or the map, of nearest_exact."""
    return _windows(axis, EXACT) if axis.rule == "aclnn" else _map(axis, True)


def _windows(axis: Axis, shift: float) -> Band:
    """aclnn: [B(k), B(k+1)), B(k) = min(ceil(float32(k) * s - shift), o), two float32 roundings."""
    i, o, scale = axis.i, axis.o, axis.scale
    with np.errstate(all="ignore"):
        s = np.float32(scale) if scale is not None else np.float32(o) / np.float32(i)
        if i == o and s == 1:
            return identity(i)
        bound = np.ceil(np.arange(i + 1).astype(np.float32) * s - np.float32(shift))
    # Clamped before conversion, in float64 where o is exact; 0 * inf = NaN falls on 0.
    clamped = np.fmax(np.fmin(bound.astype(np.float64), o), 0)
    clamped[np.isnan(bound)] = 0
    edges = clamped.astype(np.int64)
    return unweighted(edges[:-1], edges[1:], o)


def _map(axis: Axis, exact: bool) -> Band:
    """torch: output x takes input min(floor(float32(p)), i - 1).

    p = x * s, exact (x + 0.5) * s, with s = 1 / scale or i / o in float32. single: of the gradients
    and of channels-last memory, where plain nearest knows i == o and o == 2 i. wide: of float64
    elsewhere, where s and p are doubles. fused: exact p = max(s * (x + 0.5) - 0.5, 0) + 0.5 of
    float32 elsewhere, rounded behind each sum.
    """
    i, o, scale = axis.i, axis.o, axis.scale
    single = axis.backward or axis.rule == "torch_channels_last"
    wide, fused = axis.real is np.float64 and not single, axis.rule == "torch_fused"
    x: NDArray[Any] = np.arange(o)
    if single and not exact and (i == o or o == 2 * i):
        return copies(x * i // o, i)
    real: type[Any] = np.float64 if wide else np.float32
    s = real(1.0 / scale) if scale is not None else real(i) / real(o)
    with np.errstate(all="ignore"):
        if not exact:
            p = x.astype(real) * s
        elif wide:
            p = np.maximum((x + 0.5) * s - 0.5, 0) + 0.5
        elif fused and not single:
            p = np.maximum(fused_centres(x, s), 0) + np.float32(0.5)
        else:
            p = (x + 0.5) * np.float64(s)
        position = np.floor(p.astype(np.float32))
    return copies(np.fmin(position, i - 1), i)
