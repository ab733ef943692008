# SPDX-License-Identifier: Apache-2.0
"""The question, judged: every "you asked wrongly" of the Python API is raised here."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any, NoReturn, get_args

import numpy as np

from ..geometry import kinds
from ..geometry.band import Band
from ..geometry.kinds import OPERATIONS, Operation
from ..geometry.sizes import counting_scale, scaled_size
from . import arguments, dtypes, layout
from .arguments import Scales, integers, one_of, text
from .errors import ParameterError, ParameterTypeError, Status
from .question import Question
from .types import Rule

OPS = tuple(OPERATIONS)
RULES: tuple[str, ...] = get_args(Rule)
Allocation = tuple[layout.Five, layout.Five]


@dataclass(frozen=True, slots=True)
class OpSpec:
    """A question, judged. Shapes are N, C, D, H, W in any data format; strides are bytes.

    source: grad_output backward, input forward; result: grad_input or output.
    """

    op: str
    source_shape: layout.Five
    dtype: dtypes.Dtype
    result_shape: layout.Five
    scales: Scales
    align_corners: bool
    data_format: str
    rule: str
    source_strides: layout.Five
    result_strides: layout.Five
    allocation: Allocation | None
    schedule: int | None
    num_threads: int | None

    @property
    def operation(self) -> Operation:
        """The op's kind and direction."""
        return OPERATIONS[self.op]

    @property
    def axes(self) -> list[tuple[int, int, float | None]]:
        """(input size, output size, scale) of D, H, W."""
        source, result = self.source_shape[2:], self.result_shape[2:]
        i, o = (result, source) if self.operation.backward else (source, result)
        return list(zip(i, o, self.scales, strict=True))

    @property
    def empty(self) -> bool:
        """N = 0 or C = 0: nothing to do."""
        return 0 in self.source_shape


def specify(asked: Question) -> OpSpec:
    """The OpSpec that a question, read, comes to; a ParameterError or ParameterTypeError."""
    op, shape, dtype, input_size, output_size, *_ = asked
    scales = asked.scales or (None, None, None)
    about = OPERATIONS[one_of("op", op, OPS)]
    fmt = one_of("data_format", asked.data_format, tuple(layout.FORMATS))
    wanted = arguments.moved_element if about.moves else arguments.element
    element = wanted(f"{about.source}.dtype", dtype)
    rule = asked.rule
    if type(rule) is not str or rule not in kinds.KERNELS:  # which only modules of ours ask for
        rule = one_of("rule", rule, RULES)
    shape = _shape(about.source, shape, fmt)
    source_shape = layout.reorder(shape, fmt)
    if min(source_shape[:2]) < 0:
        raise ParameterError(f"{about.source}.shape is {text(shape)} in {fmt}, wanted N and C >= 0")
    arguments.spatial(f"{about.source}.shape", source_shape[2:])
    if about.backward:
        result_shape = _input_shape(source_shape, input_size, output_size, fmt)
        factors = arguments.counting(scales)
    else:
        _check_input_size(source_shape, input_size)
        result_shape, factors = _output_shape(source_shape, output_size, scales, rule)
    itemsize = element.numpy.itemsize
    for name, sizes in ((f"{about.source}.shape", source_shape), (about.size, result_shape)):
        if math.prod(max(size, 1) for size in sizes) * itemsize > 2**63 - 1:
            raise ParameterError(
                f"{name} makes N, C, D, H, W = {text(sizes)}, wanted fewer than 2^63 bytes"
            )
    strides = asked.strides
    if strides is None:
        strides = layout.contiguous(shape, itemsize)
    source_strides = layout.reorder(arguments.strides("strides", strides, shape), fmt)
    if asked.out is None:
        last = layout.channels_last(source_shape, source_strides, itemsize)
        allocation = layout.allocation(result_shape, last, fmt)
        made = layout.contiguous(allocation[0], itemsize)
        result_strides = layout.reorder(layout.permute(made, allocation[1]), fmt)
    else:
        allocation = None
        result_strides = _out_strides(asked.out, result_shape, element.numpy, fmt)
    return OpSpec(
        op=about.name,
        source_shape=source_shape,
        dtype=element,
        result_shape=result_shape,
        scales=factors,
        align_corners=arguments.boolean("align_corners", asked.align_corners),
        data_format=fmt,
        rule=rule,
        source_strides=source_strides,
        result_strides=result_strides,
        allocation=allocation,
        schedule=arguments.integer_or_none("schedule", asked.schedule, 0, 3),
        num_threads=arguments.integer_or_none("num_threads", asked.num_threads, 1),
    )


def axis_bands(
    op: Any, i: Any, o: Any, scale: Any, align_corners: Any, rule: Any, dtype: Any
) -> Band:
    """The Band of one axis, its arguments checked."""
    return kinds.bands(
        one_of("op", op, OPS),
        arguments.integer("i", i, 1),
        arguments.integer("o", o, 1),
        arguments.scale_of("scale", scale),
        arguments.boolean("align_corners", align_corners),
        one_of("rule", rule, RULES),
        arguments.element("dtype", dtype).name,
    )


def check_memory(asked: OpSpec) -> None:
    """A MemoryError where an axis has more indices than this machine's memory holds a plan for."""
    needed = sum(kinds.planning_bytes(asked.op, i, o, asked.rule) for i, o, _ in set(asked.axes))
    if needed > (memory := _memory()):
        raise MemoryError(
            f"{asked.op} of D, H, W from {asked.source_shape[2:]} to {asked.result_shape[2:]} "
            f"takes {needed} bytes to plan, this machine has {memory}"
        )


