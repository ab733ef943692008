# SPDX-License-Identifier: Apache-2.0
"""Tensors in, tensors out: a Plan with rule="torch", run on memory that PyTorch owns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
import torch

from . import schedule
from .buffers import Array
from .plan import Plan
from .status import ParameterError, ParameterTypeError

Key = tuple[Any, ...]

DTYPES = {
    torch.float32: np.dtype(np.float32),
    torch.float16: np.dtype(np.float16),
    torch.bfloat16: np.dtype(ml_dtypes.bfloat16),
    torch.float64: np.dtype(np.float64),
}
"""The element types that run here."""

_NO_WORKSPACE = np.empty(64, np.uint8)  # a plan that needs none still looks at one

# Unbound, because a subclass may have its own.
_detach, _numpy, _view = torch.Tensor.detach, torch.Tensor.numpy, torch.Tensor.view
_threads = torch.get_num_threads
_new = torch.Tensor.new_empty_strided


Ready = tuple[Plan, tuple[int, ...], tuple[int, ...], int, Callable[[torch.Tensor], Array]]
"""A Plan, the size and stride (in elements) of a new result, the workspace's size, and
what makes an array of a tensor."""


def run(
    op: str,
    source: torch.Tensor,
    output_size: Sequence[int],
    input_size: Sequence[int] | None,
    rest: Key,
    strict: bool = False,
    out: torch.Tensor | None = None,
) -> torch.Tensor | None:
    """The result of `op` on a CPU tensor; None, and nothing written, where PyTorch has to answer.

    op: a function's name. source: input, or grad_output, any strides. rest: align_corners for the
    trilinear ops, then up to three scales. strict: the nearest gradients are NCDHW in memory
    whatever the source, as PyTorch's are; else results keep the source's memory format. out: the
    tensor to fill. Runs with at most torch.get_num_threads() threads.
    """
    if out is not None and out.dtype is not source.dtype:
        return None
    ready = _prepare(
        op, source.dtype, source.shape, source.stride(), tuple(output_size),
        None if input_size is None else tuple(input_size), rest, strict,
        None if out is None else (out.shape, out.stride()),
        _threads(), schedule.allowed_threads(),
    )  # fmt: skip
    if ready is None:
        return None
    plan, size, stride, workspace_size, array = ready
    workspace = np.empty(workspace_size, np.uint8) if workspace_size else _NO_WORKSPACE
    if source.requires_grad:
        source = _detach(source)
    if out is None:
        out = _new(source, size, stride)
        plan.fill(array(source), array(out), workspace)
        return out
    try:
        plan(array(source), array(_detach(out)), workspace)
    except (ParameterError, ParameterTypeError):  # memory that overlaps, for example
        return None
    return out


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


def _bits(tensor: torch.Tensor) -> Array:
    """A bfloat16 tensor's memory as an array, which PyTorch does not give away as such."""
    array: Array = _numpy(_view(tensor, torch.int16)).view(ml_dtypes.bfloat16)
    return array


# A Plan cannot be kept in plan.py's cache alone: asking it takes as long as a small call's kernel.
@lru_cache(maxsize=256)
def _prepare(
    op: str,
    dtype: torch.dtype,
    shape: tuple[int, ...],
    stride: tuple[int, ...],
    output_size: tuple[int, ...],
    input_size: tuple[int, ...] | None,
    rest: Key,
    strict: bool,
    out: tuple[tuple[int, ...], tuple[int, ...]] | None,
    threads: int,
    allowed: int,
) -> Ready | None:
    """What `run` needs for such arguments, kept; None for what a Plan refuses, and for no elements.

    allowed: what else limits the threads, to tell plans apart.
    """
    size = tuple(shape[:2]) + output_size if input_size is None else input_size
    if dtype not in DTYPES or len(shape) != 5 or len(size) != 5 or 0 in (*shape, *size):
        return None
    align_corners, scales = (rest[0], rest[1:]) if op.startswith("trilinear") else (False, rest)
    last = channels_last(shape, stride) and not (strict and op.startswith("nearest"))
    _, c, d, h, w = size
    made: tuple[int, ...] = (c * d * h * w, d * h * w, h * w, w, 1)
    if last:
        made = (c * d * h * w, 1, c * h * w, c * w, c)
    if out is not None:
        if tuple(out[0]) != size:
            return None
        made = out[1]
    scales = (*scales, None, None, None)[:3]
    if op == "nearest" and shape[1] > 3 and _channels_last_contiguous(shape, stride):
        # Stock has another kernel for these, in which a scale does not count on such axes.
        pairs = zip(shape[2:], output_size, scales, strict=True)
        scales = tuple(None if o in (i, 2 * i) else scale for i, o, scale in pairs)
    item = DTYPES[dtype].itemsize
    try:
        plan = Plan(
            op, shape, DTYPES[dtype], input_size=input_size, output_size=output_size,
            scales=scales, align_corners=align_corners, rule="torch",
            strides=[step * item for step in stride],
            out_strides=[step * item for step in made], num_threads=threads,
        )  # fmt: skip
    except (ParameterError, ParameterTypeError):
        return None
    array = _bits if dtype is torch.bfloat16 else _numpy
    return plan, size, made, plan.workspace_size, array
