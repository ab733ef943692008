# SPDX-License-Identifier: Apache-2.0
"""How the work is cut: SCH_ID 0..3 into units, tiles and scratch; how many threads share it.

A unit is one tile (a run of h and of w at one d) of `inner` planes. SCH_ID 1 walks all planes in a
unit, 2 the N planes of a channel, 3 one; 0 copies. All give the same bits.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from . import cpu

SUM, PICK, SAME = 0, 1, 2
W_NONE, W_LANES, W_COLUMNS = 0, 1, 2
"""How the W pass runs: not at all, along lanes, or over rows turned into columns (job.h)."""

COLUMN_BYTES = 64
"""Rows that are turned into columns together fill one cache line of reals (job.h)."""

TILE_BYTES = 400_000
"""Source bytes of a tile, all slabs of its band; they are re-read for the next d. Measured on a
2 MB L2: 100, 200 and 400 KB take 1.27, 1.05 and 1 times as long for trilinear 96 -> 192."""

GROUP_BYTES = 262_144
"""Reals of the rows that are finished together. Not measured: they, their columns and the sums of
those fit a 2 MB L2."""

THREAD_BYTES = 262_144
"""Source and result bytes that pay for one more thread."""

STREAM_BYTES = 8_000_000
"""Results from this size on are written past the cache."""

LINE_BYTES = 256
"""The shortest row that is: its first and last lines are written the plain way. Not measured."""

STREAM_RUN = 4096
"""Bytes of rows that are finished before they are written together. Not measured."""

UNITS_PER_THREAD = 4
"""Units that a thread has at least, where they can be had, so that shares come out even."""

COPY_UNIT = 65_536
"""Bytes per unit of a dense copy."""

SLAB_BYTES = 100_000_000
"""Bytes per thread between two looks at pending signals: 0.1 s at 1 GB/s."""


class Axis(Protocol):
    """What a schedule asks of a band."""

    @property
    def lo(self) -> NDArray[np.int64]: ...
    @property
    def hi(self) -> NDArray[np.int64]: ...
    @property
    def sources(self) -> int: ...
    @property
    def kind(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Schedule:
    """A cut of the work. scratch: the offsets of its parts and the size, per thread (job.h)."""

    sch_id: int
    inner: int
    groups: int
    h_run: int
    h_runs: int
    w_run: int
    w_runs: int
    units: int
    slab: int
    threads: int
    w_form: int
    group: int
    stream: bool
    copy_bytes: int
    copy_unit: int
    scratch: tuple[int, int, int, int, int, int, int]

    @property
    def workspace_size(self) -> int:
        """Bytes, with the slack that aligning the workspace to a cache line takes."""
        size = self.scratch[-1] * self.threads
        return size + 64 if size else 0


def choose(d: Axis, h: Axis, w: Axis) -> int:
    """The SCH_ID that is fastest on a CPU: 0 where a copy is right, else 3, one plane per unit."""
    return 0 if d.kind == h.kind == w.kind == SAME else 3


def cut(
    axes: Sequence[Axis],
    *,
    sch_id: int,
    n: int,
    planes: int,
    lanes: int,
    itemsize: int,
    realsize: int,
    source_row: bool,
    result_row: bool,
    dense_bytes: int,
    max_threads: int,
) -> Schedule:
    """The Schedule of bands d, h, w over `planes` planes of `lanes` elements per w."""
    d, h, w = axes
    inner = {1: planes, 2: n, 3: 1, 0: 1}[sch_id]
    groups = planes // inner
    elements = (
        planes * lanes * (d.sources * h.sources * w.sources + len(d.lo) * len(h.lo) * len(w.lo))
    )
    threads = max(1, min(max_threads, elements * itemsize // THREAD_BYTES))
    if sch_id == 0 and dense_bytes:
        units = -(-dense_bytes // COPY_UNIT)
        return Schedule(
            0, 1, 1, 1, 1, 1, 1, units, units, min(threads, units), W_NONE, 1, False,
            dense_bytes, COPY_UNIT, (0,) * 7,
        )  # fmt: skip

    wide = lanes * realsize >= COLUMN_BYTES
    w_form = W_NONE if w.kind == SAME else W_LANES if wide else W_COLUMNS
    group = COLUMN_BYTES // realsize if w_form == W_COLUMNS else 1
    w_run = _run(w, GROUP_BYTES // (group * lanes * realsize), 16)
    width = _span(w, w_run) * lanes
    line = w_run * lanes * itemsize
    result_bytes = planes * lanes * len(d.lo) * len(h.lo) * len(w.lo) * itemsize
    stream = sch_id != 0 and result_row and result_bytes >= STREAM_BYTES and line >= LINE_BYTES
    if stream and w_form != W_COLUMNS:
        group = max(1, STREAM_RUN // line)
    slabs = int((d.hi - d.lo).max())
    rows = TILE_BYTES // max(1, width * slabs * itemsize)
    h_run = _run(h, rows, group, UNITS_PER_THREAD * threads // (groups * len(d.lo)))
    span = _span(h, h_run)
    group = min(group, h_run)
    h_runs, w_runs = -(-len(h.lo) // h_run), -(-len(w.lo) // w_run)
    units = groups * len(d.lo) * h_runs * w_runs
    unit_bytes = inner * span * width * max(slabs, 1) * itemsize

    if sch_id == 0:
        parts = (0, 0, 0, 0, 0, 0)
    else:
        block_stays = d.kind != SUM and source_row and itemsize == realsize
        rows_stay = h.kind == SAME or (h.kind == PICK and group == 1)
        result_width = w_run * lanes
        turned = w_form == W_COLUMNS
        parts = (
            0 if block_stays else span * width * realsize,
            0 if rows_stay else group * width * realsize,
            width * COLUMN_BYTES if turned else 0,
            (result_width + 16) * COLUMN_BYTES if turned else result_width * realsize,
            0 if source_row else width * itemsize,
            group * line if stream or not result_row else 0,
        )
    offsets = [0]
    for part in parts:
        offsets.append(offsets[-1] + -(-part // 64) * 64)
    a, b, c, e, f, g, size = offsets
    return Schedule(
        sch_id, inner, groups, h_run, h_runs, w_run, w_runs, units,
        max(1, SLAB_BYTES * threads // max(1, unit_bytes)), min(threads, units), w_form,
        group, stream, 0, 0, (a, b, c, e, f, g, size),
    )  # fmt: skip


def _run(axis: Axis, most: int, step: int, pieces: int = 1) -> int:
    """Results per tile: the most that reach `most` sources or fewer, a multiple of `step`.

    pieces: into how many tiles the axis is wanted cut at least, as far as `step` allows.
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


def _quota() -> float:
    """The control group's CPU quota in cores; infinity where there is none."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return math.inf if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        return math.inf


def _cores() -> int:
    """The cores this process may use: its affinity, and its control group's quota rounded up."""
    try:
        affinity = len(os.sched_getaffinity(0))
    except AttributeError:
        affinity = os.cpu_count() or 1
    quota = _quota()
    return affinity if quota == math.inf else max(1, min(affinity, math.ceil(quota)))


_threads: int | None = None if os.environ.get("OMP_NUM_THREADS") else _cores()


def set_threads(n: int) -> None:
    """Sets how many threads a call uses at most, in the whole process."""
    global _threads
    _threads = n


def allowed_threads() -> int:
    """How many threads a call may use now: the setting or OpenMP's limit; 1 in a forked child."""
    most: int = cpu.max_threads()
    return most if _threads is None else min(most, _threads)
