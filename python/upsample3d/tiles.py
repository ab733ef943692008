# SPDX-License-Identifier: Apache-2.0
"""What one thread does at a time: the size of a tile, the form of its W pass, its scratch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

SUM, PICK, SAME = 0, 1, 2
W_NONE, W_LANES, W_COLUMNS = 0, 1, 2
"""How the W pass runs: not at all, along lanes, or over rows turned into columns (job.h)."""

COLUMN_BYTES = 64
"""Rows that are turned into columns together fill one cache line of reals (job.h)."""

VECTOR = 16
"""Lanes of the longest vector: runs of w are multiples of it, and turning columns back may read so
many beyond the last."""

TILE_BYTES = 400_000
"""Source bytes of a tile, all slabs of its band; they are re-read for the next d. Measured on a
2 MB L2: 100, 200 and 400 KB take 1.27, 1.05 and 1 times as long for trilinear 96 -> 192."""

GROUP_BYTES = 262_144
"""Reals of the rows that are finished together. Not measured: they, their columns and the sums of
those fit a 2 MB L2."""

STREAM_BYTES = 8_000_000
"""Results from this size on go past the cache: up to 1.9 times as fast for 30 MB of float32, and
they would not be found in a cache later."""

LINE_BYTES = 256
"""The shortest row that does: its first and last lines are written the plain way. Not measured."""

STREAM_RUN = 4096
"""Bytes of rows that are finished before they are written together. Not measured."""


class Axis(Protocol):
    """What is asked of a band."""

    @property
    def lo(self) -> NDArray[np.int64]: ...
    @property
    def hi(self) -> NDArray[np.int64]: ...
    @property
    def sources(self) -> int: ...
    @property
    def kind(self) -> int: ...


class Memory(Protocol):
    """What is asked of a layout."""

    @property
    def itemsize(self) -> int: ...
    @property
    def planes(self) -> int: ...
    @property
    def lanes(self) -> int: ...
    @property
    def source_row(self) -> bool: ...
    @property
    def result_row(self) -> bool: ...
    @property
    def dense_bytes(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Tiles:
    """h_runs x w_runs tiles per plane and d, of h_run x w_run results each.

    h_piece, w_piece: how many sources of a result's window are summed at a time where the window is
    too long for the scratch, else 0. group: result rows that are finished together. stream: whether
    results go past the cache. tile_bytes: what a tile reads and writes at most. scratch:
    offsets of its parts, and its size (job.h).
    """

    w_form: int
    group: int
    stream: bool
    h_run: int
    h_runs: int
    w_run: int
    w_runs: int
    h_piece: int
    w_piece: int
    tile_bytes: int
    scratch: tuple[int, ...]


def tile(
    axes: tuple[Axis, Axis, Axis], memory: Memory, realsize: int, copy: bool, pieces: int
) -> Tiles:
    """The Tiles of bands d, h, w.

    realsize: bytes that a sum has. copy: nothing is summed. pieces: into how many runs of rows a
    plane is wanted cut at least.
    """
    d, h, w = axes
    lanes, itemsize = memory.lanes, memory.itemsize
    if w.kind == SAME:
        w_form, group = W_NONE, 1
    elif lanes * realsize >= COLUMN_BYTES:
        w_form, group = W_LANES, 1
    else:
        w_form, group = W_COLUMNS, COLUMN_BYTES // realsize
    most = max(1, GROUP_BYTES // (group * lanes * realsize))
    w_run = _run(w, most, VECTOR)
    width, line = _span(w, w_run) * lanes, w_run * lanes * itemsize
    result_bytes = memory.planes * lanes * len(d.lo) * len(h.lo) * len(w.lo) * itemsize
    stream = not copy and memory.result_row and line >= LINE_BYTES and result_bytes >= STREAM_BYTES
    if stream and w_form != W_COLUMNS:
        group = max(1, STREAM_RUN // line)

    row_bytes = max(1, int((d.hi - d.lo).max())) * width * itemsize
    fits = width // lanes <= most  # false only where w_run is 1
    w_piece = max(1, min(width // lanes, most))
    h_run = _run(h, TILE_BYTES // max(1, row_bytes), group, pieces) if fits else 1
    rows, group = _span(h, h_run), min(group, h_run)
    h_piece = max(1, min(rows, GROUP_BYTES // (w_piece * lanes * realsize)))
    whole = copy or (fits and (h_run > 1 or rows <= h_piece))
    if not whole:
        rows, width = h_piece, w_piece * lanes

    turned = w_form == W_COLUMNS
    in_place = whole and d.kind != SUM and memory.source_row and itemsize == realsize
    as_they_are = whole and (h.kind == SAME or (h.kind == PICK and group == 1))
    parts = (
        0 if in_place else rows * width * realsize,
        0 if as_they_are else group * width * realsize,
        width * COLUMN_BYTES if turned else 0,
        (w_run * lanes + VECTOR) * COLUMN_BYTES if turned else w_run * lanes * realsize,
        0 if memory.source_row else width * itemsize,
        group * line if stream or not memory.result_row else 0,
    )
    return Tiles(
        w_form=w_form,
        group=group,
        stream=stream,
        h_run=h_run,
        h_runs=-(-len(h.lo) // h_run),
        w_run=w_run,
        w_runs=-(-len(w.lo) // w_run),
        h_piece=0 if whole else h_piece,
        w_piece=0 if whole else w_piece,
        tile_bytes=_span(h, h_run) * row_bytes + h_run * line,
        scratch=_offsets((0,) * 6 if copy else parts),
    )


def _run(axis: Axis, most: int, step: int, pieces: int = 1) -> int:
    """Results per tile: as many as reach `most` sources or fewer, a multiple of `step` if over it.

    pieces: into how many runs the axis is wanted cut at least, as far as `step` allows.
    """
    results = len(axis.lo)
    run = results
    while run > 1 and (_span(axis, run) > most or (run > step and results < run * pieces)):
        run = -(-run // 2)
        if run > step:
            run = -(-run // step) * step
    return run


def _span(axis: Axis, run: int) -> int:
    """The most sources that a tile of `run` results reaches."""
    first = np.arange(0, len(axis.lo), run)
    last = np.minimum(first + run, len(axis.lo)) - 1
    return max(0, int((axis.hi[last] - axis.lo[first]).max()))


def _offsets(parts: tuple[int, ...]) -> tuple[int, ...]:
    """Where parts of these sizes begin, each at a multiple of a cache line, and where they end."""
    offsets = [0]
    for part in parts:
        offsets.append(offsets[-1] + -(-part // 64) * 64)
    return tuple(offsets)
