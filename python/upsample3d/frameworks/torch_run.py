# SPDX-License-Identifier: Apache-2.0
"""Tensors in, tensors out: a Plan with the rule of the PyTorch kernel whose place it takes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
import torch

from ..geometry.kinds import OPERATIONS
from ..plan import buffers, machine
from ..plan.cache import admit, kept
from ..plan.plan import Plan
from ..spec.errors import ParameterError, ParameterTypeError
from ..spec.types import Op

DTYPES = {
    torch.float32: np.dtype(np.float32),
    torch.float16: np.dtype(np.float16),
    torch.bfloat16: np.dtype(ml_dtypes.bfloat16),
    torch.float64: np.dtype(np.float64),
}
"""The element types that run here."""


def _empty(size: Sequence[int], stride: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty_strided(size, stride, dtype=dtype, device="cpu")


with suppress(AttributeError):  # PyTorch's own kernels call this one, which takes half the time
    _empty = torch._C._dynamo.guards._empty_strided_cpu

Ready = tuple[Plan, tuple[int, ...], tuple[int, ...], int]
"""A Plan, the size and stride (in elements) of a new result, and the bytes that a source spans."""


def run(
    op: str,
    source: torch.Tensor,
    output_size: Sequence[int],
    input_size: Sequence[int] | None,
    rest: tuple[Any, ...],
    strict: bool = False,
    out: torch.Tensor | None = None,
) -> torch.Tensor | None:
    """The result of `op` on a CPU tensor; None, and nothing written, where PyTorch has to answer.

    op: a function's name. source: input, or grad_output, any strides. rest: align_corners for the
    trilinear ops, then up to three scales. strict: the nearest gradients are NCDHW in memory
    whatever the source, as PyTorch's are; else results keep the source's memory format. out: the
    tensor to fill. Runs with at most torch.get_num_threads() threads.
    """
    source = _plain(source)
    into = None if out is None else _plain(out)
    if into is not None and into.dtype is not source.dtype:
        return None
    ready = _prepare(
        op, (source.dtype, source.shape, source.stride()), tuple(output_size),
        None if input_size is None else tuple(input_size), rest, strict,
        None if into is None else (into.shape, into.stride()),
        (torch.get_num_threads(), machine.allowed_threads()),
    )  # fmt: skip
    if ready is None:
        return None
    plan, size, stride, span = ready
    if not _held(source, span):
        return None
    if into is None:
        out = into = _empty(size, stride, source.dtype)
    elif not _disjoint(source, into):
        return None
    workspace = buffers.empty(plan.workspace_size, np.uint8) if plan.workspace_size else None
    plan.execute(source.data_ptr(), into.data_ptr(), workspace)
    return out


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor without the methods and the __torch_function__ that a subclass may have."""
    if type(tensor) is not torch.Tensor:
        tensor = torch.Tensor.as_subclass(tensor, torch.Tensor)
    return tensor


def _held(tensor: torch.Tensor, span: int) -> bool:
    """Whether a tensor's storage has its bytes, which resize_ may have taken away."""
    begin, size = tensor.storage_offset() * tensor.itemsize, tensor.untyped_storage().nbytes()
    return bool(begin + span <= size)


def _disjoint(source: torch.Tensor, out: torch.Tensor) -> bool:
    """Whether the tensors are disjoint in memory, `out` whole and aligned."""
    (begin, end), (out_begin, out_end) = _byte_extent(source), _byte_extent(out)
    whole = out_begin % out.itemsize == 0 and _held(out, out_end - out_begin)
    return whole and (end <= out_begin or out_end <= begin)


def _byte_extent(tensor: torch.Tensor) -> tuple[int, int]:
    """Where the bytes of a tensor with elements begin and end."""
    begin = tensor.data_ptr()
    return begin, begin + _span(tensor.shape, tensor.stride()) * tensor.itemsize


def _span(shape: Sequence[int], stride: Sequence[int]) -> int:
    """From the first to the last of a tensor's elements, in elements."""
    return 1 + sum((n - 1) * step for n, step in zip(shape, stride, strict=True))


