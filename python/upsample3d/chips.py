# SPDX-License-Identifier: Apache-2.0
"""Which chip supports which operator of aclnn, and how it would plan a call.

Sources: the product tables in the operators' documents, and what their first phases hand to a
kernel: scales where all three are > 0, float32 on Atlas A2 and A3 for every type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from . import layout, tiling
from .cores import MatrixTiling, SimtTiling
from .tiling import TilingError

Sizes = tuple[int, ...]
Tiling = SimtTiling | MatrixTiling

CHIPS = {"ascend910b": 48, "ascend910_93": 48, "ascend950": 64}
"""A chip -> the cores that the operators' own unit tests give it."""


@dataclass(frozen=True, slots=True)
class Question:
    """A call on a chip. input_size: N, C, D, H, W; grad_output_shape: in its format."""

    op: str
    grad_output_shape: Sizes
    input_size: Sizes
    output_size: Sizes
    scales: tuple[float, float, float]
    data_format: str
    dtype: str
    align_corners: bool
    chip: str
    cores: int

    @property
    def source(self) -> Sizes:
        """grad_output's N, C, D, H, W, where the first phase found the sizes in order."""
        return *self.input_size[:2], *self.output_size

    @property
    def grad_input_shape(self) -> Sizes:
        """input_size in the format; as it is where it has not five numbers."""
        if self.data_format == "NDHWC" and len(self.input_size) == 5:
            return layout.pick(self.input_size, layout.AXES["NDHWC"])
        return self.input_size

    @property
    def scales_that_count(self) -> tuple[float, ...]:
        """The scales where all three are > 0, else none."""
        return self.scales if all(scale > 0 for scale in self.scales) else (0.0, 0.0, 0.0)

    @property
    def cast_dtype(self) -> str:
        """The type that the kernels of A2 and A3 are given."""
        return "float32" if self.dtype in tiling.ITEMSIZES else self.dtype


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of aclnn. tilings: a chip that supports it -> how its kernel is planned there.

    device_cpu: whether the device's CPU takes what the kernel refuses. corners: whether the
    operator has alignCorners.
    """

    name: str
    tilings: Mapping[str, Callable[[Question], Tiling]]
    device_cpu: bool
    corners: bool = False


def _nearest_950(asked: Question) -> Tiling:
    if asked.dtype not in tiling.ITEMSIZES:
        raise TilingError(f"dtype is {asked.dtype}, wanted {' or '.join(tiling.ITEMSIZES)}")
    scales = asked.scales_that_count
    return tiling.nearest_950(
        asked.source, asked.input_size, asked.dtype, scales, cores=asked.cores
    )


def _nearest_a2(asked: Question) -> Tiling:
    scales = asked.scales_that_count
    return tiling.nearest_a2(
        asked.source, asked.input_size, asked.cast_dtype, scales, cores=asked.cores
    )


def _trilinear_a2(asked: Question) -> Tiling:
    inverse = [1 / scale if scale else 0.0 for scale in asked.scales_that_count]
    return tiling.trilinear_a2(
        asked.source, asked.input_size, asked.cast_dtype, inverse,
        align_corners=asked.align_corners, cores=asked.cores,
    )  # fmt: skip


_NEAREST = {"ascend910b": _nearest_a2, "ascend910_93": _nearest_a2, "ascend950": _nearest_950}

OPERATORS = {
    "nearest_exact_backward": Operator(
        "aclnnUpsampleNearestExact3dBackward",
        _NEAREST,
        device_cpu=False,
    ),
    "nearest_backward": Operator(
        "aclnnUpsampleNearest3dBackward",
        _NEAREST,
        device_cpu=True,
    ),
    "trilinear_backward": Operator(
        "aclnnUpsampleTrilinear3dBackward",
        {"ascend910b": _trilinear_a2, "ascend910_93": _trilinear_a2},
        device_cpu=True,
        corners=True,
    ),
}
