# SPDX-License-Identifier: Apache-2.0
"""What one thread does at a time: the size of a tile, and the scratch it needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .w_pass import (
    COLUMN_BYTES,
    PICK,
    SAME,
    SUM,
    VECTOR,
    W_COLUMNS,
    W_LANES,
    W_LOOKUP,
    W_NONE,
    Axis,
    Form,
    Memory,
    form_of,
)

TILE_BYTES = 600_000
"""Source bytes of a tile, all slabs of its band; they are re-read for the next d. Measured on an L2
of 1 MB: 250, 400 and 800 KB take 1.2, 1.04 and 1 times as long as 600 for trilinear gradients."""

BLOCK_BYTES = 524_288
"""Reals of a tile's sums along D at most, so that a thread's scratch stays below 1 MiB."""

PACK_BYTES = 800_000
"""Bytes that a tile packs at a time and sums at most, so that they stay in an L2 of 1 MB."""

PACK_ROWS = 8
"""Rows of them at least; all slabs, if D is short enough, for they may be neighbours."""

AHEAD_BYTES = 200_000
"""New source bytes of a tile that are asked for ahead at most; of 16-bit elements any number.
Measured on 32 -> 64: 1.2 (float32) and 1.7 (bfloat16) times as fast; more helps float32 no more."""

ROW_AHEAD = 2048
"""Bytes that the sum of slabs asks for ahead of itself: 1.02 to 1.17 times as fast as without."""

AHEAD_FROM = 14_000_000
"""Sources from this size on are asked for ahead. Less lies in an L3 of 32 MB, where the CPU's own
prefetching keeps pace and asking costs 5 to 12 %."""

GROUP_BYTES = 131_072
"""Reals of the rows that are finished together, so that they, their columns and the sums of those
fit an L2 beside the block."""

STREAM_BYTES = 17_000_000
"""Results from this size on go past the cache: up to 1.9 times as fast for 30 MB of float32. Less
stays in an L3 of 32 MB, where writing is up to twice as fast, most of all with two threads."""

LINE_BYTES = 256
"""The shortest row that does: its first and last lines are written the plain way. Not measured."""

STREAM_RUN = 4096
"""Bytes of rows that are finished before they are written together. Not measured."""


@dataclass(frozen=True, slots=True)
class Tiles:
    """h_runs x w_runs tiles per plane and d, of h_run x w_run results each.

    pick: every result is one source, to be moved. in_place: source rows serve as the block, for D
    has nothing to add. shuffled: elements are looked up byte by byte, where they lie close enough.
    own_rows: H makes rows, even if it has nothing to add. ahead: bytes of new slabs that are asked
    for ahead at most; row_ahead: how far ahead the sum of slabs asks.
    h_piece, w_piece: how many sources of a result's window are summed at a time where the window is
    too long for the scratch, else 0. group: result rows that are finished together. stream: whether
    results go past the cache. pack: slabs that are packed at a time, 0 where sources are read as
    they lie; pack_row, pack_slab: bytes from one of their rows or slabs to the next. tile_bytes:
    what a tile reads and writes at most. scratch: offsets of its parts, and its size (job.h).
    """

    pick: bool
    in_place: bool
    w_form: int
    shuffled: bool
    own_rows: bool
    ahead: int
    row_ahead: int
    group: int
    stream: bool
    pack: int
    pack_row: int
    pack_slab: int
    h_run: int
    h_runs: int
    w_run: int
    w_runs: int
    h_piece: int
    w_piece: int
    tile_bytes: int
    scratch: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Cut:
    """What a tile covers: h_run x w_run results, of at most `rows` rows of `width` source elements.

    line: bytes of a row of results. whole: the windows of its results fit the scratch; else rows
    and width are pieces of them. tile_bytes, group, stream, pack: as in Tiles.
    """

    h_run: int
    w_run: int
    rows: int
    width: int
    line: int
    whole: bool
    tile_bytes: int
    group: int
    stream: bool
    pack: int


def tile(axes: tuple[Axis, Axis, Axis], memory: Memory, realsize: int, pieces: int) -> Tiles:
    """The Tiles of bands d, h, w.

    realsize: bytes that a sum has. pieces: into how many runs of rows a plane is wanted cut at
    least.
    """
    d, h, w = axes
    pick = all(axis.kind != SUM for axis in axes)
    form = form_of(w, memory, realsize, pick)
    cut = _cut(axes, memory, realsize, pieces, form, pick)
    pack, itemsize = cut.pack, memory.itemsize
    source_row = memory.source_row or pack > 0
    narrowest = memory.lanes * int(w.hi.max() if pick else _spans(w, cut.w_run).min())
    short = narrowest < form.window  # than what is read of a row at once
    summed = h.kind == SUM or (h.kind == PICK and cut.group > 1)
    in_place = d.kind != SUM and source_row and itemsize == realsize
    own_rows = ((short and not pack) or not source_row) if pick else (short or summed)
    source_bytes = _bytes(memory, d.sources, h.sources, w.sources)
    ahead = source_bytes if itemsize == 2 else AHEAD_BYTES
    far = source_bytes >= AHEAD_FROM and not pack
    pack_slab = (cut.rows * cut.width * itemsize // 64 + 1 | 1) * 64  # odd, for other cache sets
    slack = form.window if short else 0
    lines = (cut.stream or not memory.result_row) and not (pick and w.kind == SAME)
    if pick:
        columns = int(w.hi.max()) * memory.lanes if own_rows and form.w_form == W_LOOKUP else 0
        parts = [0, 0, 0, 0, (cut.group * columns + slack) * itemsize if columns else 0]
    else:
        parts = _sums(cut, form, memory, realsize, slack, in_place, own_rows)
    if pack:
        parts[4] = pack * pack_slab + form.window * itemsize
    return Tiles(
        pick=pick,
        in_place=in_place,
        w_form=form.w_form,
        shuffled=form.shuffled,
        own_rows=own_rows,
        ahead=ahead if far else 0,
        row_ahead=ROW_AHEAD if far else 0,
        group=cut.group,
        stream=cut.stream,
        pack=pack,
        pack_row=cut.width * itemsize,
        pack_slab=pack_slab,
        h_run=cut.h_run,
        h_runs=-(-len(h.lo) // cut.h_run),
        w_run=cut.w_run,
        w_runs=-(-len(w.lo) // cut.w_run),
        h_piece=0 if cut.whole else cut.rows,
        w_piece=0 if cut.whole else cut.width // memory.lanes,
        tile_bytes=cut.tile_bytes,
        scratch=_offsets([*parts, cut.group * cut.line if lines else 0]),
    )


def _cut(
    axes: tuple[Axis, Axis, Axis],
    memory: Memory,
    realsize: int,
    pieces: int,
    form: Form,
    pick: bool,
) -> _Cut:
    """How the results of a plane are cut: along W only if a row's sums would not fit, then H."""
    d, h, w = axes
    lanes, itemsize = memory.lanes, memory.itemsize
    most = max(1, GROUP_BYTES // (form.group * lanes * realsize))
    slabs = max(1, int((d.hi - d.lo).max()))
    pack = 0 if memory.source_row else _slabs_to_pack(axes, PACK_BYTES // (lanes * itemsize), pick)
    if pack:
        slabs = pack
        most = most if pick else min(most, PACK_BYTES // (slabs * PACK_ROWS * lanes * itemsize))
    w_run = _run(w, most, VECTOR, -(-len(w.lo) // most))
    width, line = _span(w, w_run) * lanes, w_run * lanes * itemsize
    if pack and pick:  # rows are packed from their beginning on, where looking up begins
        width = int(w.hi.max()) * lanes

    large = _bytes(memory, len(d.lo), len(h.lo), len(w.lo)) >= STREAM_BYTES
    in_one_run = memory.result_slab and w_run == len(w.lo)
    stream = memory.result_row and large and (line >= LINE_BYTES or in_one_run)
    group = form.group
    if pick or (stream and form.w_form in (W_NONE, W_LANES)):
        group = max(1, STREAM_RUN // line)

    row_bytes = slabs * width * itemsize
    if pack:
        most_rows = PACK_BYTES // max(1, row_bytes + width * realsize)
    else:
        most_rows = min(TILE_BYTES // max(1, row_bytes), BLOCK_BYTES // max(1, width * realsize))
    fits = width // lanes <= most  # false only where w_run is 1
    h_run = _run(h, most_rows, group, pieces) if fits else 1
    rows = _span(h, h_run)
    tile_bytes = rows * row_bytes + h_run * line
    w_piece = max(1, min(width // lanes, most))
    h_piece = max(1, min(rows, GROUP_BYTES // (w_piece * lanes * realsize)))
    whole = pick or (fits and (h_run > 1 or rows <= h_piece))
    if not whole or rows * row_bytes > PACK_BYTES or (pick and w_run < len(w.lo)):
        pack = 0
    if not whole:
        rows, width = h_piece, w_piece * lanes
    return _Cut(
        h_run, w_run, rows, width, line, whole, tile_bytes, min(group, h_run), stream, pack
    )  # fmt: skip


def _sums(
    cut: _Cut,
    form: Form,
    memory: Memory,
    realsize: int,
    slack: int,
    in_place: bool,
    own_rows: bool,
) -> list[int]:
    """Bytes of the scratch of sums: the block, its rows, their columns, a row's sums, a packed row.

    slack: elements that are read beyond a short row.
    """
    turned, padded = form.w_form == W_COLUMNS, max(cut.width, VECTOR)
    row = cut.w_run * memory.lanes + VECTOR
    return [
        0 if in_place and cut.whole else (cut.rows * cut.width + VECTOR) * realsize,
        (cut.group * padded + slack) * realsize if own_rows or not cut.whole else 0,
        padded * COLUMN_BYTES if turned else 0,
        row * COLUMN_BYTES if turned else 0 if cut.whole else memory.lanes * realsize,
        0 if memory.source_row else cut.width * memory.itemsize,
    ]


def _bytes(memory: Memory, d: int, h: int, w: int) -> int:
    """The size of all planes of d x h x w pixels."""
    return memory.planes * memory.lanes * memory.itemsize * d * h * w


def _slabs_to_pack(axes: tuple[Axis, Axis, Axis], most: int, pick: bool) -> int:
    """How many slabs of the fewest rows and columns are at most so many pixels: a band, or more.

    0 if there is no such number, or if a pick leaves sources out: it reads fewer than packing does.
    """
    d, h, w = axes
    if pick and len(d.lo) * len(h.lo) * len(w.lo) < d.sources * h.sources * w.sources:
        return 0
    columns = int(w.hi.max()) if pick else _span(w, VECTOR)
    fit = most // (PACK_ROWS * max(1, columns))
    return min(d.sources, fit) if columns and fit >= (d.hi - d.lo).max() else 0


def _run(axis: Axis, most: int, step: int, pieces: int = 1) -> int:
    """Results per tile: as many as reach `most` sources or fewer, a multiple of `step` if over it.

    pieces: into how many runs the axis is wanted cut at least, as far as `step` allows.
    """
    results = len(axis.lo)
    runs = max(1, min(pieces, results // step))
    while True:
        run = -(-results // runs)
        if run > step:
            run = -(-run // step) * step
        span = _span(axis, run)
        if span <= most or run == 1:
            return run
        runs = max(runs + 1, runs * span // (2 * max(most, 1)))  # half way, for spans overlap


def _span(axis: Axis, run: int) -> int:
    """The most sources that a tile of `run` results reaches."""
    return max(0, int(_spans(axis, run).max()))


def _spans(axis: Axis, run: int) -> NDArray[np.int64]:
    first = np.arange(0, len(axis.lo), run)
    last = np.minimum(first + run, len(axis.lo)) - 1
    spans: NDArray[np.int64] = axis.hi[last] - axis.lo[first]
    return spans


def _offsets(parts: list[int]) -> tuple[int, ...]:
    """Where parts of these sizes begin, each at a multiple of a cache line, and where they end."""
    offsets = [0]
    for part in parts:
        offsets.append(offsets[-1] + -(-part // 64) * 64)
    return tuple(offsets)
