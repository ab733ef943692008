# SPDX-License-Identifier: Apache-2.0
"""The second phase's workspaces: what is enough, and what is refused."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import oracle
import pytest
from aclnn_calls import NCDHW, each_op, tensor
from aclnn_runs import (
    DATA_TYPE,
    INVALID,
    NULL,
    OBJECTS,
    OK,
    bits,
    call,
    each_dtype,
    gradient,
    ready,
)

import upsample3d as up
from upsample3d import aclnn
from upsample3d.aclnn import AclTensor, aclCreateTensor


@each_dtype
def test_planned_workspace_is_enough_and_nothing_else_is_written(op, dtype):
    i, o = (2, 4, 24, 32, 30), (2, 4, 40, 50, 61)
    real = oracle.numpy_dtype(dtype)
    count, guard = math.prod(i), 64
    memory = np.full(count + 2 * guard, 7, real)
    grad_input = aclCreateTensor(
        i, DATA_TYPE[dtype], None, guard, NCDHW, (count + 2 * guard,), memory
    )
    g = gradient(dtype, o)
    status, size, executor = call(op, AclTensor.from_array(g), grad_input, i[2:], o[2:])
    assert status == OK
    assert size > 0
    workspace = np.full(size + 2 * 64, 0xFF, np.uint8)
    edges = workspace[:64], workspace[-64:]
    tracemalloc.start()
    try:
        assert op.second(workspace[64:-64], size, executor, None) == OK
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20_000 < min(count * real.itemsize, g.nbytes)
    assert all((edge == 0xFF).all() for edge in edges)
    assert (memory[:guard] == 7).all()
    assert (memory[-guard:] == 7).all()
    assert bits(grad_input.view) == bits(getattr(up, op.function)(g, i))


WORKSPACES = [
    ("None", lambda size: (None, size), NULL, "workspace is None"),
    ("too small a number", lambda size: (bytearray(size), size - 1), INVALID, "workspaceSize is"),
    ("too small a buffer", lambda size: (bytearray(size - 1), size), INVALID, "workspace has"),
    ("a number above the buffer", lambda size: (bytearray(size), size + 1), INVALID, "workspace h"),
    ("negative", lambda size: (bytearray(size), -1), INVALID, "workspaceSize is -1"),
    ("beyond 64 bits", lambda size: (bytearray(size), 2**70), INVALID, f"workspaceSize is {2**70}"),
    ("no number", lambda size: (bytearray(size), "9"), INVALID, "workspaceSize is '9'"),
    ("no size", lambda size: (bytearray(size), None), INVALID, "workspaceSize is None"),
    ("read-only", lambda size: (bytes(size), size), INVALID, "workspace is read-only"),
    ("no buffer", lambda size: (object(), size), INVALID, "workspace is an object, wanted"),
    (
        "gaps",
        lambda size: (np.zeros(2 * size, np.uint8)[::2], size),
        INVALID,
        "workspace is an array of shape (",
    ),
    *(
        (f"objects {k}", lambda size, make=make: (make(size), size), INVALID, "workspace is a")
        for k, make in enumerate(OBJECTS)
    ),
]


@pytest.mark.parametrize(
    ("make", "expected", "message"), [w[1:] for w in WORKSPACES], ids=[w[0] for w in WORKSPACES]
)
@each_op
def test_wrong_workspace(op, make, expected, message):
    given, size, executor = ready(op)
    assert size > 0
    before = bits(given["gradInput"].view)
    workspace, said = make(size)
    assert op.second(workspace, said, executor, None) == expected
    assert aclnn.aclGetRecentErrMsg().startswith(message)
    assert bits(given["gradInput"].view) == before
    assert op.second(bytearray(size), size, executor, None) == OK  # it has not run yet
    assert bits(given["gradInput"].view) != before


@pytest.mark.parametrize("name", ["gradOut", "gradInput"])
@each_op
def test_workspace_over_a_tensor(op, name):
    given, size, executor = ready(op)
    view = given[name].view
    before = bits(view)
    memory = np.zeros(size // 4 + 10_000, np.float32)
    memory[100 : 100 + view.size] = view.ravel()
    given[name] = AclTensor.from_array(memory[100 : 100 + view.size].reshape(view.shape))
    status, size, executor = op.prepare(given)
    assert status == OK
    assert op.second(memory, size, executor, None) == INVALID
    assert aclnn.aclGetRecentErrMsg().startswith("workspace overlaps")
    assert bits(given[name].view) == before


@each_op
def test_no_workspace_where_none_is_needed(op):
    sizes = (2, 2, 3, 4, 5)
    g = gradient("float32", sizes)
    for workspace, size in ((None, 0), (bytearray(8), 0), (bytearray(8), 8)):
        grad_input = tensor(sizes)
        status, needed, executor = call(
            op, AclTensor.from_array(g), grad_input, sizes[2:], sizes[2:]
        )
        assert (status, needed) == (OK, 0)
        assert op.second(workspace, size, executor, None) == OK
        assert bits(grad_input.view) == bits(g)
