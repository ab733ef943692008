# SPDX-License-Identifier: Apache-2.0
"""Where bytes lie: strides into planes, rows and pixels; what is contiguous; what overlaps.

Shapes and strides are in N, C, D, H, W order here, whatever the data format; strides are in bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Five = tuple[int, int, int, int, int]
Six = tuple[int, int, int, int, int, int]

FORMATS = {"NCDHW": (0, 1, 2, 3, 4), "NDHWC": (0, 4, 1, 2, 3)}
"""A data format -> where N, C, D, H, W stand in it."""

AXES = {"NCDHW": (0, 1, 2, 3, 4), "NDHWC": (0, 2, 3, 4, 1)}
"""A data format -> its axes as places in N, C, D, H, W: the inverse of FORMATS."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The kernel's view of source and result: plane p is (n, c) = divmod(p, channels).

    pixel: elements per index of w: C in channels-last memory (channels is then 1), else 1.
    source, result: byte strides of n, c, d, h, w, element. source_row, result_row: the W * pixel
    elements of a row are contiguous; result_slab: so is a slab of H rows. dense_bytes: the size of
    both if they are dense with equal strides, else 0.
    """

    dtype: int
    itemsize: int
    planes: int
    channels: int
    pixel: int
    source: Six
    result: Six
    source_row: bool
    result_row: bool
    result_slab: bool
    dense_bytes: int


def reorder(numbers: Sequence[int], data_format: str) -> Five:
    """Five numbers of `data_format` in N, C, D, H, W order."""
    return permute(numbers, FORMATS[data_format])


def permute(numbers: Sequence[int], places: Five) -> Five:
    """The numbers at five places, in their order."""
    a, b, c, d, e = (numbers[k] for k in places)
    return a, b, c, d, e


def contiguous(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """The byte strides of a C-contiguous array."""
    strides, step = [], itemsize
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def channels_last(shape: Five, strides: Five, itemsize: int) -> bool:
    """Whether a pixel's channels are neighbours in memory, and pixels do not overlap."""
    c = shape[1]
    return c > 1 and strides[1] == itemsize and (shape[4] == 1 or strides[4] >= c * itemsize)


def allocation(shape: Five, last: bool, data_format: str) -> tuple[Five, Five]:
    """The memory shape of a new result, and the transposition that turns it into `data_format`.

    shape: N, C, D, H, W. last: memory is channels-last, else N, C, D, H, W.
    """
    memory = AXES["NDHWC" if last else "NCDHW"]
    return permute(shape, memory), permute([memory.index(k) for k in range(5)], AXES[data_format])


def overlaps_itself(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    """Whether indices may share bytes: each stride must pass the span of the smaller ones."""
    if 0 in shape:
        return False
    extent = itemsize
    for stride, size in sorted((abs(t), s) for t, s in zip(strides, shape, strict=True) if s > 1):
        if stride < extent:
            return True
        extent += stride * (size - 1)
    return False


def dense(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    """Whether the elements fill memory without gaps, each once, strides positive."""
    step = itemsize
    for stride, size in sorted((t, s) for t, s in zip(strides, shape, strict=True) if s > 1):
        if stride != step:
            return False
        step *= size
    return True


def arrange(
    dtype: int, itemsize: int, source_shape: Five, source: Five, result_shape: Five, result: Five
) -> Layout:
    """The Layout of a source and a result with these strides."""
    n, c, d, h, w = source_shape
    pixel = c if channels_last(source_shape, source, itemsize) else 1
    planes, channels = (n, 1) if pixel > 1 else (n * c, c)
    source6, result6 = _six(source, pixel), _six(result, pixel)
    source_row = _row(w, pixel, source6, itemsize)
    result_row = _row(result_shape[4], pixel, result6, itemsize)
    numel = n * c * d * h * w
    alike = source_shape == result_shape and all(
        a == b for a, b, size in zip(source, result, source_shape, strict=True) if size > 1
    )
    return Layout(
        dtype=dtype,
        itemsize=itemsize,
        planes=planes,
        channels=channels,
        pixel=pixel,
        source=source6,
        result=result6,
        source_row=source_row,
        result_row=result_row,
        result_slab=result_row and result6[3] == result_shape[4] * pixel * itemsize,
        dense_bytes=numel * itemsize if alike and dense(source_shape, source, itemsize) else 0,
    )


def _six(strides: Five, pixel: int) -> Six:
    n, c, d, h, w = strides
    return (n, 0, d, h, w, c) if pixel > 1 else (n, c, d, h, w, 0)


def _row(w: int, pixel: int, strides: Six, itemsize: int) -> bool:
    """Whether w x pixel elements are contiguous."""
    return (pixel == 1 or strides[5] == itemsize) and (w == 1 or strides[4] == pixel * itemsize)
