# SPDX-License-Identifier: Apache-2.0
"""This machine: the tuning constants of a plan, and the threads a call may use.

The constants are measured on a Zen 5 with 1 MB of L2 and 32 MB of L3.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

from ..kernel import cpu


@dataclass(frozen=True, slots=True)
class Machine:
    """What suits this machine's caches, memory and threads. No constant changes a bit of a result.

    Tests replace `this`, so that small calls run as large ones do.
    """

    tile_bytes: int = 600_000
    """Source bytes of a tile, all slabs of its band, which are read again for the next d. Trilinear
    gradients take 1.2, 1.04 and 1 times as long with 250, 400 and 800 KB."""

    block_bytes: int = 524_288
    """Bytes of a tile's sums along D at most: a thread's scratch stays below 1 MiB."""

    pack_bytes: int = 800_000
    """Bytes that a tile packs at a time and sums at most: they stay in the L2."""

    pack_rows: int = 8
    """Rows of a packed tile at least, with all slabs if D is short: they may adjoin in memory."""

    prefetch_bytes: int = 200_000
    """New source bytes that a tile prefetches at most; no limit for 16-bit elements. 32 -> 64 is
    1.2 (float32) and 1.7 (bfloat16) times as fast; more does not help float32."""

    prefetch_distance: int = 2048
    """Bytes that the sum of slabs prefetches ahead: 1.02 to 1.17 times as fast."""

    prefetch_from: int = 14_000_000
    """Bytes of a source from which on it is prefetched. Smaller ones lie in the L3, where the CPU's
    own prefetching keeps pace and ours costs 5 to 12 %."""

    group_bytes: int = 131_072
    """Bytes of accumulators of the rows finished together: with their columns and sums they fit the
    L2 beside the block."""

    table_rows: int = 16
    """Rows finished together by a table, so that each part of it is read once. Not measured."""

    copy_pixel_bytes: int = 16
    """Bytes of a pixel from which on it is copied whole: 32 bytes 4 times as fast as by a table."""

    stream_bytes: int = 17_000_000
    """Bytes of a result from which on it bypasses the cache: up to 1.9 times as fast for 30 MB of
    float32. Smaller ones stay in the L3: up to twice as fast, most of all with two threads."""

    stream_row_bytes: int = 256
    """The shortest row that bypasses the cache: its first and last lines do not. Not measured."""

    stream_together_bytes: int = 4096
    """Bytes of rows finished before they are streamed together. Not measured."""

    thread_bytes: int = 131_072
    """Source and result bytes that pay for one more thread. Two take 0.55 times as long as one for
    0.4 MB (320 planes of 4 -> 8), as long for 0.5 MB of 14 us (7 -> 64)."""

    waking_factor: int = 160
    """Times thread_bytes: a call of this size wakes sleeping threads, in 50 to 80 us. A virtual
    machine may wake one on the caller's core and move it milliseconds later: two threads take 0.6
    to 1.4 times as long as one for 13 MB, 0.6 to 1.0 times for 38 MB."""

    units_per_thread: int = 4
    """Units of a thread at least, if possible, so that shares come out even."""

    copy_unit: int = 65_536
    """Bytes per unit of a dense copy."""

    chunk_bytes: int = 100_000_000
    """Bytes per thread before the first poll of signals: 0.1 s at 1 GB/s."""

    slow_chunk_bytes: int = 5_000_000
    """The same for rows that are strided or shorter than slow_row_bytes: 0.06 s for rows of one
    float16, the slowest."""

    slow_row_bytes: int = 256
    """The shortest contiguous row that is not slow."""


this = Machine()


GROUPS, MOUNT = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
"""Linux's control groups: the file that names this process's, and their folder."""


def _quota() -> float:
    """The smallest CPU quota of this process's control groups, in cores; infinity without one."""
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
    """The quota of one group alone; infinity if it cannot be read, as in some containers."""
    try:
        if (group / "cpu.max").exists():
            quota, period = (group / "cpu.max").read_text().split()
        else:
            quota, period = ((group / f"cpu.cfs_{k}_us").read_text() for k in ("quota", "period"))
        return math.inf if quota == "max" or int(quota) <= 0 else int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return math.inf


def _cores() -> int:
    """The cores this process may use: OpenMP's, at most its control groups' quota rounded up."""
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
    """Sets the largest number of threads of a call, for the whole process."""
    global _threads
    _threads = n


def allowed_threads() -> int:
    """How many threads a call may use now: the smaller of the setting and OpenMP's limit."""
    limit: int = cpu.max_threads()
    return limit if _threads is None else min(limit, _threads)
