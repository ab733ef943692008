# SPDX-License-Identifier: Apache-2.0
"""How the work is shared: SCH_ID 0..3 into units, and units among threads.

A unit is one tile at one d of `inner` planes: all planes with SCH_ID 1, the N planes of a channel
with 2, one with 3; 0 is a copy. All give the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..geometry.band import IDENTITY, Band
from ..spec.layout import Layout
from . import machine
from .tiles import Tiles, tile


@dataclass(frozen=True, slots=True)
class Schedule:
    """units of `inner` planes each, planes = inner * groups; see job.h.

    chunk: tiles (units times planes) before the first poll of signals. wakes: whether the call is
    worth waking threads. copy_bytes, copy_unit: of a copy between dense arrays with equal strides
    the size and the bytes per unit, else 0.
    """

    sch_id: int
    inner: int
    groups: int
    units: int
    chunk: int
    threads: int
    wakes: bool
    tiles: Tiles
    copy_bytes: int
    copy_unit: int

    @property
    def workspace_size(self) -> int:
        """Bytes, with the slack for aligning the workspace to a cache line."""
        size = self.tiles.scratch[-1] * self.threads
        return size + 64 if size else 0


def choose(d: Band, h: Band, w: Band) -> int:
    """The fastest SCH_ID on a CPU: 0 if the result is a copy, else 3, one plane per unit."""
    return 0 if d.kind == h.kind == w.kind == IDENTITY else 3


def cut(
    axes: tuple[Band, Band, Band],
    memory: Layout,
    *,
    sch_id: int,
    n: int,
    acc_size: int,
    max_threads: int,
) -> Schedule:
    """The Schedule of bands d, h, w over the planes of a layout.

    n: the samples, N. acc_size: bytes of an accumulator.
    """
    d, h, w = axes
    this = machine.this
    inner = {1: memory.planes, 2: n, 3: 1, 0: 1}[sch_id]
    groups = memory.planes // inner
    voxels = d.sources * h.sources * w.sources + len(d.lo) * len(h.lo) * len(w.lo)
    total = memory.planes * memory.pixel * voxels * memory.itemsize
    threads = max(1, min(max_threads, total // this.thread_bytes))
    pieces = this.units_per_thread * threads // (groups * len(d.lo))
    tiles = tile(axes, memory, acc_size, pieces)
    copy_bytes = memory.dense_bytes if sch_id == 0 else 0
    if copy_bytes:
        units, tile_bytes = -(-copy_bytes // this.copy_unit), this.copy_unit
    else:
        units = groups * len(d.lo) * tiles.tiles_h * tiles.tiles_w
        tile_bytes = max(1, tiles.tile_bytes)
    row = min(w.sources, len(w.lo)) * memory.pixel * memory.itemsize
    fast = copy_bytes or (memory.source_row and memory.result_row and row >= this.slow_row_bytes)
    chunk_bytes = this.chunk_bytes if fast else min(this.chunk_bytes, this.slow_chunk_bytes)
    return Schedule(
        sch_id=sch_id,
        inner=inner,
        groups=groups,
        units=units,
        chunk=max(threads, chunk_bytes * threads // tile_bytes),
        threads=min(threads, units),
        wakes=total >= this.waking_factor * this.thread_bytes,
        tiles=tiles,
        copy_bytes=copy_bytes,
        copy_unit=this.copy_unit if copy_bytes else 0,
    )
