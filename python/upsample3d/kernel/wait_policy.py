# SPDX-License-Identifier: Apache-2.0
"""How long OpenMP's threads spin before they sleep: set while the runtime is loaded.

By default GCC's libgomp spins for milliseconds after a call. On a busy machine this uses up the
threads' share of the CPU, and the next call waits for a new one: two threads take 10 times as long
as one. libgomp reads its environment once, when the first extension that needs it is loaded. If
PyTorch was imported first, this is too late: set OMP_WAIT_POLICY=passive for the process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

SPINS = "6000"
"""libgomp's spins before a thread sleeps, 84 us on a Zen 5 (300,000 by default). Python's part of a
call takes up to 40 us after the kernel has emptied the caches. 1,000 spins are shorter: calls in a
row wake threads each time and take 2 to 4 times as long. 10,000 cost time beside two busy
processes, 6,000 do not."""

CHOICES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "KMP_BLOCKTIME")
"""Variables by which a user chooses."""


@contextmanager
def short_spins() -> Iterator[None]:
    """An environment in which libgomp is loaded to spin for SPINS, unless the user has chosen."""
    if any(name in os.environ for name in CHOICES):
        yield
        return
    os.environ["GOMP_SPINCOUNT"] = SPINS
    try:
        yield
    finally:
        del os.environ["GOMP_SPINCOUNT"]


with short_spins():
    from . import cpu as cpu
