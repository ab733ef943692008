# SPDX-License-Identifier: Apache-2.0
"""Every object that Python can pass, in every position: a status comes back, nothing is written."""

from __future__ import annotations

import decimal
import fractions
import itertools
import sys

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_aclnn_checks import INF, LAST, NAN, NDHWC, OPS, arguments, each_op, tensor

import upsample3d as up
from upsample3d import aclnn
from upsample3d.aclnn import AclTensor, aclDataType, aclFormat
from upsample3d.status import RuntimeStateError

STATUSES = set(aclnn.aclnnStatus)
OK, NULL, INVALID, RUNTIME, MEMORY = 0, 161001, 161002, 361001, 561103

ASKED = (
    "__len__", "__iter__", "__getitem__", "__index__", "__int__", "__float__", "__bool__",
    "__eq__", "__ne__", "__lt__", "__gt__", "__le__", "__ge__", "__hash__", "__repr__",
    "__str__", "__array__", "__array_interface__", "__array_struct__", "__buffer__", "__add__",
    "__mul__", "__truediv__", "__neg__", "__contains__", "__call__", "view", "shape",
    "strides",
)  # fmt: skip


class Unspeakable(Exception):
    """An exception that cannot be printed."""

    def __str__(self):
        raise self

    __repr__ = __str__


def raising(error, names=ASKED, bases=(), **attributes):
    """An object that answers every question of `names` by raising."""

    def raises(self, *arguments):
        raise error

    answers = {
        name: raises if name.startswith("__") and "array_" not in name else property(raises)
        for name in names
    }
    return type("Raising", bases or (object,), {**answers, **attributes})


class Hostile(type):
    """A metaclass whose classes have no name, no instances and no bases to show."""

    @property
    def __name__(cls):
        raise Unspeakable

    def __instancecheck__(cls, instance):
        raise Unspeakable

    def __subclasscheck__(cls, subclass):
        raise Unspeakable


class Nameless(metaclass=Hostile):
    pass


class NamelessError(Exception, metaclass=Hostile):
    pass


class Masked:
    """Says that it is a tensor, an array, an executor, an int: all at once."""

    def __init__(self, of):
        self._of = of

    @property
    def __class__(self):
        return self._of


class Liar(int):
    """An int that equals everything and is larger and smaller than everything."""

    def _yes(self, other):
        return True

    __eq__ = __ne__ = __lt__ = __gt__ = __le__ = __ge__ = _yes
    __hash__ = int.__hash__

    def __index__(self):
        return 4

    def __int__(self):
        return 5


class LyingFloat(float):
    def __gt__(self, other):
        return True

    def __float__(self):
        return 3.0


class Longer:
    """A sequence that has more to give than it says, or says what no length can be."""

    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __iter__(self):
        return itertools.count(1)


def destroyed():
    made = tensor((2, 2, 3, 4, 5))
    aclnn.aclDestroyTensor(made)
    return made


def released():
    view = memoryview(bytearray(8))
    view.release()
    return view


def executor():
    return OPS["exact"].prepare(arguments())[2]


