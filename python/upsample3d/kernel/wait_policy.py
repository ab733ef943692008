# SPDX-License-Identifier: Apache-2.0
"""How long OpenMP's threads look for work before they sleep: set while the runtime is loaded.

By default those of GCC's libgomp spin for milliseconds after a call. On a machine with other work
that uses up their share of the CPU, and the next call waits until they get one again: two threads
then take 10 times as long as one. libgomp reads its environment once, when the first extension that
needs it is loaded; where PyTorch came first this one comes too late, and OMP_WAIT_POLICY=passive in
the environment of the process does the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

SPINS = "6000"
"""libgomp's spins before a thread sleeps, 84 us on a Zen 5 (300,000 by default). Python's part of a
call takes up to 40 us where the kernel has emptied the caches. 1,000 spins end before that: calls
that follow each other at once then wake threads each time, and take 2 to 4 times as long. 10,000
cost beside two busy processes what 6,000 do not."""

CHOICES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "KMP_BLOCKTIME")
"""Variables by which a user has chosen already."""


@contextmanager
def short_spins() -> Iterator[None]:
    """An environment in which libgomp, if it is loaded in it, spins for SPINS, unless chosen."""
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
