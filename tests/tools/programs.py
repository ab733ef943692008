# SPDX-License-Identifier: Apache-2.0
"""Programs of four threads in a process of their own.

One that hangs shows where, through faulthandler, and fails.
"""

from __future__ import annotations

import os
import subprocess
import sys

SETUP = """
import ctypes, faulthandler, multiprocessing, os, signal, subprocess, sys, threading, time
faulthandler.dump_traceback_later(100, exit=True)
import numpy as np
import upsample3d as up
source = np.random.default_rng(0).random((1, 8, 64, 64, 64), np.float32)
size = (1, 8, 32, 32, 32)
def work(_=None):
    return up.trilinear_backward(source, size).tobytes(), up.get_num_threads()
def child(function):
    # Whether function() is true in a forked child.
    number = os.fork()
    if number == 0:
        os._exit(0 if function() else 1)
    return os.waitpid(number, 0)[1] == 0
def serial_and_right():
    return work() == (wanted, 1)
"""


def python(code: str, seconds: float = 120) -> str:
    """What a program prints; one that hangs fails."""
    environment = {**os.environ, "OMP_NUM_THREADS": "4", "PYTHONWARNINGS": "ignore"}
    run = subprocess.run(
        [sys.executable, "-c", SETUP + code], env=environment, capture_output=True, text=True,
        timeout=seconds,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()
