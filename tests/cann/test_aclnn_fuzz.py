# SPDX-License-Identifier: Apache-2.0
"""Every object that Python can pass, in every position: a status comes back, nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from aclnn_calls import LAST, OPS, POSITIONS, STATUSES, arguments, each_op, pixels
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strange import NUMBERS, STRANGE, TENSORS, Liar, Unspeakable, raising

import upsample3d as up
from upsample3d import aclnn
from upsample3d.aclnn import AclTensor
from upsample3d.spec.errors import RuntimeStateError

OK, NULL, INVALID, RUNTIME, MEMORY = 0, 161001, 161002, 361001, 561103


@dataclass(frozen=True)
class Made:
    """An object that is made where it is passed, so that hypothesis prints this instead."""

    name: str
    make: Callable[[], object] = field(repr=False)


def made_of(name, makers):
    return st.sampled_from([Made(f"{name}[{k}]", make) for k, make in enumerate(makers)])


def objects(changed):
    """What is passed, by parameter."""
    return {key: drawn.make() if type(drawn) is Made else drawn for key, drawn in changed.items()}


anything = st.one_of(
    st.none(),
    made_of("STRANGE", STRANGE),
    st.sampled_from(NUMBERS),
    made_of("TENSORS", TENSORS),
    st.floats(),
    st.integers(),
    st.lists(st.integers(-1, 12), max_size=6),
)
changes = st.dictionaries(st.sampled_from(POSITIONS), anything, max_size=4)
many = settings(
    max_examples=2000, deadline=None, database=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip


@pytest.mark.long
@each_op
def test_first_phase_answers_whatever_it_gets(op):
    seen = {}

    @many
    @given(changes, st.booleans())
    def examples(changed, last):
        given_ = {**arguments(**(LAST if last else {})), **objects(changed)}
        before = pixels(given_)
        found = op.prepare(given_)
        assert type(found) is tuple
        status, size, made = found
        assert status in STATUSES
        assert pixels(given_) == before
        seen[status] = seen.get(status, 0) + 1
        if status == OK:
            assert op.second(bytearray(size), size, made, None) == OK
        else:
            assert (size, made) == (0, None)
            assert aclnn.aclGetRecentErrMsg().split()[0].split("[")[0] in POSITIONS

    examples()
    assert min(seen[OK], seen[NULL], seen[INVALID]) > 20


@each_op
@pytest.mark.parametrize("position", POSITIONS)
def test_every_strange_object_in_every_position(op, position):
    for make in (*STRANGE, *TENSORS, *(lambda n=n: n for n in NUMBERS)):
        given_ = {**arguments(), position: make()}
        before = pixels(given_)
        status, size, made = op.prepare(given_)
        assert status in STATUSES
        assert pixels(given_) == before
        if status == OK:
            assert op.second(bytearray(size), size, made, None) == OK
        else:
            assert aclnn.aclGetRecentErrMsg().split()[0].split("[")[0] in POSITIONS


SECOND = ("workspace", "size", "executor", "stream")
buffers = st.builds(bytearray, st.integers(0, 1 << 16))
second_changes = st.dictionaries(st.sampled_from(SECOND), anything | buffers, max_size=2)


@pytest.mark.long
@each_op
def test_second_phase_answers_whatever_it_gets(op):
    seen = {}

    @settings(many, max_examples=500)
    @given(second_changes)
    def examples(changed):
        given_ = arguments()
        before = pixels(given_)
        _, size, made = op.prepare(given_)
        right = dict(zip(SECOND, (bytearray(size), size, made, None), strict=True))
        status = op.second(*{**right, **objects(changed)}.values())
        assert status in STATUSES
        seen[status] = seen.get(status, 0) + 1
        if status != OK:
            assert pixels(given_) == before
            name = aclnn.aclGetRecentErrMsg().split()[0]
            assert name in {"workspace", "workspaceSize", "executor"}

    examples()
    assert min(seen[OK], seen[NULL], seen[INVALID]) > 20


@pytest.mark.parametrize(
    "create",
    [
        lambda x, k: aclnn.aclCreateTensor(*(x if j == k else y for j, y in enumerate(CREATED))),
        lambda x, k: AclTensor.from_array(*((x,), (np.zeros(3), x))[k % 2]),
        lambda x, k: aclnn.aclCreateIntArray(*((x, 2), ([1, 2], x))[k % 2]),
        lambda x, k: (aclnn.aclDestroyIntArray, aclnn.aclDestroyTensor)[k % 2](x),
        lambda x, k: (aclnn.aclSetAclOpExecutorRepeatable, aclnn.aclDestroyAclOpExecutor)[k % 2](x),
    ],
    ids=["tensor", "array", "ints", "destroy", "executor"],
)
def test_creators_and_destroyers_answer_whatever_they_get(create):
    for k in range(7):
        for make in (*STRANGE, *TENSORS, *(lambda n=n: n for n in NUMBERS)):
            found = create(make(), k)
            assert found is None or found in STATUSES or type(found) in (AclTensor, tuple)


CREATED = ((2, 3), 0, (3, 1), 0, 2, (6,), bytearray(24))


class OurOwn(up.ParameterError):
    """Looks as if we had raised it, and cannot be printed; its status is whatever."""

    def __init__(self, status):
        self.status = status

    def __str__(self):
        raise Unspeakable

    __repr__ = __str__


OWN = [
    up.ParameterError("x"), up.ParameterTypeError("x", 0), RuntimeStateError("x"),
    *map(OurOwn, (0, "foo", None)),
]  # fmt: skip


@pytest.mark.parametrize("error", OWN, ids=range(len(OWN)))
@pytest.mark.parametrize("names", [("__len__",), ("__iter__",), ("__index__",)], ids=str)
@pytest.mark.parametrize("position", ["outputSize", "inputSize"])
@each_op
def test_our_errors_raised_by_others(op, position, names, error):
    thing = raising(error, names, **({} if "__len__" in names else {"__len__": lambda self: 3}))()
    given_ = (thing, 4, 5) if "__index__" in names else thing
    assert op.prepare({**arguments(), position: given_}) == (INVALID, 0, None)
    said = aclnn.aclGetRecentErrMsg()
    assert said.startswith(position)
    assert "raises" in said


@pytest.mark.parametrize("error", OWN, ids=range(len(OWN)))
def test_our_errors_raised_in_every_other_call(error):
    thing = raising(error, ("__len__", "__iter__", "__index__", "__class__", "__buffer__"))()
    for call, name in (
        (lambda: aclnn.aclCreateIntArray(thing, 1), "value"),
        (lambda: aclnn.aclCreateIntArray([1], thing), "size"),
        *(
            (lambda k=k: aclnn.aclCreateTensor(*CREATED[:k], thing, *CREATED[k + 1 :]), name)
            for k, name in enumerate(
                ("viewDims", "dataType", "strides", "offset", "format", "storageDims", "tensorData")
            )
        ),
        (lambda: AclTensor.from_array(thing), "array"),
        (lambda: AclTensor.from_array(np.zeros(3), thing), "format"),
    ):
        assert call() is None
        assert aclnn.aclGetRecentErrMsg().startswith(name)
    assert aclnn.aclDestroyIntArray(thing) == INVALID
    op = OPS["exact"]
    for k, name in enumerate(("workspace", "workspaceSize")):
        _, size, made = op.prepare(arguments())
        given_ = [bytearray(size), size]
        given_[k] = thing
        assert op.second(*given_, made, None) == INVALID
        assert aclnn.aclGetRecentErrMsg().startswith(f"{name} ")


def test_memory_that_does_not_suffice_has_its_own_status():
    endless = raising(MemoryError(), ("__len__",))()
    assert OPS["exact"].prepare(arguments(outputSize=endless)) == (MEMORY, 0, None)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("position", ["outputSize", "inputSize"])
@each_op
def test_an_interrupt_passes_through(op, position, error):
    with pytest.raises(error):
        op.prepare(arguments(**{position: raising(error(), ("__len__",))()}))


def test_a_size_that_lies_stays_what_it_was_when_it_was_read():
    op = OPS["nearest"]
    g = arguments()
    status, _, _ = op.prepare({**g, "inputSize": (Liar(2), Liar(2), Liar(600), Liar(8), Liar(10))})
    assert status == INVALID
    assert aclnn.aclGetRecentErrMsg().startswith("gradInput has shape (2, 2, 6, 8, 10)")
