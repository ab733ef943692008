# SPDX-License-Identifier: Apache-2.0
"""Where the voxels of an up-sampled grid lie among those it came from, and how far grids are apart.

The same for every rule: voxels' edges are aligned, or the corner voxels' centres (align_corners).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .kinds import OPERATIONS

Matrix = NDArray[np.float64]


def placement(
    op: str,
    input_size: Sequence[int],
    output_size: Sequence[int],
    scales: Sequence[float | None] = (None, None, None),
    align_corners: bool = False,
) -> Matrix:
    """4 x 4: an output voxel's indices (d, h, w, 1) -> where among the input's its centre lies.

    Sizes are D, H, W of the forward op, scales output/input where they were given. `op` is any of
    the six: gradients live on the same two grids.
    """
    found = np.eye(4)
    linear = not OPERATIONS[op].kind.moves
    for k, (i, o, scale) in enumerate(zip(input_size, output_size, scales, strict=True)):
        found[k, k], found[k, 3] = _axis(i, o, scale, linear, align_corners and linear)
    return found


def _axis(i: int, o: int, scale: float | None, linear: bool, corners: bool) -> tuple[float, float]:
    """(step, offset): the centre of output x lies at step * x + offset.

    Edges: output voxels are i / o wide, or 1 / scale, and the first begins where input 0 begins,
    half a voxel before its centre. The plain nearest op picks by edges on the very same grid.
    """
    if (linear and i == o) or (corners and o == 1):  # a single corner is input 0, as wide
        return 1.0, 0.0
    if corners and i > 1:
        return (i - 1) / (o - 1), 0.0
    step = 1 / scale if scale is not None and scale > 0 and not corners else i / o
    return step, (step - 1) / 2


def turned(place: Matrix) -> Matrix:
    """The placement with its three axes in reverse order, on both sides."""
    order = [2, 1, 0, 3]
    return place[np.ix_(order, order)]


def edges(affine: Matrix) -> tuple[float, float, float]:
    """The lengths of a voxel's edges, in the unit of the affine."""
    x, y, z = np.linalg.norm(affine[:3, :3], axis=0).tolist()
    return x, y, z


def voxels_apart(a: Matrix, b: Matrix, size: Sequence[int]) -> float:
    """How far two affines of a grid of this size place the same point apart at most, in voxels.

    Along each axis of the voxels, of a's and of b's; the farthest points are corners of the box.
    NaN or infinity where an affine is not finite.
    """
    corners = np.array([[*c, 1] for c in itertools.product(*((-0.5, n - 0.5) for n in size))]).T
    with np.errstate(all="ignore"):
        apart = ((a - b) @ corners)[:3]
        try:
            return max(float(np.abs(np.linalg.pinv(m[:3, :3]) @ apart).max()) for m in (a, b))
        except np.linalg.LinAlgError:  # of no number, as pinv finds out
            return math.inf
