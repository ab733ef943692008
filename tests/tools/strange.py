# SPDX-License-Identifier: Apache-2.0
"""Objects that a caller might pass and nobody expects: what lies, raises, warns, or has no end."""

from __future__ import annotations

import decimal
import fractions
import itertools
import sys
import warnings

import ml_dtypes
import numpy as np
from aclnn_calls import INF, NAN, NDHWC, OPS, arguments, tensor

from upsample3d import aclnn
from upsample3d.aclnn import AclTensor, aclDataType, aclFormat

ASKED = (
    "__len__", "__iter__", "__getitem__", "__index__", "__int__", "__float__", "__bool__",
    "__eq__", "__ne__", "__lt__", "__gt__", "__le__", "__ge__", "__hash__", "__repr__",
    "__str__", "__array__", "__array_interface__", "__array_struct__", "__buffer__", "__add__",
    "__mul__", "__truediv__", "__neg__", "__contains__", "__call__", "view", "shape",
    "strides",
)  # fmt: skip


def asked_by_us():
    """Whether the library asks, not pytest, which would end with a test that fails."""
    return "pytest" not in sys._getframe(2).f_globals["__name__"]


class Unspeakable(Exception):
    """An exception that cannot be printed."""

    def __str__(self):
        if asked_by_us():
            raise self.with_traceback(None)
        return "unspeakable"

    __repr__ = __str__


def raising(error, names=ASKED, bases=(), **attributes):
    """An object that answers every question of `names` by raising."""

    def raises(self, *arguments):
        raise error.with_traceback(None)  # the last one's would be kept, and all its objects

    answers = {
        name: raises if name.startswith("__") and "array_" not in name else property(raises)
        for name in names
    }
    return type("Raising", bases or (object,), {**answers, **attributes})


class Hostile(type):
    """A metaclass whose classes have no name, no instances and no bases to show."""

    @property
    def __name__(cls):
        if asked_by_us():
            raise Unspeakable
        return "Nameless"

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


class Count(int):
    """Python warns where this is what __index__ returns."""


class Counts:
    def __index__(self):
        return Count(3)


class Measure(np.float32):
    """A float that NumPy's is not, and Python warns."""

    def __float__(self):
        return LyingFloat(3)


class Typed:
    """NumPy warns where a dtype attribute is none."""

    dtype = "f4"


def generic(make):
    """Times without a unit, which NumPy is about to give up."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


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
    lambda: np.datetime64("NaT", "s"), lambda: np.timedelta64(3, "s"), Counts, Typed,
    lambda: (Counts(), 4, 5), lambda: Measure(2), lambda: generic(lambda: np.datetime64("NaT")),
    lambda: generic(lambda: np.timedelta64(3)), lambda: np.float64(2), lambda: np.float16(2),
    lambda: np.int8(-1),
    lambda: ml_dtypes.bfloat16(2), lambda: np.longdouble("1e4000"), lambda: np.bool_(True),
    lambda: np.array(2.0), lambda: np.array([3, 4, 5]), lambda: np.array([3.0, 4.0, 5.0]),
    lambda: np.zeros((3, 3)), lambda: np.array([None] * 3), lambda: np.zeros(0),
    lambda: "x" * 3_000_000, lambda: [0] * 1_000_000, lambda: type("T" * 3_000_000, (), {})(),
    lambda: np.zeros(3, [(f"field{k}", "u1") for k in range(2000)]),
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