ERRORS = (
    ValueError("x"), Unspeakable(), StopIteration(), RecursionError(), AttributeError("x"),
    NamelessError(), TypeError("x"), OSError(2, "x"), UnicodeDecodeError("utf-8", b"x", 0, 1, "x"),
    Warning("x"),
)  # fmt: skip
STRANGE = [
    *(lambda e=e: raising(e)() for e in ERRORS),
    lambda: raising(ValueError("x"), ("__class__",))(),
    lambda: raising(Unspeakable(), ("__iter__",), __len__=lambda self: 3)(),
    lambda: raising(Unspeakable(), ("view",), __len__=lambda self: 3)(),
    lambda: raising(ValueError("x"), ("__index__", "__eq__", "__int__"), (int,))(3),
    lambda: raising(ValueError("x"), ("__float__", "__gt__"), (float,))(3.0),
    lambda: raising(ValueError("x"), ("__len__", "__iter__"), (list,))([3, 4, 5]),
    lambda: raising(ValueError("x"), ("__len__", "__iter__"), (str,))("345"),
    lambda: np.zeros(5, np.float32).view(raising(ValueError("x"), bases=(np.ndarray,))),
    lambda: Nameless, lambda: Nameless(), lambda: Hostile,
    *(lambda c=c: Masked(c) for c in (AclTensor, np.ndarray, aclnn.AclOpExecutor, int, tuple)),
    lambda: AclTensor, lambda: AclTensor.__new__(AclTensor), destroyed, released, executor,
    lambda: AclTensor(None, 5, 30, 0, ()),
    lambda: AclTensor(None, np.zeros((2, 2, 3, 4, 5)), "NCDHW", 0, ()),
    lambda: AclTensor(None, np.zeros(3, object), aclFormat.ACL_FORMAT_ND, 0, ()),
    lambda: (Liar(3), Liar(4), Liar(5)), lambda: [Liar(2)] * 5, lambda: Liar(2),
    lambda: LyingFloat(-1),
    *(lambda n=n: Longer(n) for n in (3, 5, 0, -1, 2**40, 2**70)),
    lambda: itertools.count(), lambda: iter([3, 4, 5]), lambda: (n for n in (3, 4, 5)),
    lambda: {3, 4, 5}, lambda: {3: 1, 4: 1, 5: 1}, lambda: range(10**30), lambda: range(10**9),
    lambda: sys, lambda: len, lambda: object(), lambda: Ellipsis, lambda: NotImplemented,
    lambda: decimal.Decimal("sNaN"), lambda: fractions.Fraction(3, 2), lambda: 1j,
    lambda: np.datetime64("NaT", "s"), lambda: np.float64(2), lambda: np.float16(2),
    lambda: np.int8(-1), lambda: ml_dtypes.bfloat16(2), lambda: np.longdouble("1e4000"),
    lambda: np.bool_(True),
    lambda: np.array(2.0), lambda: np.array([3, 4, 5]), lambda: np.array([3.0, 4.0, 5.0]),
    lambda: np.zeros((3, 3)), lambda: np.array([None] * 3), lambda: np.zeros(0),
]  # fmt: skip
NUMBERS = [
    None, True, False, 0, 1, -1, 3, 2**31 - 1, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 2**70,
    10**400, -(10**400), 0.0, -0.0, 1.5, 50.0, 50.1, NAN, INF, -INF, 5e-324, 1e-46, 1e-45,
    1e-39, 3e-39, 3.5e38, 1e39, 1e46, "", "3", "345", b"", b"\x03\x04\x05", bytearray(3), (),
    (3,), (3, 4), (3, 4, 5), [3, 4, 5], (3, 4, 5.0), (3, None, 5), (0, 4, 5), (3, 4, 2**70),
    (2, 2, 6, 8, 10), (0, 2, 6, 8, 10), (2, 2, 6, 8, -1), (2, 2, 2**62, 2**62, 2**62), (-1,) * 5,
    range(3), range(3, 6), range(2, 7), "\ud800",
]  # fmt: skip
TENSORS = [
    lambda: tensor((2, 2, 3, 4, 5)), lambda: tensor((2, 2, 6, 8, 10)), lambda: tensor(()),
    lambda: tensor((0, 2, 3, 4, 5)), lambda: tensor((2, 2)), lambda: tensor((1,) * 5),
    lambda: tensor((2, 2, 3, 4, 5), aclDataType.ACL_FLOAT16),
    lambda: tensor((2, 2, 6, 8, 10), aclDataType.ACL_INT32),
    lambda: tensor((2, 3, 4, 5, 2), format=NDHWC), lambda: tensor((2, 6, 8, 10, 2), format=NDHWC),
    lambda: AclTensor.from_array(np.broadcast_to(np.float32(1), (2, 2, 3, 4, 5))),
    lambda: AclTensor.from_array(np.broadcast_to(np.float32(1), (2, 2, 6, 8, 10))),
]  # fmt: skip
anything = st.one_of(  # of STRANGE by number: hypothesis prints its strategies where a draw fails
    st.none(),
    st.integers(0, len(STRANGE) - 1).map(lambda k: STRANGE[k]()),
    st.sampled_from(NUMBERS),
    st.sampled_from(TENSORS).map(lambda make: make()),
    st.floats(),
    st.integers(),
    st.lists(st.integers(-1, 12), max_size=6),
)
POSITIONS = (
    "gradOut", "outputSize", "inputSize", "alignCorners", "scalesD", "scalesH", "scalesW",
    "gradInput",
)  # fmt: skip
changes = st.dictionaries(st.sampled_from(POSITIONS), anything, max_size=4)
many = settings(
    max_examples=2000, deadline=None, database=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip


def pixels(given):
    """The bytes of gradInput, whatever stands there."""
    made = given["gradInput"]
    if type(made) is AclTensor and type(getattr(made, "view", None)) is np.ndarray:
        return made.view.tobytes()
    return b""


@each_op
def test_first_phase_answers_whatever_it_gets(op):
    seen = {}

    @many
    @given(changes, st.booleans())
    def examples(changed, last):
        given_ = {**arguments(**(LAST if last else {})), **changed}
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
        status = op.second(*{**right, **changed}.values())
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
