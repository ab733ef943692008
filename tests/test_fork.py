# SPDX-License-Identifier: Apache-2.0
"""Forked and spawned children, Python threads, Ctrl-C: nothing hangs, and answers stay right."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import upsample3d as up

SETUP = """
import multiprocessing, os, signal, sys, threading, time
import numpy as np
import upsample3d as up
source = np.random.default_rng(0).random((1, 8, 64, 64, 64), np.float32)
size = (1, 8, 32, 32, 32)
def work(_=None):
    return up.trilinear_backward(source, size).tobytes(), up.get_num_threads()
"""


def python(code: str, seconds: float = 60) -> str:
    """What a program prints; one that hangs fails."""
    environment = {**os.environ, "OMP_NUM_THREADS": "4", "PYTHONWARNINGS": "ignore"}
    run = subprocess.run(
        [sys.executable, "-c", SETUP + code], env=environment, capture_output=True, text=True,
        timeout=seconds,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")


@forks
def test_forked_child_after_threads_ran():
    code = """
wanted, _ = work()
for _ in range(20):
    child = os.fork()
    if child == 0:
        found, threads = work()
        os._exit(0 if found == wanted and threads == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
assert work()[0] == wanted
print("fine")
"""
    assert python(code) == "fine"


@forks
def test_grandchild_and_child_of_a_thread():
    code = """
wanted, _ = work()
def fork(depth):
    child = os.fork()
    if child == 0:
        if depth: fork(depth - 1)
        found, threads = work()
        os._exit(0 if found == wanted and threads == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
thread = threading.Thread(target=fork, args=(2,))
thread.start()
thread.join()
print("fine")
"""
    assert python(code) == "fine"


@forks
def test_pool_of_forked_workers():
    code = """
wanted, _ = work()
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(work, range(6)) == [(wanted, 1)] * 6
print("fine")
"""
    assert python(code) == "fine"


def test_pool_of_spawned_workers(tmp_path):
    script = tmp_path / "spawned.py"
    script.write_text(
        SETUP + "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(2) as pool:\n"
        "        assert {found for found, _ in pool.map(work, range(4))} == {work()[0]}\n"
        "    print('fine')\n"
    )
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert run.stdout.strip() == "fine", run.stderr


def test_python_threads_share_a_plan():
    rng = np.random.default_rng(0)
    sources = [rng.random((1, 2, 20, 30, 40), np.float32) for _ in range(8)]
    size = (1, 2, 10, 15, 20)
    plan = up.Plan("trilinear_backward", sources[0].shape, "float32", input_size=size)
    wanted = [plan(source).tobytes() for source in sources]
    wrong = []

    def run(k: int) -> None:
        for _ in range(50):
            both = plan(sources[k]), up.trilinear_backward(sources[k], size)
            if any(result.tobytes() != wanted[k] for result in both):
                wrong.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_ctrl_c_is_heard_during_a_long_call():
    code = """
long = np.broadcast_to(np.float32(1), (1, 64, 1024, 1024, 512))
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
begin = time.monotonic()
try:
    up.trilinear_backward(long, (1, 64, 512, 512, 256), num_threads=1)
except KeyboardInterrupt:
    print("heard", time.monotonic() - begin)
wanted = work()[0]
assert work()[0] == wanted
"""
    heard, seconds = python(code, 120).split()
    assert heard == "heard"
    # The whole call reads 128 GiB, which no machine does in 20 s with one thread.
    assert float(seconds) < 20
