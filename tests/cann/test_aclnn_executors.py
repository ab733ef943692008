# SPDX-License-Identifier: Apache-2.0
"""Executors: once, again and again, ended, of another op, in other threads."""

from __future__ import annotations

import gc
import itertools
import threading
import weakref

import numpy as np
import pytest
from aclnn_calls import OPS, arguments, each_op
from aclnn_runs import I_SIDE, INVALID, NULL, O_SIDE, OK, RUNTIME, bits, call, gradient, ready

import upsample3d as up
from upsample3d import aclnn
from upsample3d.aclnn import AclTensor


@each_op
def test_executor_runs_once(op):
    given, size, executor = ready(op)
    assert op.second(bytearray(size), size, executor, None) == OK
    given["gradInput"].view[...] = -1
    for _ in range(2):
        assert op.second(bytearray(size), size, executor, None) == RUNTIME
        assert aclnn.aclGetRecentErrMsg() == "executor has run, wanted one that can run"
        assert (given["gradInput"].view == -1).all()
    for ended in (aclnn.aclSetAclOpExecutorRepeatable, aclnn.aclDestroyAclOpExecutor):
        assert ended(executor) == RUNTIME


@each_op
def test_repeatable_executor_runs_until_it_is_destroyed(op):
    given, size, executor = ready(op)
    assert aclnn.aclSetAclOpExecutorRepeatable(executor) == OK
    found = set()
    for value in (1, 1, 2):
        given["gradOut"].view[...] = value  # new numbers in the same memory
        assert op.second(bytearray(size), size, executor, None) == OK
        found.add(bits(given["gradInput"].view))
    assert len(found) == 2
    assert aclnn.aclDestroyAclOpExecutor(executor) == OK
    assert op.second(bytearray(size), size, executor, None) == RUNTIME
    assert aclnn.aclGetRecentErrMsg() == "executor was destroyed, wanted one that can run"
    assert aclnn.aclDestroyAclOpExecutor(executor) == RUNTIME


@each_op
def test_executor_destroyed_before_it_runs(op):
    given, size, executor = ready(op)
    before = bits(given["gradInput"].view)
    assert aclnn.aclDestroyAclOpExecutor(executor) == OK
    assert op.second(bytearray(size), size, executor, None) == RUNTIME
    assert bits(given["gradInput"].view) == before


@pytest.mark.parametrize("wrong", [None, 0, object(), "executor", aclnn.AclOpExecutor])
@each_op
def test_what_is_no_executor(op, wrong):
    expected = NULL if wrong is None else INVALID
    assert op.second(None, 0, wrong, None) == expected
    assert aclnn.aclGetRecentErrMsg().startswith("executor is ")
    assert aclnn.aclSetAclOpExecutorRepeatable(wrong) == expected
    assert aclnn.aclDestroyAclOpExecutor(wrong) == expected


def test_executor_that_was_never_made():
    bare = aclnn.AclOpExecutor.__new__(aclnn.AclOpExecutor)
    for op in OPS.values():
        assert op.second(None, 0, bare, None) == RUNTIME


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(OPS, 2)))
def test_executor_of_another_op(one, other):
    given, size, executor = ready(OPS[one])
    before = bits(given["gradInput"].view)
    assert OPS[other].second(bytearray(size), size, executor, None) == INVALID
    assert aclnn.aclGetRecentErrMsg().startswith("executor is of aclnnUpsample")
    assert bits(given["gradInput"].view) == before
    assert OPS[one].second(bytearray(size), size, executor, None) == OK


@each_op
def test_executor_holds_its_tensors_and_runs_in_another_thread(op):
    g = gradient("float32")
    out = np.zeros(I_SIDE, np.float32)
    grad_out, grad_input = AclTensor.from_array(g.copy()), AclTensor.from_array(out)
    source = weakref.ref(grad_out.data)
    _, size, executor = call(op, grad_out, grad_input, I_SIDE[2:], O_SIDE[2:])
    assert aclnn.aclDestroyTensor(grad_out) == aclnn.aclDestroyTensor(grad_input) == OK
    del grad_out, grad_input
    gc.collect()
    assert source() is not None
    found = []
    thread = threading.Thread(
        target=lambda: found.append(op.second(bytearray(size), size, executor, None))
    )
    thread.start()
    thread.join()
    assert found == [OK]
    assert bits(out) == bits(getattr(up, op.function)(g, I_SIDE))
    gc.collect()
    assert source() is None  # nor is it held any longer


@each_op
def test_of_concurrent_runs_exactly_one_wins(op):
    for _ in range(20):
        _, size, executor = ready(op)
        gate, found = threading.Barrier(4), []

        def second(size=size, executor=executor, gate=gate, found=found):
            workspace = bytearray(size)
            gate.wait()
            found.append(op.second(workspace, size, executor, None))

        threads = [threading.Thread(target=second) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(found) == [OK, RUNTIME, RUNTIME, RUNTIME]


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (RuntimeError("x"), 561101, "raises RuntimeError"),
        (ZeroDivisionError(), 561101, "raises ZeroDivisionError"),
        (MemoryError(), 561103, "memory does not suffice"),
    ],
)
@each_op
def test_an_executor_that_cannot_be_made(op, error, status, said, monkeypatch):
    def plan(*arguments, **options):
        raise error

    monkeypatch.setattr("upsample3d.cann.executors.Plan", plan)
    assert op.prepare(arguments()) == (status, 0, None)
    message = aclnn.aclGetRecentErrMsg()
    assert said in message
    assert message.startswith(op.operator.name) == (status == 561101)


def test_messages_belong_to_threads():
    op = OPS["exact"]
    assert op.prepare(arguments(gradOut=None))[0] == NULL
    mine = aclnn.aclGetRecentErrMsg()
    seen = []

    def other():
        seen.append(aclnn.aclGetRecentErrMsg())
        op.prepare(arguments(inputSize=None))
        seen.append(aclnn.aclGetRecentErrMsg())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [None, "inputSize is None, a null pointer"]
    assert aclnn.aclGetRecentErrMsg() == mine == "gradOut is None, a null pointer"


def test_no_run_begins_while_another_begins():
    op = OPS["exact"]
    _, size, executor = ready(op)
    found = []
    thread = threading.Thread(
        target=lambda: found.append(op.second(bytearray(size), size, executor, None))
    )
    with executor._lock:
        thread.start()
        thread.join(0.2)
        assert found == []
    thread.join()
    assert found == [OK]
