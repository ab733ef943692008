# SPDX-License-Identifier: Apache-2.0
"""How long Ctrl-C waits while a gradient of 2 GB is computed: python bench/interrupt.py [--gb 2].

For each layout a call is interrupted at several moments. The longest wait is shown, and how long
the process computed in it: less on a machine that does other things. After the interrupts a call on
a part of the source is compared with one that came before them. Ends with 1 where a wait is beyond
--limit seconds or a result is wrong.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time

import ml_dtypes
import numpy as np

import upsample3d as up

MOMENTS = (0.001, 0.03, 0.1, 0.17, 0.25)
"""Seconds from a call's begin to Ctrl-C; a call that ends earlier is not counted."""


def channels_last(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array.transpose(0, 2, 3, 4, 1)).transpose(0, 4, 1, 2, 3)


LAYOUTS = {
    # The output's N, C, D, H, W for a million elements; the input's D, H, W; dtype; memory.
    "NCDHW": ((1, 1, 100, 100, 100), (50, 50, 50), np.float32, np.asarray),
    "NCDHW bfloat16": ((1, 1, 100, 100, 100), (50, 50, 50), ml_dtypes.bfloat16, np.asarray),
    "NDHWC": ((1, 10, 50, 50, 40), (25, 25, 20), np.float32, channels_last),
    "every other element": ((1, 1, 100, 100, 50), (50, 50, 25), np.float32, lambda a: a[..., ::2]),
    "reversed rows": ((1, 1, 100, 100, 100), (50, 50, 50), np.float32, lambda a: a[..., ::-1]),
    "Fortran order": ((1, 1, 100, 100, 100), (50, 50, 50), np.float32, np.asfortranarray),
    "rows of one float16": ((1, 1, 100, 10000, 1), (50, 5000, 1), np.float16, np.asarray),
    "voxels 2 x 2 x 2": ((1250, 100, 2, 2, 2), (1, 1, 1), np.float16, np.asarray),
}


def source_of(name: str, gb: float) -> tuple[np.ndarray, tuple[int, ...]]:
    """A source of that many GB, longer along N (D where N is 1), and its input_size."""
    shape, inner, dtype, lay = LAYOUTS[name]
    times = max(1, round(gb * 1e9 / np.dtype(dtype).itemsize / 1e6))
    n, c, d, h, w = shape
    if n == 1:
        shape, inner = (n, c, d * times, h, w), (inner[0] * times, *inner[1:])
    else:
        shape = (n * times, c, d, h, w)
    if name == "every other element":
        shape = (*shape[:4], shape[4] * 2)
    source = lay(np.ones(shape, dtype))
    return source, (*source.shape[:2], *inner)


def wait(op: str, source: np.ndarray, size: tuple[int, ...], out: np.ndarray, **how) -> list:
    """(seconds, seconds of the processor) from each Ctrl-C to its KeyboardInterrupt."""
    waits = []
    for moment in MOMENTS:
        sent = []

        def send(sent=sent) -> None:
            sent[:] = time.monotonic(), time.process_time()
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(moment, send)
        try:
            timer.start()
            getattr(up, op)(source, size, out=out, **how)
            timer.cancel()
            timer.join()
        except KeyboardInterrupt:
            waits.append((time.monotonic() - sent[0], time.process_time() - sent[1]))
    return waits


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gb", type=float, default=2.0)
    parser.add_argument("--limit", type=float, default=0.3)
    parser.add_argument("--only", default="", help="layouts whose name has this")
    arguments = parser.parse_args()
    failed = False
    print("layout, op, schedule, threads: longest wait of so many interrupts")
    for name in (name for name in LAYOUTS if arguments.only in name):
        source, size = source_of(name, arguments.gb)
        out = np.zeros(size, source.dtype)
        small = (slice(0, 2), slice(None), slice(0, 10))
        few = source[small].copy()
        few_size = (*few.shape[:2], max(1, few.shape[2] // 2), *size[3:])
        for op in ("trilinear_backward", "nearest_exact_backward"):
            wanted = getattr(up, op)(few, few_size, num_threads=1).tobytes()
            for threads, sch_id in ((1, None), (2, None), (1, 1)):
                waits = wait(op, source, size, out, num_threads=threads, schedule=sch_id)
                right = getattr(up, op)(few, few_size).tobytes() == wanted
                longest, computing = max(waits, default=(0.0, 0.0))
                failed |= not right or longest > arguments.limit
                print(
                    f"{name:20} {op:22} {sch_id or '-'} {threads}: {longest:.3f} s "
                    f"({computing / threads:.3f} s computing) of {len(waits)}"
                    + ("" if right else "; the next call is WRONG"),
                    flush=True,
                )
        del source, out
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
