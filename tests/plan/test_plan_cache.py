# SPDX-License-Identifier: Apache-2.0
"""What the functions keep of earlier calls: 256 plans, and no more memory than is said."""

import subprocess
import sys

import numpy as np
import pytest

import upsample3d as up
from upsample3d.plan import cache

LONG = """
import os
import numpy as np
import upsample3d as up
source = np.ones((1, 1, 1, 1, 200_000), np.float32)
up.trilinear(source, output_size=(1, 1, 399_999))
def memory():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
before = most = memory()
for k in range({calls}):
    assert up.trilinear(source, output_size=(1, 1, 400_000 + k)).shape[4] == 400_000 + k
    most = max(most, memory())
print(most - before)
"""


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is Linux's")
def test_long_plans_do_not_fill_the_memory():
    """17.6 MB each: 60 would take 1 GB."""
    run = subprocess.run(
        [sys.executable, "-c", LONG.format(calls=60)], capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    assert 0 < int(run.stdout) < 300_000_000


def test_short_plans_are_kept_and_long_ones_displace_them(monkeypatch):
    cache.planned.cache_clear()
    monkeypatch.setattr(cache, "_kept", 0)
    monkeypatch.setattr(cache, "KEPT_BYTES", 1500)
    source = np.ones((1, 1, 2, 2, 2), np.float32)
    kept = []
    for side in (3, 4, 5, 3, 4, 5, 40, 5):
        up.nearest(source, output_size=(side,) * 3)
        kept.append(cache.planned.cache_info().currsize)
    # One Band for all axes, 24 bytes a result and 8: 80, 104, 128; then 968; all 3 hits: 0.
    assert kept == [1, 2, 3, 3, 3, 3, 4, 4]
    up.nearest(source, output_size=(41, 41, 41))
    assert cache.planned.cache_info().currsize == 1
