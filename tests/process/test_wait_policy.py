# SPDX-License-Identifier: Apache-2.0
"""OpenMP's threads: how many there are, however they are bound, and how long they wait for work."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

import upsample3d as up
from upsample3d.plan import machine

OPENMP = up.build_info()["openmp"]
pytestmark = pytest.mark.skipif(OPENMP is None, reason="built without OpenMP")

CHOICES = "GOMP_SPINCOUNT OMP_WAIT_POLICY KMP_BLOCKTIME OMP_NUM_THREADS OMP_PROC_BIND OMP_PLACES"
PLAIN = {name: value for name, value in os.environ.items() if name not in CHOICES.split()}

needs_two = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="one core"
)
gnu = pytest.mark.skipif("gomp" not in str(OPENMP), reason="not GCC's runtime")
with_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no PyTorch")

ORDERS = [
    "import upsample3d as up",
    "import numpy; import upsample3d as up",
    pytest.param("import torch; import upsample3d as up", marks=with_torch),
    pytest.param(
        "import upsample3d as up, upsample3d.torch; upsample3d.torch.enable()", marks=with_torch
    ),
]


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], env={**PLAIN, **environment},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run


# ---- How many ----

BINDINGS = [
    {"OMP_PROC_BIND": "true"},
    {"OMP_PROC_BIND": "close"},
    {"OMP_PROC_BIND": "spread"},
    {"OMP_PLACES": "cores"},
    {"OMP_PLACES": "threads", "OMP_PROC_BIND": "close"},
    {"GOMP_CPU_AFFINITY": "0-1"},
]


@needs_two
@pytest.mark.parametrize("binding", BINDINGS, ids=lambda b: "-".join(f"{k}={b[k]}" for k in b))
@pytest.mark.parametrize("order", ORDERS)
def test_binding_says_where_threads_run_not_how_many(order, binding):
    """The runtime pins the main thread to one core before we can ask where it may run."""
    count = python(f"{order}\nprint(up.get_num_threads())").stdout
    assert int(count) > 1
    assert python(f"{order}\nprint(up.get_num_threads())", **binding).stdout == count


@needs_two
@pytest.mark.parametrize("binding", [{}, *BINDINGS[:4]])
def test_an_affinity_of_one_core_counts_however_threads_are_bound(binding):
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    code += "import upsample3d as up; print(up.get_num_threads())"
    assert python(code, **binding).stdout.strip() == "1"


THEIR_END = ("2147483647", "garbage", "")
"""Values with which LLVM's runtime ends a process by itself."""


@pytest.mark.parametrize(
    "given",
    ["2147483648", "4294967297", "0", "-1", "2,3", " 2 "]
    + [pytest.param(value, marks=gnu) for value in THEIR_END],
)
def test_no_value_of_omp_num_threads_gives_fewer_than_one(given):
    code = """
import numpy as np
import upsample3d as up
ones = np.ones((1, 1, 4, 4, 4), np.float32)
assert (up.nearest_backward(ones, (1, 1, 2, 2, 2)) == 8).all()
print(up.get_num_threads())
"""
    threads = int(python(code, OMP_NUM_THREADS=given).stdout)
    assert threads >= 1
    if given in (" 2 ", "2,3"):
        assert threads == 2


# ---- How long they wait ----


def spins(code: str, **environment: str) -> list[str]:
    """The numbers of spins that the runtimes loaded by a program have, as they say themselves."""
    said = python(code, OMP_DISPLAY_ENV="verbose", **environment).stderr
    return [line.split("'")[1] for line in said.splitlines() if "GOMP_SPINCOUNT" in line]


@gnu
def test_waiting_threads_sleep_soon():
    assert spins("import upsample3d") == ["6000"]


@gnu
@pytest.mark.parametrize(
    ("choice", "counts"),
    [
        ({"GOMP_SPINCOUNT": "777"}, ["777"]),
        ({"OMP_WAIT_POLICY": "passive"}, ["0"]),
        ({"OMP_WAIT_POLICY": "active"}, ["30000000000"]),
        ({"KMP_BLOCKTIME": "5"}, ["300000"]),
    ],
)
def test_what_the_user_chose_stays(choice, counts):
    assert spins("import upsample3d", **choice) == counts


@gnu
@with_torch
def test_the_first_import_decides_for_both():
    """One runtime serves both, as its wheel's library has the name of the system's."""
    assert spins("import upsample3d, torch") == ["6000"]
    assert spins("import torch, upsample3d") == ["300000"]
    assert spins("import torch, upsample3d", OMP_WAIT_POLICY="passive") == ["0"]


@pytest.mark.parametrize("choice", [{}, {"GOMP_SPINCOUNT": "7"}, {"OMP_WAIT_POLICY": "active"}])
def test_the_environment_is_left_as_it_was(choice):
    code = """
import ctypes, os
before = dict(os.environ)
import upsample3d
assert dict(os.environ) == before
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
print(getenv(b"GOMP_SPINCOUNT"))
"""
    wanted = choice["GOMP_SPINCOUNT"].encode() if "GOMP_SPINCOUNT" in choice else None
    assert python(code, **choice).stdout.strip() == repr(wanted)


# ---- Which calls wake them ----


@pytest.fixture
def small():
    """A plan of 1 MB: two threads pay while they are awake, not where they have to be woken."""
    plan = up.Plan("nearest_backward", (1, 4, 40, 40, 40), "f4", input_size=(1, 4, 20, 20, 20))
    assert not plan.schedule.wakes
    return plan


@pytest.mark.parametrize(
    ("d", "threads", "wakes"),
    [
        (1, 1, False),
        (2, 3, False),
        (24, 36, False),
        (42, 63, False),
        (106, 64, False),
        (107, 64, True),
    ],
)
def test_what_pays(d, threads, wakes, monkeypatch):
    """A thread for every 131,072 bytes of source and result; 160 times as many wake them."""
    monkeypatch.setattr(machine.cpu, "max_threads", lambda: 64)
    monkeypatch.setattr(machine, "_threads", None)
    plan = up.Plan("nearest", (1, 64, d, 16, 16), "f4", output_size=(d, 16, 32))
    assert 4 * 64 * d * 16 * (16 + 32) == 196_608 * d
    assert (plan.schedule.threads, plan.schedule.wakes) == (threads, wakes)


def test_a_sleeping_team_is_not_woken_for_small_work():
    code = """
import time
from upsample3d.kernel import cpu
for _ in range(9):
    time.sleep(0.001)
    assert cpu.ensure_threads(3, False) == 1
    cpu.note_end_of_call()
assert cpu.ensure_threads(3, True) == 3
def row():  # calls without a pause, until one has a team
    for _ in range(100):
        if cpu.ensure_threads(3, False) == 3:
            return True
        cpu.note_end_of_call()
assert any(row() for _ in range(1000))
time.sleep(0.001)
assert cpu.ensure_threads(3, False) == 1
"""
    python(code, OMP_NUM_THREADS="3")


def test_results_are_the_same_with_and_without_a_team(small):
    rng = np.random.default_rng(0)
    source = rng.integers(-9, 9, small.shape).astype(np.float32)
    wanted = source.reshape(1, 4, 20, 2, 20, 2, 20, 2).sum((3, 5, 7))
    assert all(np.array_equal(small(source), wanted) for _ in range(300))
