# SPDX-License-Identifier: Apache-2.0
"""The tilings of the nearest gradients and of trilinear's on Atlas A2 and A3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import DTypeLike

from ..spec import arguments
from ..spec.arguments import MOST_SCALE
from ..spec.errors import TilingError
from .tiling_data import NEAREST_WORKSPACE, TRILINEAR_WORKSPACE, MatrixTiling, Pass, ceil_div
from .tiling_given import BLOCK, ITEMSIZES, by_itself, element, given_or, sizes_of, three

SLIDES = ((6.0, 64), (10.0, 48), (24.0, 32), (MOST_SCALE, 16))
"""Nearest on A2 and A3: the largest scale of any axis -> results of a slide."""

SLIDE_SIZE, REACH = 16, np.float32(20)
MIN_SUPPORT_SCALE = float(np.float32(0.02))
"""Trilinear: results of a slide, those whose sources it reads, the least input/output ratio."""

NEAR = float(np.float32(1e-6))
"""Below this, a float32 difference counts as none on A2 and A3."""


@by_itself
def nearest_a2(
    grad_output_shape: Sequence[int],
    input_size: Sequence[int],
    dtype: DTypeLike = "float32",
    scales: Sequence[float] = (0, 0, 0),
    *,
    cores: int = 48,
) -> MatrixTiling:
    """Plan a gradient of nearest or nearest_exact as Atlas A2 and A3 do.

    Parameters
    ----------
    grad_output_shape : sequence of 5 ints
        N, C, D, H, W, each at least 1.
    input_size : sequence of 5 ints
        The attribute N, C, D, H, W, which counts whatever shape grad_input has.
    dtype : dtype-like
        What the kernel is given: float32, float16 or bfloat16; through aclnn always float32.
    scales : sequence of 3 floats
        Output/input of D, H, W; one that is not > 0 leaves its axis to the sizes.
    cores : int
        Cube cores.

    Returns
    -------
    MatrixTiling
        How the cores share the products along W, H and D.

    Raises
    ------
    TilingError
        561002, where the device's tiling refuses: a size below 1, another dtype, or a
        scale or ratio above 50.
    ParameterError, ParameterTypeError
        161002, for what is no shape, scale, dtype or number of cores at all.

    Notes
    -----
    Source: the tiling of UpsampleNearestExact3dGrad and UpsampleNearest3dGrad in ops-cv.
    Arithmetic is float32 where the device's is.
    The cube unit's own tiles, which a closed library chooses, are left out.
    """
    o = sizes_of("grad_output_shape", grad_output_shape)[2:]
    n, c, *i = sizes_of("input_size", input_size)
    given = three("scales", scales)
    real = given_or(given, o, i)
    if max(real) > MOST_SCALE:
        raise TilingError(f"scales are {real}, wanted at most {MOST_SCALE}")
    slide = next(size for most, size in SLIDES if max(real) <= most)
    batches, columns = (n * c, n * c * o[0], n * c * o[0] * o[1]), (i[1] * i[2], i[2], 0)
    active = [not _near(given[k], 1) if given[k] > 0 else i[k] != o[k] for k in range(3)]
    most = [min(_ceil(np.float32(slide) * np.float32(real[k])) + 5, o[k]) for k in range(3)]
    rows = [(max(b, c), c >= b) for b, c in zip(batches, columns, strict=True)]
    passes = [Pass(i[k], o[k], real[k], active[k], most[k], *rows[k]) for k in range(3)]
    tiling = _matrices(n * c, passes, slide, element(dtype, ITEMSIZES)[1], NEAREST_WORKSPACE, cores)
    # GetNeedCoreNum of upsample_nearest3d_grad's tiling: a slide has slide + 1 bounds on each axis
    # that is resized, and tensorSize is that + slide; tensorSizeMapping is the largest
    # ceil(bounds * scale) of these axes, + slide. (Older versions held all slides of a core.)
    bounds = slide + 1
    reach = max(_ceil(np.float32(bounds) * np.float32(p.scale)) for p in tiling.passes if p.active)
    return replace(tiling, tensor_size=bounds + slide, mapping=reach + slide)


@by_itself
def trilinear_a2(
    grad_output_shape: Sequence[int],
    grad_input_shape: Sequence[int],
    dtype: DTypeLike = "float32",
    inverse_scales: Sequence[float] = (0, 0, 0),
    *,
    align_corners: bool = False,
    cores: int = 48,
) -> MatrixTiling:
    """Plan the gradient of trilinear as Atlas A2 and A3 do.

    Parameters
    ----------
    grad_output_shape : sequence of 5 ints
        N, C, D, H, W, each at least 1.
    grad_input_shape : sequence of 5 ints
        N, C, D, H, W, each at least 1.
    dtype : dtype-like
        What the kernel is given: float32, float16 or bfloat16; through aclnn always float32.
    inverse_scales : sequence of 3 floats
        The attributes scale_d, scale_h, scale_w, input/output; one that is not > 0 leaves its axis
        to the sizes.
    align_corners : bool
        Whether the corner elements' centres coincide.
    cores : int
        Cube cores.

    Returns
    -------
    MatrixTiling
        How the cores share the products along W, H and D.

    Raises
    ------
    TilingError
        561002, where the device's tiling refuses: a size below 1, another dtype, or an
        input/output ratio below 0.02.
    ParameterError, ParameterTypeError
        161002, for what is no shape, scale, dtype or number of cores at all.

    Notes
    -----
    Source: the tiling of UpsampleTrilinear3dBackward in ops-cv.
    Arithmetic is float32 where the device's is.
    The cube unit's own tiles, which a closed library chooses, are left out.
    """
    n, c, *o = sizes_of("grad_output_shape", grad_output_shape)
    i = sizes_of("grad_input_shape", grad_input_shape)[2:]
    align_corners = arguments.boolean("align_corners", align_corners)
    ratios = given_or(three("inverse_scales", inverse_scales), i, o)
    if min(ratios) < MIN_SUPPORT_SCALE:
        raise TilingError(f"input/output ratios are {ratios}, wanted at least {MIN_SUPPORT_SCALE}")
    batches = (n * c, n * c * o[0], n * c * o[0] * o[1])
    passes = []
    for k in range(3):
        scale = 1.0 if i[k] == o[k] else _corners(i[k], o[k]) if align_corners else ratios[k]
        reach = o[k] if _near(scale, 0) else _ceil(REACH / np.float32(scale)) + 4
        active, most = not _near(scale, 1), min(reach, o[k])
        passes.append(Pass(i[k], o[k], scale, active, most, rows=batches[k]))
    _, itemsize = element(dtype, ITEMSIZES)
    return _matrices(n * c, passes, SLIDE_SIZE, itemsize, TRILINEAR_WORKSPACE, cores)


def _matrices(
    batch: int, passes: list[Pass], slide: int, itemsize: int, reserved: int, cores: int
) -> MatrixTiling:
    """The MatrixTiling of passes of D, H, W; if none is active, W is, as a product with ones."""
    cores = arguments.integer("cores", cores, 1)
    if not any(p.active for p in passes):
        passes = [*passes[:2], replace(passes[2], active=True)]
    d, h, w = (p.shared(slide, cores) for p in passes)
    block = BLOCK // itemsize
    inter_w = batch * d.sources * h.sources * w.size if w.active and (h.active or d.active) else 0
    inter_h = batch * d.sources * h.size * w.size if h.active and d.active else 0
    inter_w, inter_h = (ceil_div(size, block) * block for size in (inter_w, inter_h))
    radio = slide * max(d.k, h.k, w.k)
    launched = max(d.cores, h.cores, w.cores)
    elements = inter_w + inter_h + radio * launched
    return MatrixTiling(
        (d, h, w), inter_w, inter_h, radio, launched, elements * itemsize + reserved
    )


def _corners(i: int, o: int) -> float:
    """The distance of sources where corners are aligned; 0 for a single source."""
    return float(np.float32(i - 1) / np.float32(o - 1)) if o > 1 else 0.0


def _near(a: float | np.float32, b: float) -> bool:
    return bool(abs(np.float32(a) - np.float32(b)) < NEAR)


def _ceil(x: np.float32) -> int:
    """The least integer that is not below x by NEAR or more."""
    floor = int(x)
    return floor if _near(x, floor) else floor + 1
