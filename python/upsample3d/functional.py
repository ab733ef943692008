# SPDX-License-Identifier: Apache-2.0
"""The functions people call: each a cached Plan, run once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .geometry.band import Band
from .geometry.kinds import OPERATIONS
from .kernel import cpu
from .plan import buffers
from .plan.buffers import Array
from .plan.cache import planned
from .plan.plan import Plan
from .plan.schedule import allowed_threads, set_threads
from .spec import arguments, opspec
from .spec.errors import ParameterError, ParameterTypeError
from .spec.types import DataFormat, Element, Number, Op, Rule, Scales, Sizes


def nearest_exact_backward(
    grad_output: NDArray[Element],
    input_size: Sizes,
    scales: Scales = None,
    *,
    output_size: Sizes | None = None,
    data_format: DataFormat = "NCDHW",
    out: NDArray[Element] | None = None,
    rule: Rule = "aclnn",
    schedule: int | None = None,
    num_threads: int | None = None,
) -> NDArray[Element]:
    """The gradient of nearest_exact at its input: each grad_input element is the sum of its window.

    grad_output: (N, C, oD, oH, oW), or (N, oD, oH, oW, C) with data_format="NDHWC"; float32,
    float16, bfloat16 (ml_dtypes) or float64, any strides. input_size: (N, C, iD, iH, iW) whatever
    the data format. scales: output/input per axis D, H, W, or one number for all; None, <= 0 and
    NaN leave an axis to its sizes. output_size: (oD, oH, oW), only checked. out: the array to fill,
    of any strides that do not overlap; it is returned. rule: "aclnn" (windows of
    aclnnUpsampleNearestExact3dBackward) or "torch" (of PyTorch's CPU backward). schedule: SCH_ID 0
    to 3, None for the fastest; the bits are the same. num_threads: at most so many threads.

    Sums are float32 (float64 for float64) along D, then H, then W, and rounded once. N = 0 or C = 0
    gives an empty result. Raises ParameterError (a ValueError) or ParameterTypeError (a TypeError),
    both with a .status, or MemoryError, before anything is written. What a signal's handler raises,
    as KeyboardInterrupt, ends a long call: each element of `out` is then the old or the new one.
    """
    return _run(
        "nearest_exact_backward", grad_output, out, (input_size, output_size, scales),
        (False, data_format, rule), (schedule, num_threads),
    )  # fmt: skip


def nearest_backward(
    grad_output: NDArray[Element],
    input_size: Sizes,
    scales: Scales = None,
    *,
    output_size: Sizes | None = None,
    data_format: DataFormat = "NCDHW",
    out: NDArray[Element] | None = None,
    rule: Rule = "aclnn",
    schedule: int | None = None,
    num_threads: int | None = None,
) -> NDArray[Element]:
    """The gradient of nearest at its input; otherwise as nearest_exact_backward.

    Source of the windows: aclnnUpsampleNearest3dBackward, or PyTorch's upsample_nearest3d_backward.
    """
    return _run(
        "nearest_backward", grad_output, out, (input_size, output_size, scales),
        (False, data_format, rule), (schedule, num_threads),
    )  # fmt: skip


def trilinear_backward(
    grad_output: NDArray[Element],
    input_size: Sizes,
    scales: Scales = None,
    *,
    align_corners: bool = False,
    output_size: Sizes | None = None,
    data_format: DataFormat = "NCDHW",
    out: NDArray[Element] | None = None,
    rule: Rule = "aclnn",
    schedule: int | None = None,
    num_threads: int | None = None,
) -> NDArray[Element]:
    """The gradient of trilinear at its input; otherwise as nearest_exact_backward.

    align_corners: whether the corner voxels' centres coincide; scales then do not matter. An inf or
    NaN reaches the results whose weight for it is not zero. Source of the weights:
    aclnnUpsampleTrilinear3dBackward, or PyTorch's upsample_trilinear3d_backward.
    """
    return _run(
        "trilinear_backward", grad_output, out, (input_size, output_size, scales),
        (align_corners, data_format, rule), (schedule, num_threads),
    )  # fmt: skip


def nearest_exact(
    input: NDArray[Element],
    output_size: Sizes | None = None,
    scales: Scales = None,
    *,
    data_format: DataFormat = "NCDHW",
    out: NDArray[Element] | None = None,
    rule: Rule = "aclnn",
    schedule: int | None = None,
    num_threads: int | None = None,
) -> NDArray[Element]:
    """The input up-sampled (or down-sampled) to output_size: each output takes its nearest input.

    input: (N, C, iD, iH, iW), or (N, iD, iH, iW, C) with data_format="NDHWC". output_size:
    (oD, oH, oW); None with three scales means size * scale on each axis, the integer that it misses
    by rounding alone or else the one below, and at least 1 (rule="torch": PyTorch's plain floor).
    A voxel made of half a voxel or less spans its axis: that scale does not count, and has to be
    None in the gradient. The rest as nearest_exact_backward, of which this is the exact transpose
    under rule="aclnn": not always the operator aclnnUpsampleNearestExact3d, which rounds on its own
    (547 of 16,384 size pairs up to 128 differ). rule="torch" is the map of PyTorch's channels-last
    kernel, from which its other kernel differs for 45 pairs of sizes up to 300, such as 2 to 41.
    Outputs outside every window are 0.

    Elements are moved, bit for bit: the input may also have any other dtype of 1, 2, 4, 8 or 16
    bytes in native order, such as bool, integers and complex64, but no objects and no records.
    """
    return _run(
        "nearest_exact", input, out, (None, output_size, scales),
        (False, data_format, rule), (schedule, num_threads),
    )  # fmt: skip


def nearest(
    input: NDArray[Element],
    output_size: Sizes | None = None,
    scales: Scales = None,
    *,
    data_format: DataFormat = "NCDHW",
    out: NDArray[Element] | None = None,
    rule: Rule = "aclnn",
    schedule: int | None = None,
    num_threads: int | None = None,
) -> NDArray[Element]:
    """The input resampled to output_size by the plain nearest rule; otherwise as nearest_exact."""
    return _run(
        "nearest", input, out, (None, output_size, scales),
        (False, data_format, rule), (schedule, num_threads),
    )  # fmt: skip


def trilinear(
    input: NDArray[Element],
    output_size: Sizes | None = None,
    scales: Scales = None,
    *,
    align_corners: bool = False,
    data_format: DataFormat = "NCDHW",
    out: NDArray[Element] | None = None,
    rule: Rule = "aclnn",
    schedule: int | None = None,
    num_threads: int | None = None,
) -> NDArray[Element]:
    """The input resampled to output_size by trilinear interpolation; arguments as nearest_exact.

    align_corners as in trilinear_backward, of which this is the exact transpose.
    """
    return _run(
        "trilinear", input, out, (None, output_size, scales),
        (align_corners, data_format, rule), (schedule, num_threads),
    )  # fmt: skip


def bands(
    op: Op,
    i: int,
    o: int,
    scale: Number | None = None,
    align_corners: bool = False,
    rule: Rule = "aclnn",
    dtype: DTypeLike = "float32",
) -> Band:
    """The Band of one axis between input size i and output size o, to look at: lo, hi, start, w.

    op: the name of one of the six functions. Result k of that function sums sources lo[k] to hi[k]
    with the weights w[start[k]] to w[start[k + 1]], or with ones where w is None.
    """
    return cpu.in_default_mode(opspec.axis_bands, op, i, o, scale, align_corners, rule, dtype)


def set_num_threads(n: int) -> None:
    """Sets how many threads a call uses at most, in the whole process."""
    set_threads(arguments.integer("n", n, 1))


def get_num_threads() -> int:
    """How many threads a call made here and now may use: 1 in a forked child."""
    return allowed_threads()


def _run(
    op: str,
    source: Array,
    out: Array | None,
    sizes: tuple[Any, Any, Any],
    rules: tuple[bool, str, str],
    limits: tuple[Any, Any],
) -> Array:
    """sizes: input_size, output_size, scales. rules: align_corners, data_format, rule. limits:
    schedule, num_threads."""
    if type(source) is not np.ndarray:
        source = buffers.check_array(OPERATIONS[op].source, source)
    target = place = None
    if out is not None:
        target = buffers.check_array("out", out)
        place = target.shape, target.dtype, target.strides
    input_size, output_size, scales = sizes
    if input_size is not None:
        input_size = arguments.input_size(input_size)
    if output_size is not None:
        output_size = arguments.output_size(output_size)
    if scales is not None:
        scales = cpu.in_default_mode(arguments.scales_of, scales)
    key = (
        allowed_threads(), op, source.shape, source.dtype, input_size, output_size, scales, *rules,
        source.strides, place, *limits,
    )  # fmt: skip
    try:
        plan: Plan = planned(*key)
    except (ParameterError, ParameterTypeError, MemoryError):
        raise
    except Exception:  # what cannot be hashed or compared is no argument: the plain way names it
        plan = planned.__wrapped__(*key)
    result = plan.run(source, target)
    return result if out is None else out
