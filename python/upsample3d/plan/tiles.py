# SPDX-License-Identifier: Apache-2.0
"""The tiles of a plane: what one thread does at a time, and the scratch it needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..geometry.band import COPY, IDENTITY, SUM, Band
from ..spec.layout import Layout
from . import machine
from .w_pass import (
    COLUMN_BYTES,
    VECTOR,
    W_COLUMNS,
    W_NONE,
    W_PIXELS,
    W_TABLE,
    Form,
    form_of,
)


@dataclass(frozen=True, slots=True)
class Tiles:
    """tiles_h x tiles_w tiles per plane and d, of tile_h x tile_w results each; see job.h.

    copy: every result is a copy of one source. form: how W runs. skip_d: D adds nothing, source
    rows serve as the block. h_writes: H sums, or chooses rows that are read together. pad_row: rows
    go to scratch before W. prefetch_bytes: new slabs' bytes to prefetch at most; prefetch_distance:
    bytes that the sum of slabs prefetches ahead. rows_together: result rows finished together.
    stream: results bypass the cache. pack: slabs packed at a time, 0 if sources are read as they
    are; pack_row, pack_slab: bytes from one packed row or slab to the next. h_split, w_split:
    sources summed at a time if a result's window is too long for the scratch, else 0. tile_bytes:
    bytes that a tile reads and writes at most. scratch: offsets of its parts, and its size.
    """

    copy: bool
    form: Form
    skip_d: bool
    h_writes: bool
    pad_row: bool
    prefetch_bytes: int
    prefetch_distance: int
    rows_together: int
    stream: bool
    pack: int
    pack_row: int
    pack_slab: int
    tile_h: int
    tiles_h: int
    tile_w: int
    tiles_w: int
    h_split: int
    w_split: int
    tile_bytes: int
    scratch: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Cut:
    """A tile's size: tile_h x tile_w results, of at most `rows` rows of `width` source elements.

    line: bytes of a row of results. whole: the windows of its results fit the scratch; else rows
    and width are parts of them. tile_bytes, rows_together, stream, pack: as in Tiles.
    """

    tile_h: int
    tile_w: int
    rows: int
    width: int
    line: int
    whole: bool
    tile_bytes: int
    rows_together: int
    stream: bool
    pack: int


def tile(axes: tuple[Band, Band, Band], memory: Layout, acc_size: int, pieces: int) -> Tiles:
    """The Tiles of bands d, h, w.

    acc_size: bytes of an accumulator. pieces: tiles wanted along H at least.
    """
    d, h, w = axes
    copy = all(axis.kind != SUM for axis in axes)
    form = form_of(w, memory, acc_size, copy)
    cut = _cut(axes, memory, acc_size, pieces, form, copy)
    pack, itemsize, pixel = cut.pack, memory.itemsize, memory.pixel
    source_row = memory.source_row or pack > 0
    narrowest = pixel * int(w.hi.max() if copy else _spans(w, cut.tile_w).min())
    short = narrowest < form.window
    h_writes = not copy and (h.kind == SUM or (h.kind == COPY and cut.rows_together > 1))
    pad_row = (short and not pack) or not source_row if copy else short
    skip_d = d.kind != SUM and source_row and itemsize == acc_size
    source_bytes = _bytes(memory, d.sources, h.sources, w.sources)
    prefetches = source_bytes >= machine.this.prefetch_from and not pack
    prefetch_bytes = source_bytes if itemsize == 2 else machine.this.prefetch_bytes
    pack_slab = (cut.rows * cut.width * itemsize // 64 + 1 | 1) * 64  # odd: other cache sets
    slack = form.window if short else 0
    lines = (cut.stream or not memory.result_row) and not (copy and w.kind == IDENTITY)
    if copy:
        columns = int(w.hi.max()) * pixel if pad_row and form.w_form == W_TABLE else 0
        packed = (cut.rows_together * columns + slack) * itemsize if columns else 0
        parts = [0, 0, 0, 0, packed]
    else:
        parts = _sums(cut, form, memory, acc_size, slack, skip_d, h_writes or pad_row)
    if pack:
        parts[4] = pack * pack_slab + form.window * itemsize
    return Tiles(
        copy=copy,
        form=form,
        skip_d=skip_d,
        h_writes=h_writes,
        pad_row=pad_row,
        prefetch_bytes=prefetch_bytes if prefetches else 0,
        prefetch_distance=machine.this.prefetch_distance if prefetches else 0,
        rows_together=cut.rows_together,
        stream=cut.stream,
        pack=pack,
        pack_row=cut.width * itemsize,
        pack_slab=pack_slab,
        tile_h=cut.tile_h,
        tiles_h=-(-len(h.lo) // cut.tile_h),
        tile_w=cut.tile_w,
        tiles_w=-(-len(w.lo) // cut.tile_w),
        h_split=0 if cut.whole else cut.rows,
        w_split=0 if cut.whole else cut.width // pixel,
        tile_bytes=cut.tile_bytes,
        scratch=_offsets([*parts, cut.rows_together * cut.line if lines else 0]),
    )


def _cut(
    axes: tuple[Band, Band, Band],
    memory: Layout,
    acc_size: int,
    pieces: int,
    form: Form,
    copy: bool,
) -> _Cut:
    """Cuts a plane's results: along H, and along W only if a row's sums would not fit."""
    d, h, w = axes
    this, pixel, itemsize = machine.this, memory.pixel, memory.itemsize
    row_limit = max(1, this.group_bytes // (form.rows_together * pixel * acc_size))
    slabs = max(1, int((d.hi - d.lo).max()))
    pack_limit = this.pack_bytes // (pixel * itemsize)
    pack = 0 if memory.source_row else _slabs_to_pack(axes, pack_limit, copy)
    if pack:
        slabs = pack
        row_limit = row_limit if copy else min(row_limit, pack_limit // (slabs * this.pack_rows))
    tile_w = _length(w, row_limit, VECTOR, -(-len(w.lo) // row_limit))
    width, line = _span(w, tile_w) * pixel, tile_w * pixel * itemsize
    if pack and copy:  # a table counts from source 0
        width = int(w.hi.max()) * pixel

    large = _bytes(memory, len(d.lo), len(h.lo), len(w.lo)) >= this.stream_bytes
    in_one_run = memory.result_slab and tile_w == len(w.lo)
    stream = memory.result_row and large and (line >= this.stream_row_bytes or in_one_run)
    together = form.rows_together
    if copy or (stream and form.w_form in (W_NONE, W_PIXELS)):
        together = max(1, this.stream_together_bytes // line)

    row_bytes, sum_bytes = slabs * width * itemsize, width * acc_size
    if pack:
        rows_limit = this.pack_bytes // max(1, row_bytes + sum_bytes)
    else:
        rows_limit = min(
            this.tile_bytes // max(1, row_bytes), this.block_bytes // max(1, sum_bytes)
        )
    fits = width // pixel <= row_limit  # false only if tile_w is 1
    tile_h = _length(h, rows_limit, together, pieces) if fits else 1
    rows = _span(h, tile_h)
    tile_bytes = rows * row_bytes + tile_h * line
    w_split = max(1, min(width // pixel, row_limit))
    h_split = max(1, min(rows, this.group_bytes // (w_split * pixel * acc_size)))
    whole = copy or (fits and (tile_h > 1 or rows <= h_split))
    if not whole or rows * row_bytes > this.pack_bytes or (copy and tile_w < len(w.lo)):
        pack = 0
    if not whole:
        rows, width = h_split, w_split * pixel
    together = min(together, tile_h)
    return _Cut(tile_h, tile_w, rows, width, line, whole, tile_bytes, together, stream, pack)


def _sums(
    cut: _Cut,
    form: Form,
    memory: Layout,
    acc_size: int,
    slack: int,
    skip_d: bool,
    h_rows: bool,
) -> list[int]:
    """Bytes of the scratch of sums: the block, its rows, their columns, a row's sums, a packed row.

    slack: elements read beyond a short row. h_rows: H, or padding, makes rows.
    """
    turned, padded = form.w_form == W_COLUMNS, max(cut.width, VECTOR)
    row = cut.tile_w * memory.pixel + VECTOR
    return [
        0 if skip_d and cut.whole else (cut.rows * cut.width + VECTOR) * acc_size,
        (cut.rows_together * padded + slack) * acc_size if h_rows or not cut.whole else 0,
        padded * COLUMN_BYTES if turned else 0,
        row * COLUMN_BYTES if turned else 0 if cut.whole else memory.pixel * acc_size,
        0 if memory.source_row else cut.width * memory.itemsize,
    ]


def _bytes(memory: Layout, d: int, h: int, w: int) -> int:
    """The size of all planes of d x h x w pixels."""
    return memory.planes * memory.pixel * memory.itemsize * d * h * w


def _slabs_to_pack(axes: tuple[Band, Band, Band], limit: int, copy: bool) -> int:
    """How many slabs of the smallest tile have at most `limit` pixels: those of a band, or more.

    0 if a band's do not fit, or if a copy leaves sources out: it reads fewer than packing does.
    """
    d, h, w = axes
    if copy and len(d.lo) * len(h.lo) * len(w.lo) < d.sources * h.sources * w.sources:
        return 0
    columns = int(w.hi.max()) if copy else _span(w, VECTOR)
    fit = limit // (machine.this.pack_rows * max(1, columns))
    return min(d.sources, fit) if columns and fit >= (d.hi - d.lo).max() else 0


def _length(axis: Band, limit: int, step: int, pieces: int = 1) -> int:
    """Results of a tile along an axis: of at most `limit` sources, a multiple of `step` if longer.

    pieces: tiles wanted at least, as far as `step` allows.
    """
    results = len(axis.lo)
    count = max(1, min(pieces, results // step))
    while True:
        length = -(-results // count)
        if length > step:
            length = -(-length // step) * step
        span = _span(axis, length)
        if span <= limit or length == 1:
            return length
        count = max(count + 1, count * span // (2 * max(limit, 1)))  # half way, for spans overlap


def _span(axis: Band, length: int) -> int:
    """The sources of a tile of `length` results at most."""
    return max(0, int(_spans(axis, length).max()))


def _spans(axis: Band, length: int) -> NDArray[np.int64]:
    first = np.arange(0, len(axis.lo), length)
    last = np.minimum(first + length, len(axis.lo)) - 1
    spans: NDArray[np.int64] = axis.hi[last] - axis.lo[first]
    return spans


def _offsets(parts: list[int]) -> tuple[int, ...]:
    """Where parts of these sizes begin, at multiples of a cache line, and where they end."""
    offsets = [0]
    for part in parts:
        offsets.append(offsets[-1] + -(-part // 64) * 64)
    return tuple(offsets)
