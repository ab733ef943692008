# SPDX-License-Identifier: Apache-2.0
"""Gigabytes through `upsample3d forward` and `backward`: a bar, bounded memory, no file left."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import numpy as np
import pytest

COMMAND = [sys.executable, "-m", "upsample3d"]
TWICE = ("--scales", "2", "-o", "y.npy")


def large(folder):
    """A gigabyte of zeros that takes no place on the disk."""
    np.lib.format.open_memmap(folder / "x.npy", "w+", np.float32, (256, 1024, 1024)).flush()


@pytest.mark.parametrize("suffix", ["npy", "npz", "nii.gz"])
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_leaves_nothing(tmp_path, suffix, sent):
    """More signals in test_signals.py."""
    large(tmp_path)
    process = subprocess.Popen(
        [*COMMAND, "forward", "x.npy", "--output-size", "512,2048,1024", "-o", f"y.{suffix}"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while len(list(tmp_path.iterdir())) == 1 and process.poll() is None:  # it has not begun
        time.sleep(0.01)
    process.send_signal(sent)
    out, told = process.communicate(timeout=60)
    assert process.returncode == -sent
    assert out == ""
    assert told == ("interrupted\n" if sent == signal.SIGINT else "terminated\n")
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


@pytest.mark.long
@pytest.mark.parametrize("long", [True, False])
def test_bar_is_for_long_work_on_a_terminal(tmp_path, long):
    if long:
        large(tmp_path)
    else:
        np.save(tmp_path / "x.npy", np.zeros((4, 4, 4), np.float32))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [*COMMAND, "forward", "x.npy", "--output-size", "512,1024,1024", "-o", "y.nii.gz"]
        if long else [*COMMAND, "forward", "x.npy", *TWICE],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    told = b""
    while b"%" not in told:
        try:
            told += os.read(ours, 1000)
        except OSError:  # the other side is closed
            break
    process.kill() if long else None
    process.wait(timeout=60)
    os.close(ours)
    assert (b"x.npy" in told) == long


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="AddressSanitizer keeps freed memory")
def test_memory_stays_bounded(tmp_path):
    """A quarter of a gigabyte of bytes, mapped, whose float32 copy would be a gigabyte."""
    np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.uint8, (256, 1024, 1024)).flush()
    program = (  # ru_maxrss would hold what this process has: it outlives an exec
        "import sys; from upsample3d.__main__ import main; status = main(sys.argv[1:]);"
        "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]); sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "backward", "x.npy", "--input-size", "128,512,512", "-o",
         "y.npy"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    peak = int(done.stdout.split()[-1]) * 1024
    assert peak <= sum((tmp_path / name).stat().st_size for name in ("x.npy", "y.npy")) + (64 << 20)
