# SPDX-License-Identifier: Apache-2.0
"""Two threads beside other work, ours and PyTorch's: `python bench/busy.py`.

The trilinear gradient of (1, 32, 32^3 from 64^3), float32, beside processes that only compute; then
smaller ones on the idle machine, called at once and after pauses, when threads have to be woken.
One and two threads in turn; ratios are two threads / one. Each row is a process of its own: how
long OpenMP's threads wait is settled when the first of ours and PyTorch's is imported (--first).
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

BUSY = "while True: pass"
SHAPES = ("4->8", "sweep 64", "sweep 96", "sweep 128", "32->64")
PAUSES = (0.0, 0.0003, 0.002)
"""Seconds between calls, in which this thread computes something else."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--busy", type=int, nargs="*", default=[1, 2, 4, 6], help="how many processes compute")
    add("--calls", type=int, default=60, help="(default: %(default)s)")
    add("--first", choices=("ours", "torch"), default="ours", help="which is imported first")
    add("--rows", choices=("busy", "idle"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.rows:
        measure(asked.rows, asked.first, asked.calls)
        return
    here = [sys.executable, __file__, "--first", asked.first, "--calls", str(asked.calls), "--rows"]
    print("beside busy processes: ms, mean (90 %) of one thread and of two; ratio of the means")
    for count in asked.busy:
        print(f"{count} busy", flush=True)
        with busy_processes(count):
            subprocess.run([*here, "busy"], check=True)
    print("idle, after pauses: us, median of one thread and of two; ratio", flush=True)
    subprocess.run([*here, "idle"], check=True)


@contextlib.contextmanager
def busy_processes(count: int) -> Iterator[None]:
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    time.sleep(0.3)
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def measure(rows: str, first: str, calls: int) -> None:
    """Prints the rows of one process, which imports ours or PyTorch first."""
    if first == "torch":
        import torch  # noqa: F401
    import numpy as np
    import sides
    from cases import Case

    for shape in SHAPES[-1:] if rows == "busy" else SHAPES:
        one, two = (
            Case("trilinear", "backward", shape, "float32", "NCDHW", threads) for threads in (1, 2)
        )
        arrays = one.arrays()
        for pause in PAUSES[:1] if rows == "busy" else PAUSES:
            for name, side in (("ours", sides.ours), ("torch", sides.torchs)):
                works = [(case, side(case, *arrays)) for case in (one, two)]
                if works[0][1] is None:
                    continue
                found = [np.array(seconds(*work, pause, calls)) for work in works]
                size = f"{one.bytes / 1e6:5.1f} MB, {pause * 1e3:.1f} ms apart"
                if rows == "busy":
                    a, b = (found[k].mean() * 1e3 for k in (0, 1))
                    tails = [np.quantile(found[k], 0.9) * 1e3 for k in (0, 1)]
                    print(f"  {name:5}  {a:6.1f} ({tails[0]:6.1f})  {b:6.1f} ({tails[1]:6.1f})  "
                          f"x {b / a:.2f}", flush=True)  # fmt: skip
                else:
                    a, b = (np.median(found[k]) * 1e6 for k in (0, 1))
                    print(f"  {name:5}  {size}  {a:7.1f}  {b:7.1f}  x {b / a:.2f}", flush=True)


def seconds(case, work: Callable[[], object], pause: float, calls: int) -> list[float]:
    """Of each call; the first ten, which warm up, do not count."""
    with contextlib.suppress(ModuleNotFoundError):
        import torch

        torch.set_num_threads(case.threads)
    found = []
    for _ in range(calls + 10):
        begin = time.perf_counter()
        while time.perf_counter() - begin < pause:
            pass
        begin = time.perf_counter()
        work()
        found.append(time.perf_counter() - begin)
    return found[10:]


if __name__ == "__main__":
    main()
