# SPDX-License-Identifier: Apache-2.0
"""Which chip supports which operator of aclnn, and how it would plan a call.

Sources: the operators' definitions and documents in ops-cv, master 6ae8765 of 2026-08-21 (Ascend
950 is with the exact op since 2026-05-12); what the operators' first phases hand to a kernel:
float32 on Atlas A2 and A3 for float16 and bfloat16 too; and for the models' cores the targets of
Ascend's MLIR compiler.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .acl import Sizes
from .checks import Call
from .tiling import nearest_950, nearest_a2, trilinear_a2
from .tiling_data import MatrixTiling, SimtTiling

Tiling = SimtTiling | MatrixTiling


@dataclass(frozen=True, slots=True)
class Chip:
    """What an operator is built for: a family of chips.

    name: in the operators' definitions. product: of which it is a part. models: their names in
    words. spelled: their names, the family's and the product's, as a pattern of small letters
    without "ascend" and spaces. cores: that the operators' own unit tests give it.
    """

    name: str
    product: str
    models: str
    spelled: str
    cores: int


CHIPS = (
    Chip("ascend910b", "Atlas A2", "Ascend910B1 to B4", r"910b([1-4]|2c|4-1)?|(atlas)?a2", 48),
    Chip("ascend910_93", "Atlas A3", "Ascend910_93xx", r"910_93([0-9]{2})?|(atlas)?a3", 48),
    Chip("ascend950", "Ascend 950", "Ascend950PR and DT", r"950((pr|dt)(_95[0-9a-z]+)?)?", 64),
)

MODEL_CORES = {
    **dict.fromkeys(("910b1", "910b2", "910_9381", "910_9382", "910_9391", "910_9392"), 24),
    **dict.fromkeys(("910b3", "910b4", "910_9362", "910_9372"), 20),
}
"""The cube cores of those models of Atlas A2 and A3 whose numbers are published."""


def find(name: str) -> tuple[Chip, int] | None:
    """The chip of a model, family or product in any case, and its cores; None if there is none."""
    short = "".join(name.lower().split()).removeprefix("ascend")
    for chip in CHIPS:
        if re.fullmatch(chip.spelled, short):
            return chip, MODEL_CORES.get(short, chip.cores)
    return None


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
