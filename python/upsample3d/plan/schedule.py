# SPDX-License-Identifier: Apache-2.0
"""How the work is shared: SCH_ID 0..3 into units, and units among threads.

A unit is one tile at one d of `inner` planes. SCH_ID 1 walks all planes in a unit, 2 the N planes
of a channel, 3 one; 0 copies. All give the same bits.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

from ..kernel import cpu
from .tiles import Tiles, tile
from .w_pass import SAME, Axis, Memory

THREAD_BYTES = 131_072
"""Source and result bytes that pay for one more thread. Of 0.4 MB, 320 planes of 4 -> 8, two take
0.55 times as long as one; of 7 -> 64, 0.5 MB but 14 us, as long."""

WAKING = 160
"""Times THREAD_BYTES of a call that is worth waking threads that sleep. Waking takes 50 to 80 us;
in a virtual machine the thread may wake on the caller's core, and moves milliseconds later: of
13 MB two threads then take 0.6 to 1.4 times as long as one, of 38 MB 0.6 to 1.0 times."""

UNITS_PER_THREAD = 4
"""Units that a thread has at least, where they can be had, so that shares come out even."""

COPY_UNIT = 65_536
"""Bytes per unit of a dense copy."""

STRETCH_BYTES, SLOW_STRETCH_BYTES = 100_000_000, 5_000_000
"""Bytes per thread before the first look at pending signals, of contiguous rows of SLOW_ROW bytes
(0.1 s at 1 GB/s) and of others (0.06 s where rows are one float16, the slowest there are)."""

SLOW_ROW = 256


@dataclass(frozen=True, slots=True)
class Schedule:
    """units of `inner` planes each, planes = inner * groups; see job.h for each.

    stretch: tiles (units times planes) before the first look at pending signals. copy_bytes,
    copy_unit: for a copy between arrays that are dense and laid out alike its size and the bytes of
    a unit, else 0.
    """

    sch_id: int
    inner: int
    groups: int
    units: int
    stretch: int
    threads: int
    wakes: bool
    tiles: Tiles
    copy_bytes: int
    copy_unit: int

    @property
    def workspace_size(self) -> int:
        """Bytes, with the slack that aligning the workspace to a cache line takes."""
        size = self.tiles.scratch[-1] * self.threads
        return size + 64 if size else 0


def choose(d: Axis, h: Axis, w: Axis) -> int:
    """The SCH_ID that is fastest on a CPU: 0 where a copy is right, else 3, one plane per unit."""
    return 0 if d.kind == h.kind == w.kind == SAME else 3


def cut(
    axes: tuple[Axis, Axis, Axis],
    memory: Memory,
    *,
    sch_id: int,
    n: int,
    realsize: int,
    max_threads: int,
) -> Schedule:
    """The Schedule of bands d, h, w over the planes of a layout.

    n: the samples, N. realsize: bytes that a sum has.
    """
    d, h, w = axes
    inner = {1: memory.planes, 2: n, 3: 1, 0: 1}[sch_id]
    groups = memory.planes // inner
    voxels = d.sources * h.sources * w.sources + len(d.lo) * len(h.lo) * len(w.lo)
    total = memory.planes * memory.lanes * voxels * memory.itemsize
    threads = max(1, min(max_threads, total // THREAD_BYTES))
    pieces = UNITS_PER_THREAD * threads // (groups * len(d.lo))
    tiles = tile(axes, memory, realsize, pieces)
    copy_bytes = memory.dense_bytes if sch_id == 0 else 0
    if copy_bytes:
        units, tile_bytes = -(-copy_bytes // COPY_UNIT), COPY_UNIT
    else:
        units = groups * len(d.lo) * tiles.h_runs * tiles.w_runs
        tile_bytes = max(1, tiles.tile_bytes)
    row = min(w.sources, len(w.lo)) * memory.lanes * memory.itemsize
    fast = memory.source_row and memory.result_row and row >= SLOW_ROW
    stretch_bytes = STRETCH_BYTES if fast or copy_bytes else min(STRETCH_BYTES, SLOW_STRETCH_BYTES)
    return Schedule(
        sch_id=sch_id,
        inner=inner,
        groups=groups,
        units=units,
        stretch=max(threads, stretch_bytes * threads // tile_bytes),
        threads=min(threads, units),
        wakes=total >= WAKING * THREAD_BYTES,
        tiles=tiles,
        copy_bytes=copy_bytes,
        copy_unit=COPY_UNIT if copy_bytes else 0,
    )


GROUPS, MOUNT = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
"""Linux's control groups: which this process is in, and where they are."""


def _quota() -> float:
    """The CPU quota in cores of this process's control groups, the least; infinity without one."""
    try:
        lines = GROUPS.read_text().splitlines()
    except (OSError, ValueError):
        return math.inf
    quotas = [math.inf]
    for line in lines:  # "0::/a/b" in version 2, "4:cpu,cpuacct:/a/b" in version 1
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        for root in {MOUNT / controllers, MOUNT / "cpu"} if controllers else {MOUNT}:
            group = root / path.strip("/")
            quotas += [_quota_of(g) for g in (group, *group.parents) if g.is_relative_to(root)]
    return min(quotas)


def _quota_of(group: Path) -> float:
    """The quota of one group, without those above it; in a container some cannot be seen."""
    try:
        if (group / "cpu.max").exists():
            quota, period = (group / "cpu.max").read_text().split()
        else:
            quota, period = ((group / f"cpu.cfs_{k}_us").read_text() for k in ("quota", "period"))
        return math.inf if quota == "max" or int(quota) <= 0 else int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return math.inf


def _cores() -> int:
    """The cores this process may use: OpenMP's, and its control group's quota rounded up."""
    cores = cpu.processors()
    if cores == 0:
        try:
            cores = len(os.sched_getaffinity(0))
        except AttributeError:
            cores = os.cpu_count() or 1
    quota = _quota()
    return cores if quota == math.inf else max(1, min(cores, math.ceil(quota)))


_threads: int | None = None if os.environ.get("OMP_NUM_THREADS") else _cores()


def set_threads(n: int) -> None:
    """Sets how many threads a call uses at most, in the whole process."""
    global _threads
    _threads = n


def allowed_threads() -> int:
    """How many threads a call may use now: the setting or OpenMP's limit, the less; forked, 1."""
    most: int = cpu.max_threads()
    return most if _threads is None else min(most, _threads)
