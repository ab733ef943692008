# SPDX-License-Identifier: Apache-2.0
"""The question, checked: every "you asked wrongly" of the Python API is raised here."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import bands, dtypes, layout
from .status import ParameterError, ParameterTypeError, Status

OPS = (
    "nearest_exact_backward",
    "nearest_backward",
    "trilinear_backward",
    "nearest_exact",
    "nearest",
    "trilinear",
)
RULES = ("aclnn", "torch")
Array = np.ndarray[Any, Any]
Scales = tuple[float | None, float | None, float | None]
Three = tuple[int, int, int]

_DTYPE_NAMES = " or ".join(d.name for d in dtypes.DTYPES)

MOST = 2**31 - 1
"""The largest size of an axis, that of the operators."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One up-sampling question. Shapes are N, C, D, H, W in any data format; strides are bytes.

    source: grad_output backward, input forward; result: grad_input or output.
    """

    op: str
    dtype: dtypes.Dtype
    input_shape: layout.Five
    output_shape: layout.Five
    scales: Scales
    align_corners: bool
    rule: str
    data_format: str
    source_strides: layout.Five
    result_strides: layout.Five
    allocation: tuple[layout.Five, layout.Five] | None
    schedule: int | None
    num_threads: int | None

    @property
    def backward(self) -> bool:
        """Whether the source is at the output side."""
        return self.op.endswith("_backward")

    @property
    def source_shape(self) -> layout.Five:
        return self.output_shape if self.backward else self.input_shape

    @property
    def result_shape(self) -> layout.Five:
        return self.input_shape if self.backward else self.output_shape

    @property
    def axes(self) -> list[tuple[int, int, float | None]]:
        """(input size, output size, scale) of D, H, W."""
        return list(zip(self.input_shape[2:], self.output_shape[2:], self.scales, strict=True))

    @property
    def empty(self) -> bool:
        """N = 0 or C = 0: nothing to do."""
        return 0 in self.input_shape


def source_name(op: str) -> str:
    """What the functions call the source of `op`."""
    return "grad_output" if op.endswith("_backward") else "input"


def state(
    op: Any,
    shape: Any,
    dtype: Any,
    input_size: Any = None,
    output_size: Any = None,
    scales: Any = None,
    align_corners: Any = False,
    data_format: Any = "NCDHW",
    rule: Any = "aclnn",
    strides: Any = None,
    out_strides: Any = None,
    schedule: Any = None,
    num_threads: Any = None,
) -> Problem:
    """The Problem that these arguments state, or a ParameterError or ParameterTypeError."""
    op = one_of("op", op, OPS)
    rule = one_of("rule", rule, RULES)
    fmt = one_of("data_format", data_format, tuple(layout.FORMATS))
    source = source_name(op)
    found = dtypes.find(dtype)
    if found is None:
        raise ParameterTypeError(
            f"{source} has dtype {_dtype_text(dtype)}, wanted {_DTYPE_NAMES} in native byte order"
        )
    source_shape = layout.reorder(integers(f"{source}.shape", shape, 5, "5-D"), fmt)
    for name, size in zip("NC", source_shape, strict=False):
        if size < 0:
            raise ParameterError(f"{source}.shape has {name} = {size}, wanted >= 0")
    _positive(f"{source}.shape", source_shape[2:])
    factors = check_scales(scales)
    if not isinstance(align_corners, (bool, np.bool_)):
        raise ParameterTypeError(f"align_corners is {align_corners!r}, wanted a bool")

    if op.endswith("_backward"):
        if input_size is None:
            raise ParameterTypeError(
                "input_size is None, wanted (N, C, D, H, W)", Status.NULL_POINTER
            )
        input_shape = layout.pick(integers("input_size", input_size, 5), (0, 1, 2, 3, 4))
        for k, name in enumerate("NC"):
            if input_shape[k] != source_shape[k]:
                raise ParameterError(
                    f"input_size has {name} = {input_shape[k]}, wanted {source_shape[k]} as "
                    f"{source} of shape {shape} has in {fmt}"
                )
        _positive("input_size", input_shape[2:])
        output_shape = source_shape
        if output_size is not None:
            wanted = integers("output_size", output_size, 3)
            if wanted != source_shape[2:]:
                raise ParameterError(
                    f"output_size is {wanted}, wanted {source_shape[2:]}, "
                    f"the D, H, W of {source} of shape {shape} in {fmt}"
                )
    else:
        input_shape = source_shape
        if input_size is not None and integers("input_size", input_size, 5) != input_shape:
            raise ParameterError(f"input_size is {input_size}, wanted {input_shape}")
        output_shape = input_shape[:2] + _output_size(output_size, factors, input_shape)

    itemsize = found.numpy.itemsize
    for name, sizes in (("the input's shape", input_shape), ("the output's shape", output_shape)):
        if math.prod(max(size, 1) for size in sizes) * itemsize > 2**63 - 1:
            raise ParameterError(f"{name} is {sizes}, wanted fewer than 2^63 bytes")
    given_strides = (
        layout.contiguous(integers("shape", shape, 5), itemsize)
        if strides is None
        else integers("strides", strides, 5)
    )
    source_strides = layout.reorder(given_strides, fmt)
    result_shape = input_shape if op.endswith("_backward") else output_shape
    allocation = None
    if out_strides is None:
        last = layout.channels_last(source_shape, source_strides, itemsize)
        allocation = layout.allocation(result_shape, last, fmt)
        made = layout.contiguous(allocation[0], itemsize)
        result_strides = layout.reorder(layout.pick(made, allocation[1]), fmt)
    else:
        result_strides = layout.reorder(integers("out_strides", out_strides, 5), fmt)
        if layout.overlaps_itself(result_shape, result_strides, itemsize):
            raise ParameterError(
                f"out has strides {out_strides}, which for N, C, D, H, W = {result_shape} "
                "may overlap; wanted each stride to pass the span of the smaller ones"
            )
    return Problem(
        op=op,
        dtype=found,
        input_shape=input_shape,
        output_shape=output_shape,
        scales=factors,
        align_corners=bool(align_corners),
        rule=rule,
        data_format=fmt,
        source_strides=source_strides,
        result_strides=result_strides,
        allocation=allocation,
        schedule=None if schedule is None else _schedule(schedule),
        num_threads=None if num_threads is None else at_least_one("num_threads", num_threads),
    )


def one_of(name: str, given: Any, wanted: tuple[str, ...]) -> str:
    """`given`, which is one of the wanted strings."""
    if not isinstance(given, str):
        raise ParameterTypeError(f"{name} is {given!r}, wanted one of {', '.join(wanted)}")
    if given not in wanted:
        raise ParameterError(f"{name} is {given!r}, wanted one of {', '.join(wanted)}")
    return given


def integers(name: str, given: Any, count: int, wanted: str = "") -> tuple[int, ...]:
    """`given` as a tuple of `count` ints."""
    try:
        numbers = tuple(map(operator.index, given))
    except TypeError:
        raise ParameterTypeError(f"{name} is {given!r}, wanted {count} integers") from None
    if len(numbers) != count:
        raise ParameterError(f"{name} is {numbers}, wanted {wanted or f'{count} integers'}")
    return numbers


def at_least_one(name: str, given: Any) -> int:
    """`given` as an int >= 1."""
    try:
        number = operator.index(given)
    except TypeError:
        raise ParameterTypeError(f"{name} is {given!r}, wanted an integer >= 1") from None
    if number < 1:
        raise ParameterError(f"{name} is {number}, wanted an integer >= 1")
    return number


def check_scales(scales: Any) -> Scales:
    """One scale per axis D, H, W, a number being all three; None, <= 0 and NaN are not given."""
    if scales is None:
        return None, None, None
    if isinstance(scales, (int, float, np.floating, np.integer)):
        scales = (scales,) * 3
    try:
        given = tuple(scales)
    except TypeError:
        raise ParameterTypeError(f"scales is {scales!r}, wanted a number or three") from None
    if isinstance(scales, str) or len(given) != 3:
        raise ParameterError(f"scales is {scales!r}, wanted a number or three (D, H, W)")
    d, h, w = (check_scale(f"scales[{k}]", scale) for k, scale in enumerate(given))
    return d, h, w


def check_scale(name: str, given: Any) -> float | None:
    """A scale that is positive and finite in float32, as is its reciprocal; None if not given."""
    if given is None:
        return None
    if not isinstance(given, (int, float, np.floating, np.integer)):
        raise ParameterTypeError(f"{name} is {given!r}, wanted a number or None")
    try:
        scale = float(given)
    except OverflowError:
        scale = math.inf
    if not scale > 0:
        return None
    with np.errstate(all="ignore"):
        single = np.float32(scale)
        inverse = np.float32(1 / scale)
    if not (0 < single < math.inf and 0 < inverse < math.inf):
        raise ParameterError(f"{name} is {scale!r}, wanted it and its reciprocal finite in float32")
    return scale


def check_array(name: str, array: Any) -> Array:
    """`array`, which is a NumPy array (masks are not looked at, so a masked one is refused)."""
    if array is None:
        raise ParameterTypeError(f"{name} is None, wanted a NumPy array", Status.NULL_POINTER)
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise ParameterTypeError(f"{name} is a {type(array).__name__}, wanted a NumPy array")
    return array


def check_match(
    name: str, given: Any, shape: layout.Five, strides: layout.Five, dtype: np.dtype[Any]
) -> Array:
    """`given`, an array of this shape, dtype and strides (those of axes longer than 1)."""
    array: Array = check_array(name, given)
    if array.dtype != dtype:
        raise ParameterTypeError(f"{name} has dtype {array.dtype.str!r}, wanted {dtype.name}")
    if array.shape != shape:
        raise ParameterError(f"{name} has shape {array.shape}, wanted {shape}")
    for have, want, size in zip(array.strides, strides, shape, strict=True):
        if have != want and size > 1 and 0 not in shape:
            raise ParameterError(f"{name} has strides {array.strides}, wanted {strides}")
    return array


def check_out(
    out: Any, shape: layout.Five, strides: layout.Five, dtype: np.dtype[Any], source: Array
) -> None:
    """Refuses an `out` that cannot take the result: read-only, misaligned, over the source."""
    array = check_match("out", out, shape, strides, dtype)
    if not array.flags.writeable:
        raise ParameterError("out is read-only, wanted a writable array")
    if not array.flags.aligned:
        raise ParameterError(f"out is misaligned, wanted a multiple of {dtype.alignment} bytes")
    if _share(array, source):
        raise ParameterError("out overlaps the source in memory, wanted memory of its own")


def check_workspace(given: Any, size: int, source: Array, out: Array) -> Array:
    """`given` as bytes: writable, contiguous, large enough, apart from source and out."""
    try:
        array: Array = np.frombuffer(given, np.uint8)
    except (TypeError, ValueError, BufferError, AttributeError):
        raise ParameterTypeError(
            f"workspace is {given!r}, wanted a writable contiguous buffer"
        ) from None
    if not array.flags.writeable:
        raise ParameterError("workspace is read-only, wanted a writable buffer")
    if array.nbytes < size:
        raise ParameterError(f"workspace has {array.nbytes} bytes, wanted at least {size}")
    if _share(array, source) or _share(array, out):
        raise ParameterError("workspace overlaps the source or out, wanted memory of its own")
    return array


def checked_schedule(given: int | None, fastest: int) -> int:
    """The SCH_ID to run: the given one, where 0 is right only if a copy is the answer."""
    if given == 0 and fastest != 0:
        raise ParameterError("schedule is 0, a copy, wanted 1, 2 or 3: sizes or windows differ")
    return fastest if given is None else given


def checked_allocation(
    allocation: tuple[layout.Five, layout.Five] | None,
) -> tuple[layout.Five, layout.Five]:
    """How to allocate a result, refused where the plan was made for the strides of a given one."""
    if allocation is None:
        raise ParameterTypeError("out is None, wanted an array of the plan's out_strides")
    return allocation


def _share(a: Array, b: Array) -> bool:
    """Whether two arrays have a byte in common; yes where that is too hard to say."""
    if not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=10_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def axis_bands(
    op: Any, i: Any, o: Any, scale: Any, align_corners: Any, rule: Any, dtype: Any
) -> bands.Band:
    """The Band of one axis, its arguments checked."""
    op, rule = one_of("op", op, OPS), one_of("rule", rule, RULES)
    found = dtypes.find(dtype)
    if found is None:
        raise ParameterTypeError(f"dtype is {_dtype_text(dtype)}, wanted {_DTYPE_NAMES}")
    sizes = at_least_one("i", i), at_least_one("o", o)
    for name, size in zip("io", sizes, strict=True):
        if size > MOST:
            raise ParameterError(f"{name} is {size}, wanted 1 to 2^31 - 1")
    return bands.bands(
        op, *sizes, check_scale("scale", scale), bool(align_corners), rule, found.name
    )


def _positive(name: str, sizes: Sequence[int]) -> None:
    for axis, size in zip("DHW", sizes, strict=True):
        if not 1 <= size <= MOST:
            raise ParameterError(f"{name} has {axis} = {size}, wanted 1 to 2^31 - 1")


def _output_size(output_size: Any, scales: Scales, input_shape: layout.Five) -> Three:
    if output_size is not None:
        d, h, w = integers("output_size", output_size, 3)
        _positive("output_size", (d, h, w))
        return d, h, w
    if None in scales:
        raise ParameterTypeError(
            f"output_size is None and scales are {scales}, wanted a size or three positive scales",
            Status.NULL_POINTER,
        )
    d, h, w = (math.floor(i * s) for i, s in zip(input_shape[2:], scales, strict=True) if s)
    _positive(f"output_size from scales {scales}", (d, h, w))
    return d, h, w


def _schedule(given: Any) -> int:
    try:
        number = operator.index(given)
    except TypeError:
        raise ParameterTypeError(f"schedule is {given!r}, wanted None, 0, 1, 2 or 3") from None
    if number not in (0, 1, 2, 3):
        raise ParameterError(f"schedule is {number}, wanted None, 0, 1, 2 or 3")
    return number


def _dtype_text(dtype: Any) -> str:
    try:
        return repr(np.dtype(dtype).str)
    except TypeError:
        return repr(dtype)
