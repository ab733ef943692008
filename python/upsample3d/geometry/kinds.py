# SPDX-License-Identifier: Apache-2.0
"""The kinds of interpolation, one row each, and the ops that follow from them: forward, gradient.

A new kind is a file beside this one that makes its Bands, and a row of KINDS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from . import linear, nearest
from .axis import Axis
from .band import Band

Mode = Literal["nearest_exact", "nearest", "trilinear"]
Op = Literal[
    "nearest_exact_backward", "nearest_backward", "trilinear_backward", "nearest_exact", "nearest",
    "trilinear",
]  # fmt: skip

KERNELS = ("torch_fused", "torch_channels_last")
"""Rules of single kernels of PyTorch: what its nearest ops do forward where "torch" is not exactly
it. The general kernel of nearest_exact is built with fused multiply and add; the kernels of
channels-last memory have the gradient's indices. In all else they are "torch"."""

_INDEX_BYTES = 110
"""Memory per index while bands are made: up to 99 measured, where trilinear is turned around."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of interpolation.

    name: of the forward op; the gradient's has _backward behind it. band: makes the Band of an
    Axis, or that of the other direction where `direct` says no. moves: forward, elements are moved
    and not computed with. align_corners: whether the corner voxels' centres may coincide.
    torch_mode, aten: PyTorch's names, in F.interpolate and of the operator. torch_fuses: whether
    its general kernel forward fuses multiply and add, where the machine can.
    """

    name: str
    band: Callable[[Axis], Band]
    direct: Callable[[Axis], bool]
    moves: bool
    align_corners: bool
    torch_mode: str
    aten: str
    torch_fuses: bool = False


KINDS = (
    Kind(
        "nearest_exact", nearest.exact, nearest.direct, moves=True, align_corners=False,
        torch_mode="nearest-exact", aten="_upsample_nearest_exact3d", torch_fuses=True,
    ),
    Kind(
        "nearest", nearest.plain, nearest.direct, moves=True, align_corners=False,
        torch_mode="nearest", aten="upsample_nearest3d",
    ),
    Kind(
        "trilinear", linear.band, linear.direct, moves=False, align_corners=True,
        torch_mode="trilinear", aten="upsample_trilinear3d",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operation:
    """A kind in one direction."""

    kind: Kind
    backward: bool

    @property
    def name(self) -> str:
        """The public function."""
        return self.kind.name + "_backward" * self.backward

    @property
    def adjoint(self) -> str:
        """The public function of the other direction."""
        return self.kind.name + "_backward" * (not self.backward)

    @property
    def source(self) -> str:
        """What the function calls its source."""
        return "grad_output" if self.backward else "input"

    @property
    def size(self) -> str:
        """What the function calls the size of its result."""
        return "input_size" if self.backward else "output_size"

    @property
    def moves(self) -> bool:
        """Whether it takes elements of any type, and computes with none."""
        return self.kind.moves and not self.backward

    @property
    def aten(self) -> str:
        """PyTorch's operator."""
        return self.kind.aten + "_backward" * self.backward

    @property
    def aten_out(self) -> str:
        """What PyTorch calls the overload that fills a tensor, and this tensor."""
        return "grad_input" if self.backward else "out"


OPERATIONS = {
    op.name: op for op in (Operation(kind, back) for back in (True, False) for kind in KINDS)
}
"""By name, the gradients first."""


def bands(
    op: str,
    i: int,
    o: int,
    scale: float | None = None,
    align_corners: bool = False,
    rule: str = "aclnn",
    dtype: str = "float32",
) -> Band:
    """The Band of one axis of `op` between input size i and output size o.

    scale: o/i, or None (also <= 0 or NaN) for the sizes' ratio. rule: see Axis. dtype: of the data.
    Unknown names are the caller's to refuse: here they raise KeyError.
    """
    kind, axis = _axis(op, i, o, scale, align_corners, rule, dtype)
    made = kind.band(axis)
    return made if kind.direct(axis) else made.transposed()


def planning_bytes(op: str, i: int, o: int, rule: str) -> int:
    """The memory that bands() takes at most.

    It is that of the results; of both sides if the Band is transposed.
    """
    kind, axis = _axis(op, i, o, None, False, rule, "float32")
    results = i if axis.backward else o
    return _INDEX_BYTES * (results if kind.direct(axis) else i + o)


def _axis(
    op: str, i: int, o: int, scale: float | None, align_corners: bool, rule: str, dtype: str
) -> tuple[Kind, Axis]:
    about = OPERATIONS[op]
    scale = scale if scale is not None and scale > 0 else None
    real = np.float64 if dtype == "float64" else np.float32
    return about.kind, Axis(i, o, scale, align_corners, rule, real, about.backward)