def checked_workspace(size: int) -> int:
    """A workspace's size, which is one that memory can have."""
    if size >= 2**63:
        raise MemoryError(f"the workspace takes {size} bytes, more than an address can say")
    return size


def checked_schedule(given: int | None, fastest: int) -> int:
    """The SCH_ID to run: the given one, where 0 is right only if a copy is the answer."""
    if given == 0 and fastest != 0:
        raise ParameterError(
            "schedule is 0, a copy, wanted None, 1, 2 or 3: sizes or windows differ"
        )
    return fastest if given is None else given


def refuse_allocation() -> NoReturn:
    """Refuses to allocate a result where the plan is made for the strides of a given one."""
    raise ParameterTypeError(
        "out is None, wanted an array of the plan's out_strides", Status.NULL_POINTER
    )


def _shape(source: str, given: Any, fmt: str) -> tuple[int, ...]:
    """The source's five sizes in its format."""
    wanted = f"5 axes ({', '.join(fmt)})"
    try:
        missing = 5 - len(given)
    except Exception:
        missing = 0
    if missing == 2:
        own = "[None, None]" if fmt == "NCDHW" else "[None, ..., None]"
        wanted += f"; {source}{own} makes them of one volume (D, H, W)"
    if missing == 1:
        wanted += f"; {source}[None] adds N, the samples"
    return integers(f"{source}.shape", given, 5, wanted)


def _input_shape(source: layout.Five, input_size: Any, output_size: Any, fmt: str) -> layout.Five:
    """input_size, with grad_output's N and C; output_size, if given, has its D, H, W."""
    if input_size is None:
        raise ParameterTypeError(
            "input_size is None, wanted (N, C, D, H, W) of the result", Status.NULL_POINTER
        )
    n, c, d, h, w = input_size
    for axis, have, want in (("N", n, source[0]), ("C", c, source[1])):
        if have != want:
            order = "" if fmt == "NCDHW" else f"; it is N, C, D, H, W in {fmt} too"
            raise ParameterError(
                f"input_size has {axis} = {text(have)}, wanted {text(want)} as grad_output has"
                f"{order}"
            )
    arguments.spatial("input_size", (d, h, w))
    if output_size is not None and output_size != source[2:]:
        raise ParameterError(
            f"output_size is {text(output_size)}, wanted {source[2:]}, the D, H, W of grad_output"
        )
    return n, c, d, h, w


def _check_input_size(source: layout.Five, given: Any) -> None:
    """Refuses an input_size that is not the input's; forward ops need none."""
    if given is not None and given != source:
        raise ParameterError(
            f"input_size is {text(given)}, wanted {text(source)} as input has, or None: the "
            "result's D, H, W are output_size"
        )


def _output_shape(
    source: layout.Five, output_size: Any, scales: Scales, rule: str
) -> tuple[layout.Five, Scales]:
    """The output's shape, and the scales that count.

    It has the input's N and C. D, H, W are output_size, or else follow from the scales.
    """
    factors = arguments.counting(scales)
    if output_size is not None:
        name, (d, h, w) = "output_size", output_size
    elif None in factors:
        missing = ", ".join(axis for axis, s in zip("DHW", factors, strict=True) if s is None)
        given = "None" if scales == (None, None, None) else text(scales)
        raise ParameterTypeError(
            f"output_size is None and scales is {given}, wanted output_size (D, H, W), "
            f"or scales > 0 for {missing}",
            Status.NULL_POINTER,
        )
    else:
        name, axes = f"output_size from scales {factors}", zip(source[2:], factors, strict=True)
        pairs = [(i, s) for i, s in axes if s is not None]
        d, h, w = (scaled_size(i, s, rule) for i, s in pairs)
        in_d, in_h, in_w = (counting_scale(i, s, rule) for i, s in pairs)
        factors = in_d, in_h, in_w
    arguments.spatial(name, (d, h, w))
    return (source[0], source[1], d, h, w), factors


def _out_strides(
    out: tuple[Any, Any, Any], shape: layout.Five, dtype: np.dtype[Any], fmt: str
) -> layout.Five:
    """The strides of an array that takes a result of this shape and dtype."""
    out_shape, out_dtype, out_strides = out
    own = layout.permute(shape, layout.AXES[fmt])
    if out_shape is not None:
        check_fit("out", out_shape, out_dtype, own, dtype)
    strides = layout.reorder(arguments.strides("out_strides", out_strides, own), fmt)
    if layout.overlaps_itself(shape, strides, dtype.itemsize):
        raise ParameterError(
            f"out has strides {text(out_strides)}, which for N, C, D, H, W = {shape} "
            "may overlap; wanted elements of its own, each stride past the span of smaller ones"
        )
    return strides


def check_fit(
    name: str, shape: layout.Five, dtype: np.dtype[Any], wanted: layout.Five, of: np.dtype[Any]
) -> None:
    """Refuses an array of another dtype or shape than `of` and `wanted`."""
    if dtype != of:
        raise ParameterTypeError(
            f"{name} has dtype {arguments.dtype_text(dtype)}, wanted {of.name}"
        )
    if shape != wanted:
        raise ParameterError(f"{name} has shape {shape}, wanted {wanted}")


def _memory() -> float:
    """This machine's bytes; infinity where it does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return math.inf
