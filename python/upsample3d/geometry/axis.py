# SPDX-License-Identifier: Apache-2.0
"""One axis of an op: its two sizes, and what else decides where an index falls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Axis:
    """Sizes are always those of the forward op, `i` at its input and `o` at its output.

    scale: o/i as the user gave it, > 0, or None for the sizes' ratio. rule: "aclnn", "torch" or one
    of single kernels of PyTorch (kinds.KERNELS). real: float64 for the weights of float64 data,
    else float32; nearest windows are float32 for every dtype. backward: the results are on the
    input's side.
    """

    i: int
    o: int
    scale: float | None
    align_corners: bool
    rule: str
    real: type[Any]
    backward: bool


def fused_centres(x: NDArray[Any], s: Any) -> NDArray[np.float32]:
    """s * (x + 0.5) - 0.5 of float32, rounded behind x + 0.5 and once again: PyTorch's with FMA."""
    centres = x.astype(np.float32) + np.float32(0.5)
    return (np.float64(s) * centres.astype(np.float64) - 0.5).astype(np.float32)