def channels_last(shape: Sequence[int], stride: Sequence[int]) -> bool:
    """Whether PyTorch calls 5-D strides channels_last_3d: c10::is_channels_last_strides_3d."""
    if len(shape) != 5 or stride[1] == 0:
        return False
    least = 0
    for axis in (1, 4, 3, 2, 0):
        if shape[axis] == 0 or stride[axis] < least or (axis == 0 and least == stride[1]):
            return False
        least = stride[axis] * max(shape[axis], 1)
    return True


def _channels_last_contiguous(shape: Sequence[int], stride: Sequence[int]) -> bool:
    """Whether 5-D strides are those of contiguous channels_last_3d memory."""
    step = 1
    for axis in (1, 4, 3, 2, 0):
        if shape[axis] != 1 and stride[axis] != step:
            return False
        step *= shape[axis]
    return True


def memory_format(source: torch.Tensor) -> torch.memory_format:
    """The memory format of a result for `source`, whatever its size: PyTorch's suggestion."""
    last = channels_last(source.shape, source.stride())
    return torch.channels_last_3d if last else torch.contiguous_format


def rule_of(op: str, dtype: torch.dtype, shape: tuple[int, ...], stride: tuple[int, ...]) -> str:
    """The rule of the kernel that PyTorch has for such a 5-D source."""
    about = OPERATIONS[op]
    if about.moves:
        if shape[1] > 3 and _channels_last_contiguous(shape, stride):
            return "torch_channels_last"
        if about.kind.torch_fuses and dtype is not torch.float64 and _fuses():
            return "torch_fused"
    return "torch"


@lru_cache(maxsize=1)
def _fuses() -> bool:
    """Whether PyTorch's kernels are built with fused multiply and add on this machine.

    Of the sizes to which nearest-exact shows it 2 to 41 are the smallest. PyTorch's own kernel
    answers, switched off or on: an `out` without elements is not ours to fill.
    """
    ends = torch.arange(2, dtype=torch.float32, device="cpu").reshape(1, 1, 1, 1, 2)
    out = torch.empty(0, dtype=torch.float32, device="cpu")
    found = torch.ops.aten._upsample_nearest_exact3d.out(ends, [1, 1, 41], out=out)
    return bool(found[0, 0, 0, 0, 20] == 1)


# Kept beside cache.planned's: asking that one takes as long as a small call's kernel.
@kept
def _prepare(
    op: Op,
    source: tuple[torch.dtype, tuple[int, ...], tuple[int, ...]],
    output_size: tuple[int, ...],
    input_size: tuple[int, ...] | None,
    rest: tuple[Any, ...],
    strict: bool,
    out: tuple[tuple[int, ...], tuple[int, ...]] | None,
    threads: tuple[int, int],
) -> Ready | None:
    """What `run` needs for such arguments, kept; None for what a Plan refuses, and for no elements.

    source: dtype, shape, stride. out: shape, stride. threads: how many at most, and what else
    limits them, to tell plans apart.
    """
    (dtype, shape, stride), kind = source, OPERATIONS[op].kind
    size = tuple(shape[:2]) + output_size if input_size is None else input_size
    if dtype not in DTYPES or len(shape) != 5 or len(size) != 5 or 0 in (*shape, *size):
        return None
    align_corners, scales = (rest[0], rest[1:]) if kind.align_corners else (False, rest)
    last = channels_last(shape, stride) and not (strict and kind.moves)
    _, c, d, h, w = size
    made: tuple[int, ...] = (c * d * h * w, d * h * w, h * w, w, 1)
    if last:
        made = (c * d * h * w, 1, c * h * w, c * w, c)
    if out is not None:
        if tuple(out[0]) != size:
            return None
        made = out[1]
    item = DTYPES[dtype].itemsize
    try:
        plan = Plan(
            op, shape, DTYPES[dtype], input_size=input_size, output_size=output_size,
            scales=(*scales, None, None, None)[:3], align_corners=align_corners,
            rule=rule_of(op, dtype, shape, stride),  # type: ignore[arg-type]
            strides=[step * item for step in stride],
            out_strides=[step * item for step in made], num_threads=threads[0],
        )  # fmt: skip
    except (ParameterError, ParameterTypeError):
        return None
    return admit(plan), size, made, _span(shape, stride) * item
