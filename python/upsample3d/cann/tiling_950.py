# SPDX-License-Identifier: Apache-2.0
"""The tiling of both nearest gradients on Ascend 950."""

from __future__ import annotations

import math
from collections.abc import Sequence

from numpy.typing import DTypeLike

from ..spec import arguments
from ..spec.errors import TilingError
from .tiling_data import SIMT_THREADS, SimtTiling, triple
from .tiling_given import (
    BLOCK,
    ITEMSIZES,
    by_itself,
    dtype_name,
    element,
    given_or,
    sizes_of,
    three,
)

CACHE_LINE = 128
"""Bytes of a cache line."""

UINT32_MAX = 2**32 - 1

NEAREST_950_ITEMSIZES = {**ITEMSIZES, "float64": 8, "uint8": 1}


@by_itself
def nearest_950(
    grad_output_shape: Sequence[int],
    grad_input_shape: Sequence[int],
    dtype: DTypeLike = "float32",
    scales: Sequence[float] = (0, 0, 0),
    *,
    input_size: Sequence[int] = (),
    grad_input_dtype: DTypeLike | None = None,
    cores: int = 64,
    ub_size: int = 262_144,
) -> SimtTiling:
    """Plan a gradient of nearest or nearest_exact as Ascend 950 does.

    Parameters
    ----------
    grad_output_shape : sequence of 5 ints
        N, C, D, H, W, each at least 1.
    grad_input_shape : sequence of 5 ints
        N, C, D, H, W; N and C are grad_output's.
    dtype : dtype-like
        What the kernel is given: float32, float16, bfloat16, float64 or uint8.
    scales : sequence of 3 floats
        Output/input of D, H, W; one that is not > 0 leaves its axis to the sizes.
    input_size : sequence of 5 ints
        The attribute: empty, or with grad_input's D, H, W.
    grad_input_dtype : dtype-like or None
        None is as grad_output's.
    cores : int
        Vector cores.
    ub_size : int
        Bytes of a core's local memory, at least 64.

    Returns
    -------
    SimtTiling
        How the cores share grad_input's elements.

    Raises
    ------
    TilingError
        561002, where the device's tiling refuses: a size below 1, another dtype, two
        dtypes, unequal N or C, or another input_size.
    ParameterError, ParameterTypeError
        161002, for what is no shape, scale, dtype or number of cores at all.

    Notes
    -----
    Source: the tiling of UpsampleNearestExact3dGrad and UpsampleNearest3dGrad for arch35 in ops-cv.
    Arithmetic is float32 where the device's is.
    """
    name, itemsize = element(dtype, NEAREST_950_ITEMSIZES)
    other = name if grad_input_dtype is None else dtype_name("grad_input_dtype", grad_input_dtype)
    if other != name:
        raise TilingError(f"grad_input has dtype {other}, wanted grad_output's {name}")
    n, c, *o = sizes_of("grad_output_shape", grad_output_shape)
    n_i, c_i, *i = sizes_of("grad_input_shape", grad_input_shape)
    if (n_i, c_i) != (n, c):
        raise TilingError(f"grad_input has N, C = {n_i, c_i}, wanted grad_output's {n, c}")
    if arguments.sequence("input_size", input_size, "5 integers, or none", sized=True):
        attribute = sizes_of("input_size", input_size)
        if attribute[2:] != (*i,):
            raise TilingError(f"input_size is {attribute}, wanted grad_input's D, H, W = {i}")
    cores = arguments.integer("cores", cores, 1)
    ub_size = arguments.integer("ub_size", ub_size, 2 * BLOCK)
    real = given_or(three("scales", scales), o, i)
    c_dhw = c * math.prod(i)
    numel, ub_factor = n * c_dhw, 0
    if o == i and real == (1, 1, 1):
        line, block = CACHE_LINE // itemsize, BLOCK // itemsize
        sch_id, total = 0, numel
        launched = max(1, numel // line) if numel <= line * cores else cores
        ub_factor = (ub_size - BLOCK) // (2 * itemsize) // block * block
    else:
        full = cores * SIMT_THREADS
        cuts = ((1, math.prod(i)), (2, c_dhw))
        sch_id, total = next((cut for cut in cuts if cut[1] >= full), (3, numel))
        launched = min(cores, total)
    return SimtTiling(
        sch_id=sch_id,
        cores=launched,
        block_factor=total // launched,
        tail=total % launched,
        ub_factor=ub_factor,
        uint32=sch_id != 0 and max(numel, n * c * math.prod(o)) <= UINT32_MAX,
        len_n=n * c if sch_id == 1 else n,
        len_c=c,
        grad_output_size=triple(o),
        grad_input_size=triple(i),
        scales=real,
    )
