# SPDX-License-Identifier: Apache-2.0
"""Signals during a call: handlers run and may raise, what is in `out` then, and what follows.

SIGALRM stands for Ctrl-C, which ends the tests if it comes late; bench/interrupt.py times Ctrl-C.
"""

from __future__ import annotations

import signal
import sys
import threading

import numpy as np
import pytest

import upsample3d as up
from upsample3d.aclnn import (
    ACL_FLOAT,
    ACL_FORMAT_NCDHW,
    ACL_SUCCESS,
    aclCreateTensor,
    aclnnUpsampleNearest3dBackward,
    aclnnUpsampleNearest3dBackwardGetWorkspaceSize,
)
from upsample3d.plan import machine

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a system without SIGALRM")

# Sums of 2 x 128 x 128 ones, of memory that is 4 bytes: 84 GB to read, more than 1 s anywhere.
LONG = np.broadcast_to(np.float32(1), (1, 1, 20_000, 1024, 1024))
LONG_SIZE, LONG_SUM = (1, 1, 10_000, 8, 8), 2.0 * 128 * 128
# The same for SCH_ID 1 and 2, where one unit has all N or N x C planes.
PLANES = np.broadcast_to(np.float32(1), (200_000, 2, 4, 128, 128))
PLANES_SIZE, PLANES_SUM = (200_000, 2, 1, 1, 1), 4.0 * 128 * 128


class Alarm(BaseException):
    """Raised by the handler, as KeyboardInterrupt is by Ctrl-C's."""


@pytest.fixture
def alarm():
    """alarm(seconds, handler): rings once, through setitimer."""
    before = signal.getsignal(signal.SIGALRM)

    def ring(seconds: float, handler) -> None:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, seconds)

    yield ring
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def raising(number, frame):
    raise Alarm


def small() -> tuple[np.ndarray, tuple[int, ...], float]:
    """A call whose answer is plain."""
    return np.ones((1, 2, 64, 64, 64), np.float32), (1, 2, 32, 32, 32), 8.0


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("source", "size", "total", "sch_id"),
    [
        (LONG, LONG_SIZE, LONG_SUM, 3),
        (PLANES, PLANES_SIZE, PLANES_SUM, 1),
        (PLANES, PLANES_SIZE, PLANES_SUM, 2),
        (PLANES, PLANES_SIZE, PLANES_SUM, 3),
    ],
    ids=["units", "planes-1", "planes-2", "planes-3"],
)
def test_out_is_partly_done(source, size, total, sch_id, threads, alarm):
    """An element of `out` is what it was or what it is to be, never anything between."""
    out = np.full(size, -7, np.float32)

    def raising_in_the_middle(number, frame):
        alarm(0.02, raising if (out == total).any() else raising_in_the_middle)

    alarm(0.05, raising_in_the_middle)
    with pytest.raises(Alarm):
        up.nearest_backward(source, size, out=out, num_threads=threads, schedule=sch_id)
    done = np.count_nonzero(out == total)
    assert 0 < done < out.size
    assert np.count_nonzero(out == -7) == out.size - done
    source, size, total = small()
    assert (up.nearest_backward(source, size) == total).all()


def test_new_result_and_workspace_are_let_go(alarm):
    """The call that was interrupted holds on to nothing of what it was given."""
    source = LONG.view()
    references = sys.getrefcount(source)
    for _ in range(3):
        alarm(0.02, raising)
        with pytest.raises(Alarm):
            up.nearest_backward(source, LONG_SIZE)
    assert sys.getrefcount(source) == references


def test_a_handler_that_returns_changes_nothing(alarm):
    """It may call us, too, with the plan that is running."""
    shape, size = (1, 1, 60, 1024, 1024), (1, 1, 30, 8, 8)
    source = np.broadcast_to(np.float32(1), shape)
    plan = up.Plan("nearest_backward", shape, "f4", input_size=size, strides=source.strides)
    inner = []

    def handler(number, frame):
        inner.append((plan(source) == LONG_SUM).all())

    for round_ in range(3):
        alarm(0.001, handler)
        while len(inner) == round_:
            assert (plan(source) == LONG_SUM).all()
    assert inner == [True] * 3


def test_a_call_in_another_thread_goes_on(alarm):
    """Signals belong to the main thread, which is free meanwhile; the call elsewhere ends."""
    source = np.broadcast_to(np.float32(1), (1, 1, 2000, 1024, 1024))
    found, done = [], threading.Event()

    def call() -> None:
        found.append(up.nearest_backward(source, (1, 1, 1000, 8, 8), num_threads=1))
        done.set()

    thread = threading.Thread(target=call)
    thread.start()
    alarm(0.02, raising)
    with pytest.raises(Alarm):
        done.wait()
    assert not found
    thread.join()
    assert (found[0] == LONG_SUM).all()


def test_two_phases_let_it_pass(alarm):
    out = np.full(LONG_SIZE, -7, np.float32)
    memory = np.ones(1, np.float32)

    def prepare(storage, view, strides, result):
        grad_out = aclCreateTensor(view, ACL_FLOAT, strides, 0, ACL_FORMAT_NCDHW, (1,), storage)
        shape = result.shape
        steps = [step // 4 for step in result.strides]
        grad_in = aclCreateTensor(shape, ACL_FLOAT, steps, 0, ACL_FORMAT_NCDHW, shape, result)
        status, size, executor = aclnnUpsampleNearest3dBackwardGetWorkspaceSize(
            grad_out, view[2:], shape, 0.0, 0.0, 0.0, grad_in
        )
        assert status == ACL_SUCCESS
        return np.empty(size, np.uint8), size, executor

    workspace, size, executor = prepare(memory, LONG.shape, (0,) * 5, out)
    alarm(0.02, raising)
    with pytest.raises(Alarm):
        aclnnUpsampleNearest3dBackward(workspace, size, executor, None)
    assert 0 < np.count_nonzero(out == LONG_SUM) < out.size
    after = np.zeros((1, 1, 3, 8, 8), np.float32)
    workspace, size, executor = prepare(memory, (1, 1, 6, 1024, 1024), (0,) * 5, after)
    assert aclnnUpsampleNearest3dBackward(workspace, size, executor, None) == ACL_SUCCESS
    assert (after == LONG_SUM).all()


def test_chunks_of_one_tile(monkeypatch, tune):
    """However work is cut, also within units of several planes, the bits are the same."""
    rng = np.random.default_rng(3)
    source = rng.standard_normal((3, 5, 9, 14, 22)).astype(np.float32)
    size = (3, 5, 4, 7, 11)
    wanted = up.trilinear_backward(source, size).tobytes()
    tune(chunk_bytes=1, thread_bytes=1)
    monkeypatch.setattr(machine, "allowed_threads", lambda: 3)
    for sch_id in (1, 2, 3):
        for threads in (1, 2, 3):
            plan = up.Plan(
                "trilinear_backward", source.shape, "f4", input_size=size, schedule=sch_id,
                num_threads=threads,
            )  # fmt: skip
            assert plan.schedule.chunk == plan.schedule.threads == threads
            assert plan(source).tobytes() == wanted, (sch_id, threads)
