# SPDX-License-Identifier: Apache-2.0
"""A volume from its observation at half the resolution, by descent with the exact adjoint."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import upsample3d as up

Array = npt.NDArray[np.float32]


class Observation:
    """The linear model A of a scanner with half the resolution along each axis, and its adjoint.

    A x = trilinear_backward(x) / ratio and A^T y = trilinear(y) / ratio, with `ratio` voxels of x
    for each of A x: 8 where all sizes are even. Along an axis, A takes the mean of four neighbours
    with weights (1, 3, 3, 1) / 8, a triangle-shaped blur, at every second place.

    norm2 is a bound of |A|^2: |A|_1 |A|_inf = max(A 1) / ratio, as rows of up-sampling sum to one.
    It is sharp where all sizes are even: A 1 = 1, and constants are shrunk by the factor 1/8.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = (*shape[:2], *(size // 2 for size in shape[2:]))
        self.ratio = math.prod(shape) / math.prod(self.shape)
        self.down = up.Plan("trilinear_backward", shape, "float32", input_size=self.shape)
        self.up = up.Plan("trilinear", self.shape, "float32", output_size=shape[2:])
        scratch = max(self.down.workspace_size, self.up.workspace_size)
        self.workspace = np.empty(scratch, np.uint8)
        self.norm2 = float(self.observe(np.ones(shape, np.float32)).max()) / self.ratio

    def observe(self, x: Array, out: Array | None = None) -> Array:
        """A x."""
        y: Array = self.down(x, out, self.workspace)
        return np.divide(y, np.float32(self.ratio), out=y)

    def adjoint(self, y: Array, out: Array | None = None) -> Array:
        """A^T y."""
        x: Array = self.up(y, out, self.workspace)
        return np.divide(x, np.float32(self.ratio), out=x)


@dataclass(frozen=True)
class Recovery:
    """What was observed, where descent began and ended, and |A x - y| / |y| along the way."""

    observed: Array
    start: Array
    end: Array
    misfits: tuple[float, ...]


def recover(truth: Array, steps: int, report: Callable[[float], object]) -> Recovery:
    """A volume x >= 0 that explains y = A truth: projected gradient descent on |A x - y|^2 / 2.

    Begins with the plain up-sampled y; steps of 1 / |A|^2, accelerated as in Y. Nesterov, Soviet
    Math. Dokl. 27 (1983): each gradient A^T (A x - y) is taken a little ahead of x, and it is there
    that `report` hears the misfit. The volumes are allocated before the loop, none inside.
    """
    model = Observation(truth.shape)
    y = model.observe(truth)
    start: Array = model.up(y, None, model.workspace)
    x, ahead, following = start.copy(), start.copy(), np.empty_like(start)
    residual, size, misfits = np.empty_like(y), norm(y), []
    for k in range(steps):
        np.subtract(model.observe(ahead, out=residual), y, out=residual)
        misfits.append(norm(residual) / size)
        report(misfits[-1])
        model.adjoint(residual, out=following)
        following *= np.float32(-1 / model.norm2)
        following += ahead
        np.maximum(following, 0, out=following)
        np.subtract(following, x, out=ahead)
        ahead *= np.float32(k / (k + 3))
        ahead += following
        x, following = following, x
    misfits.append(norm(model.observe(x) - y) / size)
    return Recovery(y, start, x, tuple(misfits))


def dot(a: Array, b: Array) -> float:
    """The inner product of two volumes, summed in float64."""
    return float(np.einsum("ncdhw,ncdhw->", a, b, dtype=np.float64))


def norm(a: Array) -> float:
    """The root of the sum of squares."""
    return math.sqrt(dot(a, a))


def psnr(x: Array, truth: Array) -> float:
    """The peak signal-to-noise ratio in dB of a truth that fills 0..1; infinite for a copy."""
    error = norm(x - truth)
    return 20 * math.log10(math.sqrt(truth.size) / error) if error else math.inf
