# SPDX-License-Identifier: Apache-2.0
"""What one thread does at a time: the size of a tile, the form of its W pass, its scratch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

SUM, PICK, SAME = 0, 1, 2
W_NONE, W_LANES, W_COLUMNS, W_LOOKUP = 0, 1, 2, 3
"""How the W pass runs: not at all, along lanes, over rows turned into columns, or by looking lanes
up (job.h)."""

MOST_TERMS = 6
"""Terms that are looked up at most."""

MOST_NUMBER = 2**31 - 1
"""The most elements of a row of sources that are looked up: tables have 32 bits (job.h)."""

COLUMN_BYTES = 64
"""Rows that are turned into columns together fill one cache line of reals (job.h)."""

VECTOR_BYTES = 64
"""Bytes of the longest vector."""

VECTOR = VECTOR_BYTES // 4
"""Lanes of it: runs of w are multiples of it, and turning columns back may read so many beyond the
last."""

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


ROWS = 16
"""Rows that are looked up together, so that a table's part is read once for them. Not measured."""


PICKED_WHOLE = 16
"""Bytes of lanes from which on a pick moves them as they are: 4 times as fast as looking up 32."""


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
    @property
    def reached(self) -> int: ...


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
    def result_slab(self) -> bool: ...
    @property
    def dense_bytes(self) -> int: ...


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


