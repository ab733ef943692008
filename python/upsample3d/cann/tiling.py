# SPDX-License-Identifier: Apache-2.0
"""The device's planning numbers, as pure functions of shapes, type, scales and core count.

To be compared with what an NPU logs, and to see how a call is shared among its cores. Shapes are
(N, C, D, H, W). Arithmetic is float32 where the device's is. What the device's tiling refuses is a
TilingError, 561002; what is no shape, scale or number of cores at all is a ParameterError or a
ParameterTypeError. dtype is anything that np.dtype takes. The fields of the results are told at
cores.SimtTiling (950) and cores.MatrixTiling (A2 and A3).

Sources, in the ops-cv library: the tiling of UpsampleNearestExact3dGrad and UpsampleNearest3dGrad
on Ascend 950 (nearest_950) and on Atlas A2 and A3 (nearest_a2), and of UpsampleTrilinear3dBackward
(trilinear_a2). Called through aclnn, A2 and A3 see float32 for float16 and bfloat16; float64,
where an operator takes it, goes to the device's CPU. Left out are the tiles of the cube unit, which
a closed library chooses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from ..kernel import cpu
from ..spec import arguments, dtypes
from ..spec.arguments import MOST_SCALE
from ..spec.errors import ParameterTypeError, TilingError
from .tiling_data import (
    NEAREST_WORKSPACE,
    SIMT_THREADS,
    TRILINEAR_WORKSPACE,
    MatrixTiling,
    Pass,
    Scales,
    SimtTiling,
    ceil_div,
    triple,
)

_T = TypeVar("_T")
_P = ParamSpec("_P")

CACHE_LINE, BLOCK = 128, 32
"""Bytes of a cache line, and of the unit in which local memory is filled."""

UINT32_MAX = 2**32 - 1

SLIDES = ((6.0, 64), (10.0, 48), (24.0, 32), (MOST_SCALE, 16))
"""Nearest on A2 and A3: the largest scale of any axis -> results of a slide."""

SLIDE_SIZE, REACH = 16, np.float32(20)
MIN_SUPPORT_SCALE = float(np.float32(0.02))
"""Trilinear: results of a slide, those whose sources it reads, the least input/output ratio."""

NEAR = float(np.float32(1e-6))
"""Below this, a float32 difference counts as none on A2 and A3."""

ITEMSIZES = {"float32": 4, "float16": 2, "bfloat16": 2}
NEAREST_950_ITEMSIZES = {**ITEMSIZES, "float64": 8, "uint8": 1}


def _by_itself(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """The function, whatever floating-point mode and NumPy error state its caller is in."""

    @wraps(function)
    def alone(*arguments: _P.args, **named: _P.kwargs) -> _T:
        with np.errstate(all="ignore"):
            return cpu.in_default_mode(partial(function, *arguments, **named))

    return alone


@_by_itself
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
    """The tiling of both nearest gradients on Ascend 950. Raises TilingError.

    scales: output/input; one that is not > 0 leaves its axis to the sizes. input_size: the
    attribute, empty or with grad_input's D, H, W. grad_input_dtype: None is as grad_output's.
    cores: vector cores. ub_size: bytes of a core's local memory, at least 64.
    """
    name, itemsize = _element(dtype, NEAREST_950_ITEMSIZES)
    other = name if grad_input_dtype is None else _name("grad_input_dtype", grad_input_dtype)
    if other != name:
        raise TilingError(f"grad_input has dtype {other}, wanted grad_output's {name}")
    n, c, *o = _sizes("grad_output_shape", grad_output_shape)
    n_i, c_i, *i = _sizes("grad_input_shape", grad_input_shape)
    if (n_i, c_i) != (n, c):
        raise TilingError(f"grad_input has N, C = {n_i, c_i}, wanted grad_output's {n, c}")
    if arguments.sequence("input_size", input_size, "5 integers, or none", sized=True):
        attribute = _sizes("input_size", input_size)
        if attribute[2:] != (*i,):
            raise TilingError(f"input_size is {attribute}, wanted grad_input's D, H, W = {i}")
    cores = arguments.integer("cores", cores, 1)
    ub_size = arguments.integer("ub_size", ub_size, 2 * BLOCK)
    real = _given_or(_three("scales", scales), o, i)
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


@_by_itself
def nearest_a2(
    grad_output_shape: Sequence[int],
    input_size: Sequence[int],
    dtype: DTypeLike = "float32",
    scales: Sequence[float] = (0, 0, 0),
    *,
    cores: int = 48,
) -> MatrixTiling:
    """The tiling of both nearest gradients on Atlas A2 and A3. Raises TilingError.

    input_size: the attribute, which counts whatever shape grad_input has. scales: output/input; one
    that is not > 0 leaves its axis to the sizes. dtype: what the kernel is given, through aclnn
    always float32. cores: cube cores.
    """
    o = _sizes("grad_output_shape", grad_output_shape)[2:]
    n, c, *i = _sizes("input_size", input_size)
    given = _three("scales", scales)
    real = _given_or(given, o, i)
    if max(real) > MOST_SCALE:
        raise TilingError(f"scales are {real}, wanted at most {MOST_SCALE}")
    slide = next(size for most, size in SLIDES if max(real) <= most)
    batches, columns = (n * c, n * c * o[0], n * c * o[0] * o[1]), (i[1] * i[2], i[2], 0)
    passes = [
        Pass(
            size=i[k],
            sources=o[k],
            scale=real[k],
            active=not _near(given[k], 1) if given[k] > 0 else i[k] != o[k],
            k=min(_ceil(np.float32(slide) * np.float32(real[k])) + 5, o[k]),
            rows=max(batches[k], columns[k]),
            columns=columns[k] >= batches[k],
        )
        for k in range(3)
    ]
    tiling = _matrices(
        n * c, passes, slide, _element(dtype, ITEMSIZES)[1], NEAREST_WORKSPACE, cores
    )
    # GetNeedCoreNum of upsample_nearest3d_grad's tiling: a slide has slide + 1 bounds on each axis
    # that is resized, and tensorSize is that + slide; tensorSizeMapping is the largest
    # ceil(bounds * scale) of these axes, + slide. (Older versions held all slides of a core.)
    bounds = slide + 1
    reach = max(_ceil(np.float32(bounds) * np.float32(p.scale)) for p in tiling.passes if p.active)
    return replace(tiling, tensor_size=bounds + slide, mapping=reach + slide)


@_by_itself
def trilinear_a2(
    grad_output_shape: Sequence[int],
    grad_input_shape: Sequence[int],
    dtype: DTypeLike = "float32",
    inverse_scales: Sequence[float] = (0, 0, 0),
    *,
    align_corners: bool = False,
    cores: int = 48,
) -> MatrixTiling:
    """The tiling of trilinear's gradient on Atlas A2 and A3. Raises TilingError.

    inverse_scales: the attributes scale_d, scale_h, scale_w, input/output; one that is not > 0
    leaves its axis to the sizes. dtype: what the kernel is given, through aclnn always float32.
    cores: cube cores.
    """
    n, c, *o = _sizes("grad_output_shape", grad_output_shape)
    i = _sizes("grad_input_shape", grad_input_shape)[2:]
    align_corners = arguments.boolean("align_corners", align_corners)
    ratios = _given_or(_three("inverse_scales", inverse_scales), i, o)
    if min(ratios) < MIN_SUPPORT_SCALE:
        raise TilingError(f"input/output ratios are {ratios}, wanted at least {MIN_SUPPORT_SCALE}")
    batches = (n * c, n * c * o[0], n * c * o[0] * o[1])
    passes = []
    for k in range(3):
        scale = 1.0 if i[k] == o[k] else _corners(i[k], o[k]) if align_corners else ratios[k]
        reach = o[k] if _near(scale, 0) else _ceil(REACH / np.float32(scale)) + 4
        passes.append(
            Pass(
                size=i[k],
                sources=o[k],
                scale=scale,
                active=not _near(scale, 1),
                k=min(reach, o[k]),
                rows=batches[k],
            )
        )
    _, itemsize = _element(dtype, ITEMSIZES)
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


def _given_or(given: Scales, above: Sequence[int], below: Sequence[int]) -> Scales:
    """Each scale that is > 0, else the ratio of the sizes."""
    return triple(
        scale if scale > 0 else float(np.float32(a) / np.float32(b))
        for scale, a, b in zip(given, above, below, strict=True)
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


# ---- Arguments ----


def _name(argument: str, given: Any) -> str:
    """The name of a dtype; of a string that NumPy does not know, its words."""
    try:
        if given is not None:  # which is float64 to NumPy
            return str(dtypes.as_numpy(given).name)
    except MemoryError:
        raise
    except Exception:  # NumPy has several for what is no dtype, and a caller's object its own
        if issubclass(type(given), str):
            return arguments.text(str.__str__(given))
    raise ParameterTypeError(f"{argument} is {arguments.text(given)}, wanted a dtype or its name")


def _sizes(name: str, given: Any) -> tuple[int, ...]:
    sizes = arguments.int64s(name, given, 5, "5 integers (N, C, D, H, W)")
    if min(sizes) < 1:
        raise TilingError(f"{name} is {sizes}, wanted sizes > 0")
    return sizes


def _three(name: str, given: Any) -> Scales:
    three = enumerate(arguments.elements(name, given, 3, "3 numbers", sized=True))
    return triple(float(np.float32(arguments.double(f"{name}[{k}]", n))) for k, n in three)


def _element(given: Any, itemsizes: dict[str, int]) -> tuple[str, int]:
    """(name, itemsize) of a dtype that the tiling takes."""
    name = _name("dtype", given)
    if name not in itemsizes:
        raise TilingError(f"dtype is {name}, wanted {' or '.join(itemsizes)}")
    return name, itemsizes[name]
