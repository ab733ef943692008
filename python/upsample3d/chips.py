# SPDX-License-Identifier: Apache-2.0
"""Which chip supports which operator of aclnn, and how it would plan a call.

Sources: the operators' definitions and documents in ops-cv, master 6ae8765 of 2026-08-21 (Ascend
950 is with the exact op since 2026-05-12); and what the operators' first phases hand to a kernel:
float32 on Atlas A2 and A3 for float16 and bfloat16 too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .acl import Sizes
from .aclnn_checks import Call
from .cores import MatrixTiling, SimtTiling
from .tiling import nearest_950, nearest_a2, trilinear_a2

Tiling = SimtTiling | MatrixTiling

CHIPS = {"ascend910b": 48, "ascend910_93": 48, "ascend950": 64}
"""A chip -> the cores that the operators' own unit tests give it."""


@dataclass(frozen=True, slots=True)
class Kernels:
    """What computes an operator. tilings: a chip that supports it -> its plan on so many cores.

    device_cpu: whether the device's CPU takes what the kernel refuses.
    """

    tilings: Mapping[str, Callable[[Call, int], Tiling]]
    device_cpu: bool


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


_NEAREST = {"ascend910b": _nearest_a2, "ascend910_93": _nearest_a2, "ascend950": _nearest_950}
_TRILINEAR = {"ascend910b": _trilinear_a2, "ascend910_93": _trilinear_a2}

KERNELS = {
    "nearest_exact_backward": Kernels(_NEAREST, device_cpu=False),
    "nearest_backward": Kernels(_NEAREST, device_cpu=True),
    "trilinear_backward": Kernels(_TRILINEAR, device_cpu=True),
}
"""The Plan's op of an operator -> what computes it."""