def tile(axes: tuple[Axis, Axis, Axis], memory: Memory, realsize: int, pieces: int) -> Tiles:
    """The Tiles of bands d, h, w.

    realsize: bytes that a sum has. pieces: into how many runs of rows a plane is wanted cut at
    least.
    """
    d, h, w = axes
    lanes, itemsize = memory.lanes, memory.itemsize
    pick = d.kind != SUM and h.kind != SUM and w.kind != SUM
    if w.kind == SAME:
        w_form, group = W_NONE, 1
    elif _can_look_up(w, memory, realsize, pick):
        w_form, group = W_LOOKUP, ROWS
    elif lanes * realsize >= COLUMN_BYTES or pick:
        w_form, group = W_LANES, 1
    else:
        w_form, group = W_COLUMNS, COLUMN_BYTES // realsize
    most = max(1, GROUP_BYTES // (group * lanes * realsize))
    slabs = max(1, int((d.hi - d.lo).max()))
    packs = 0 if memory.source_row else _slabs_to_pack(axes, PACK_BYTES // (lanes * itemsize), pick)
    if packs:
        slabs = packs
        most = most if pick else min(most, PACK_BYTES // (slabs * PACK_ROWS * lanes * itemsize))
    w_run = _run(w, most, VECTOR, -(-len(w.lo) // most))
    width, line = _span(w, w_run) * lanes, w_run * lanes * itemsize
    if packs and pick:  # rows are packed from their beginning on, where looking up begins
        width = int(w.hi.max()) * lanes
    plane_bytes = memory.planes * lanes * itemsize
    source_bytes = plane_bytes * d.sources * h.sources * w.sources
    result_bytes = plane_bytes * len(d.lo) * len(h.lo) * len(w.lo)
    large = memory.result_row and result_bytes >= STREAM_BYTES
    in_one_run = memory.result_slab and w_run == len(w.lo)
    stream = large and (line >= LINE_BYTES or in_one_run)
    if pick or (stream and w_form in (W_NONE, W_LANES)):
        group = max(1, STREAM_RUN // line)

    row_bytes = slabs * width * itemsize
    fits = width // lanes <= most  # false only where w_run is 1
    w_piece = max(1, min(width // lanes, most))
    most_rows = min(TILE_BYTES // max(1, row_bytes), BLOCK_BYTES // max(1, width * realsize))
    if packs:
        most_rows = PACK_BYTES // max(1, row_bytes + width * realsize)
    h_run = _run(h, most_rows, group, pieces) if fits else 1
    rows, group = _span(h, h_run), min(group, h_run)
    h_piece = max(1, min(rows, GROUP_BYTES // (w_piece * lanes * realsize)))
    whole = pick or (fits and (h_run > 1 or rows <= h_piece))
    if not whole or rows * row_bytes > PACK_BYTES or (pick and w_run < len(w.lo)):
        packs = 0
    if not whole:
        rows, width = h_piece, w_piece * lanes

    turned, looked_up = w_form == W_COLUMNS, w_form == W_LOOKUP
    shuffled = looked_up and pick and lanes == 1 and itemsize < 4 and w.reached > w.sources
    narrowest = lanes * int(w.hi.max() if pick else _spans(w, w_run).min())
    window = 2 * VECTOR if looked_up else VECTOR if turned else 0
    if shuffled:
        window = max(window, VECTOR_BYTES // itemsize)
    short = narrowest < window  # than what is read of a row at once
    source_row = memory.source_row or packs > 0
    in_place = d.kind != SUM and source_row and itemsize == realsize
    summed = h.kind == SUM or (h.kind == PICK and group > 1)
    own_rows = ((short and not packs) or not source_row) if pick else (short or summed)
    ahead = source_bytes if itemsize == 2 else AHEAD_BYTES
    far = source_bytes >= AHEAD_FROM and not packs
    lines = (stream or not memory.result_row) and not (pick and w.kind == SAME)
    slack, padded = window if short else 0, max(width, VECTOR)
    sums = (
        0 if in_place and whole else (rows * width + VECTOR) * realsize,
        (group * padded + slack) * realsize if own_rows or not whole else 0,
        padded * COLUMN_BYTES if turned else 0,
        (w_run * lanes + VECTOR) * COLUMN_BYTES if turned else 0 if whole else lanes * realsize,
        0 if source_row else width * itemsize,
    )
    packed = (group * int(w.hi.max()) * lanes + slack) * itemsize if own_rows and looked_up else 0
    parts = [*((0, 0, 0, 0, packed) if pick else sums), group * line if lines else 0]
    pack_slab = (rows * width * itemsize // 64 + 1 | 1) * 64  # odd, for other cache sets a slab
    if packs:
        parts[4] = packs * pack_slab + window * itemsize
    return Tiles(
        pick=pick,
        in_place=in_place,
        w_form=w_form,
        shuffled=shuffled,
        own_rows=own_rows,
        ahead=ahead if far else 0,
        row_ahead=ROW_AHEAD if far else 0,
        group=group,
        stream=stream,
        pack=packs,
        pack_row=width * itemsize,
        pack_slab=pack_slab,
        h_run=h_run,
        h_runs=-(-len(h.lo) // h_run),
        w_run=w_run,
        w_runs=-(-len(w.lo) // w_run),
        h_piece=0 if whole else h_piece,
        w_piece=0 if whole else w_piece,
        tile_bytes=_span(h, h_run) * row_bytes + h_run * line,
        scratch=_offsets(parts),
    )


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


def _can_look_up(w: Axis, memory: Memory, realsize: int, pick: bool) -> bool:
    """Whether every vector of results has its sources within two, on every CPU level."""
    lanes, longest = memory.lanes, int((w.hi - w.lo).max(initial=0))
    if w.sources * lanes > MOST_NUMBER:
        return False
    if realsize != 4 or lanes * realsize >= COLUMN_BYTES or not 1 <= longest <= MOST_TERMS:
        return False
    if pick and (memory.itemsize > 4 or lanes * memory.itemsize >= PICKED_WHOLE):
        return False
    lo = w.lo[: w.reached] if pick else w.lo  # a pick clears the others
    n = len(lo) * lanes
    first = np.full(n + VECTOR, lo[-1] * lanes + lanes - 1)  # the last is repeated
    first[:n] = (lo[:, None] * lanes + np.arange(lanes)).ravel()
    for vector in (4, 8, VECTOR):
        vectors = first[: -(-n // vector) * vector].reshape(-1, vector)
        for some in (vectors, first[max(0, n - vector) : n][None]):
            if (some.max(axis=1) - some.min(axis=1)).max() >= 2 * vector:
                return False
    return True


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
