# SPDX-License-Identifier: Apache-2.0
"""One argument at a time: what it has to be, and the error that says what it was instead."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from itertools import islice
from types import TracebackType
from typing import Any

import numpy as np

from . import dtypes
from .errors import ParameterError, ParameterTypeError
from .words import dtype_text as dtype_text
from .words import text as text
from .words import type_name

Scales = tuple[float | None, float | None, float | None]

MOST = 2**31 - 1
"""The largest size of an axis, that of the operators."""

MOST_SCALE = 50.0
"""The largest output/input of the exact op's first phase, and of nearest's kernels on A2 and A3."""

MOST_READ = 64
"""Elements of a sequence that are read: as many as a NumPy array has axes."""

_INT64 = -(2**63), 2**63 - 1

_INT = {int}
_NUMBERS = (int, float, np.floating, np.integer)

_SINGLE_ZERO, _SINGLE_INFINITY = 2.0**-150, 2.0**128 - 2.0**103
"""The largest number that float32 rounds to 0, and the least that it rounds to infinity."""


class reading:
    """Turns what reading `given`, the argument `name`, raises into an error that names it.

    All of it but MemoryError: a caller's object raises whatever it likes, our errors too. What we
    refuse is raised outside.
    """

    __slots__ = ("given", "name", "wanted")

    def __init__(self, name: str, given: object, wanted: str) -> None:
        self.name, self.given, self.wanted = name, given, wanted

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: object, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, MemoryError):
            raised = "" if type(error) is TypeError else f"; it raises {type_name(error)}"
            raise ParameterTypeError(
                f"{self.name} is {text(self.given)}, wanted {self.wanted}{raised}"
            ) from None


def one_of(name: str, given: Any, wanted: tuple[str, ...]) -> str:
    """`given`, which is one of the wanted strings, as an exact str."""
    if not issubclass(type(given), str):
        raise ParameterTypeError(f"{name} is {text(given)}, wanted one of {', '.join(wanted)}")
    chosen = str.__str__(given)  # a subclass may compare and hash as it likes
    if chosen not in wanted:
        raise ParameterError(f"{name} is {text(given)}, wanted one of {', '.join(wanted)}")
    return chosen


def sequence(
    name: str, given: Any, wanted: str, *, sized: bool = False, whole: bool = False
) -> tuple[Any, ...]:
    """The first elements of what has an order.

    sized: whether `given` has to know its length, and no element beyond it is read. whole: whether
    more elements than are read are refused.
    """
    if type(given) is tuple and len(given) <= MOST_READ:
        return given
    most = MOST_READ + whole
    with reading(name, given, wanted):
        found = tuple(islice(given, min(len(given), most) if sized else most))
        ordered = not issubclass(type(given), (Set, Mapping))
    if not ordered:
        raise ParameterTypeError(f"{name} is {text(given)}, wanted {wanted}, in order")
    if whole and len(found) == most:
        raise ParameterError(f"{name} has more than {MOST_READ} elements, wanted at most that")
    return found


def elements(
    name: str, given: Any, count: int, wanted: str, *, sized: bool = False
) -> tuple[Any, ...]:
    """The elements of a sequence of `count`."""
    found = sequence(name, given, wanted, sized=sized)
    if len(found) != count:
        raise ParameterError(f"{name} is {text(given)}, wanted {wanted}")
    return found


def integers(
    name: str, given: Any, count: int | None = None, wanted: str = "", *, sized: bool = False,
    whole: bool = False,
) -> tuple[int, ...]:  # fmt: skip
    """A sequence as ints, `count` of them if it is given."""
    if type(given) is tuple and len(given) == count and set(map(type, given)) == _INT:
        return given
    wanted = wanted or f"{count} integers"
    found = sequence(name, given, wanted, sized=sized, whole=whole)
    if set(map(type, found)) != _INT:
        with reading(name, given, wanted):
            found = tuple(map(_index, found))
    if count is not None and len(found) != count:
        shown = text(found if len(found) < MOST_READ else given)
        raise ParameterError(f"{name} is {shown}, wanted {wanted}")
    return found


def int64s(
    name: str, given: Any, count: int | None = None, wanted: str = "a sequence of 64-bit integers",
    *, sized: bool = True, whole: bool = False,
) -> tuple[int, ...]:  # fmt: skip
    """A sequence as ints of 64 bits."""
    numbers = integers(name, given, count, wanted, sized=sized, whole=whole)
    for k, found in enumerate(numbers):
        if not _INT64[0] <= found <= _INT64[1]:
            raise ParameterError(f"{name}[{k}] is {text(found)}, wanted 64 bits")
    return numbers


def strides(name: str, given: Any, shape: Sequence[int]) -> tuple[int, ...]:
    """`given` as strides of an array of this shape, in bytes; where it has no neighbour, 0.

    A stride of -2^63, which NumPy lets axes of length 1 have, has no absolute value in 64 bits.
    """
    wanted = "5 integers, the bytes from an element to the next along each axis"
    numbers = int64s(name, given, 5, wanted, sized=False)
    if -(2**63) not in numbers:
        return numbers
    for k, (number, size) in enumerate(zip(numbers, shape, strict=True)):
        if number == -(2**63) and size > 1:
            raise ParameterError(f"{name}[{k}] is {number}, wanted an absolute value of 63 bits")
    return tuple(0 if number == -(2**63) else number for number in numbers)


def integer(name: str, given: Any, least: int, most: int = MOST, wanted: str = "") -> int:
    """`given` as an int from `least` to `most`."""
    with reading(name, given, wanted or f"an integer, {least} to {most}"):
        number = _index(given)
    if not least <= number <= most:
        raise ParameterError(f"{name} is {text(number)}, wanted {wanted or f'{least} to {most}'}")
    return number


def int64(name: str, given: Any, wanted: str = "a 64-bit integer") -> int:
    """`given` as an int of 64 bits."""
    return integer(name, given, *_INT64, wanted)


def integer_or_none(name: str, given: Any, least: int, most: int = MOST) -> int | None:
    """`given` as an int from `least` to `most`, or None."""
    return None if given is None else integer(name, given, least, most)


def element(name: str, given: Any) -> dtypes.Dtype:
    """The Dtype that `given` names."""
    found = dtypes.find(given)
    if found is None:
        wanted = " or ".join(d.name for d in dtypes.DTYPES)
        raise ParameterTypeError(
            f"{name} is {dtype_text(given)}, wanted {wanted} in native byte order, "
            "as .astype gives them"
        )
    return found


def moved_element(name: str, given: Any) -> dtypes.Dtype:
    """The Dtype that `given` names, of elements that are moved and not computed with."""
    found = dtypes.find_moved(given)
    if found is None:
        raise ParameterTypeError(
            f"{name} is {dtype_text(given)}, wanted plain elements of 1, 2, 4, 8 or 16 bytes "
            "in native byte order, such as int32, as .astype gives them"
        )
    return found


def number(name: str, given: Any, wanted: str = "a float or an int") -> float:
    """`given` as a float; infinite where it is an int that no float holds.

    A duration is none, though NumPy counts it among its integers.
    """
    kind = type(given)  # an instance may say that it is of another class
    if kind is not float and kind is not int:
        if not issubclass(kind, _NUMBERS) or issubclass(kind, np.timedelta64):
            raise ParameterTypeError(f"{name} is {text(given)}, wanted {wanted}")
        with reading(name, given, wanted):
            given = _index(given) if issubclass(kind, int) else _float(given)
    try:
        return float(given)
    except OverflowError:
        return math.inf if given > 0 else -math.inf


def double(name: str, given: Any) -> float:
    """`given` as a float, which an int is that a float holds."""
    found = number(name, given)
    if math.isinf(found) and issubclass(type(given), int):
        raise ParameterError(f"{name} is {text(given)}, wanted a number that a double holds")
    return found


def _index(given: Any) -> int:
    """operator.index without Python's warning where __index__ returns a subclass of int."""
    if not issubclass(type(given), int):
        if issubclass(type(given), np.bool_) or not hasattr(type(given), "__index__"):
            raise TypeError  # NumPy 1.26 takes its bools, and warns
        given = type(given).__index__(given)
    return int.__index__(given)


def _float(given: Any) -> float:
    """float(given), without Python's warning where __float__ returns a subclass of float."""
    if not issubclass(type(given), float):
        given = type(given).__float__(given)
    return float.__float__(given)


def input_size(given: Any) -> tuple[int, ...]:
    """`given` as five ints, the size of a result."""
    return integers(
        "input_size", given, 5, "5 integers (N, C, D, H, W), with grad_output's N and C first"
    )


def output_size(given: Any) -> tuple[int, ...]:
    """`given` as three ints."""
    return integers(
        "output_size", given, 3, "3 integers (D, H, W); N and C stay, and factors go into scales"
    )


def spatial(name: str, sizes: Sequence[int]) -> None:
    """Refuses D, H, W that are not sizes of an axis."""
    for axis, size in zip("DHW", sizes, strict=True):
        integer(f"{axis} of {name}", size, 1)


def boolean(name: str, given: Any) -> bool:
    """`given`, a bool."""
    if not issubclass(type(given), (bool, np.bool_)):
        raise ParameterTypeError(f"{name} is {text(given)}, wanted True or False")
    return bool(given)


def scales_of(given: Any) -> Scales:
    """One number per axis D, H, W, a single one being all three; None where it is None or NaN.

    Those that are <= 0 do not count. Those that count are finite in float32, as are their
    reciprocals.
    """
    if given is None:
        return None, None, None
    wanted = "a float or an int, or three of them (D, H, W)"
    if issubclass(type(given), _NUMBERS):
        given = (given, given, given)
    scales = elements("scales", given, 3, wanted)
    if issubclass(type(given), (str, bytes)):
        raise ParameterError(f"scales is {text(given)}, wanted {wanted}")
    d, h, w = (scale_of(f"scales[{k}]", scale) for k, scale in enumerate(scales))
    return d, h, w


def scale_of(name: str, given: Any) -> float | None:
    """A number; if it is > 0, it is finite in float32, as is its reciprocal. None for None, NaN."""
    if given is None:
        return None
    scale = number(name, given, "a float, an int or None")
    if scale <= 0:
        return scale
    if not scale > 0:
        return None
    for single in (scale, 1 / scale):
        if not _SINGLE_ZERO < single < _SINGLE_INFINITY:
            raise ParameterError(
                f"{name} is {text(given)}, wanted it and its reciprocal finite in float32"
            )
    return scale


def counting(scales: Scales) -> Scales:
    """The scales that are > 0, None for the others."""
    d, h, w = (scale if scale is not None and scale > 0 else None for scale in scales)
    return d, h, w
