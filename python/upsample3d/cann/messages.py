# SPDX-License-Identifier: Apache-2.0
"""Anything a caller may pass, read once into exact types; and what is answered where that fails.

The operators answer with a status and leave a message, never an exception: what is raised here and
below them ends in refuse().
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from enum import IntEnum
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from ..spec.errors import ParameterError, ParameterTypeError, RuntimeStateError, Status

_E = TypeVar("_E", bound=IntEnum)

MOST_READ = 64
"""Elements of an int array that are looked at: as many as a NumPy array has axes."""

MOST_TOLD, LONGEST_NAME = 8, 100
"""Elements of a list, and characters of a name, that a message shows."""

_OURS = (ParameterError, ParameterTypeError, RuntimeStateError)


class aclnnStatus(IntEnum):
    """What the operators return, by CANN's names."""

    ACLNN_SUCCESS = Status.SUCCESS
    ACLNN_ERR_PARAM_NULLPTR = Status.NULL_POINTER
    ACLNN_ERR_PARAM_INVALID = Status.INVALID_PARAMETER
    ACLNN_ERR_RUNTIME_ERROR = Status.RUNTIME_ERROR
    ACLNN_ERR_INNER_INFERSHAPE_ERROR = Status.INFERSHAPE_ERROR
    ACLNN_ERR_INNER_TILING_ERROR = Status.TILING_ERROR
    ACLNN_ERR_INNER_FIND_KERNEL_ERROR = Status.KERNEL_NOT_FOUND
    ACLNN_ERR_INNER_CREATE_EXECUTOR = Status.EXECUTOR_NOT_CREATED
    ACLNN_ERR_INNER_NULLPTR = Status.INTERNAL_NULL_POINTER


_recent = threading.local()  # CANN keeps one message per thread


def aclGetRecentErrMsg() -> str | None:
    """The message of this thread's last failure: parameter, given, wanted; None without any.

    Neither reading it nor a later success clears it.
    """
    message: str | None = getattr(_recent, "message", None)
    return message


def refuse(
    error: Exception, who: str, unforeseen: Status = Status.INVALID_PARAMETER
) -> aclnnStatus:
    """The status of an error that `who` met; its message becomes the recent one."""
    if any(type(error) is ours for ours in _OURS):
        status, _recent.message = error.status, str(error)  # type: ignore[attr-defined]
    elif isinstance(error, MemoryError):
        status, _recent.message = Status.INTERNAL_NULL_POINTER, "memory does not suffice"
    else:
        status, _recent.message = unforeseen, f"{who} raises {kind(error)}, which is unforeseen"
    return aclnnStatus(status)


def kind(given: object) -> str:
    """The name of a thing's type, whatever its metaclass says."""
    return str(type.__dict__["__name__"].__get__(type(given)))[:LONGEST_NAME]


def told(numbers: Sequence[object]) -> str:
    """Numbers as a tuple prints them; of many, the first and how many there are."""
    if len(numbers) <= MOST_TOLD:
        return str(tuple(numbers))
    return f"({', '.join(map(str, numbers[:MOST_TOLD]))}, ... {len(numbers)} elements)"


@contextmanager
def reading(name: str, given: object, wanted: str) -> Iterator[None]:
    """Turns what reading `given`, the parameter `name`, raises into an error that names it.

    All of it: a caller's object can raise our errors too. What we refuse is raised outside.
    """
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        raised = "" if type(error) is TypeError else f" that raises {kind(error)}"
        raise ParameterTypeError(f"{name} is a {kind(given)}{raised}, wanted {wanted}") from None


def not_null(name: str, given: object) -> None:
    """Refuses None, the null pointer."""
    if given is None:
        raise ParameterTypeError(f"{name} is None, a null pointer", Status.NULL_POINTER)


def sequence(name: str, given: Any, wanted: str, most: int) -> list[Any]:
    """The first `most` elements of a sequence."""
    with reading(name, given, f"a sequence of {wanted}"):
        ordered = not isinstance(given, Set | Mapping)
        elements = list(islice(given, min(len(given), most)))
    if not ordered:
        raise ParameterTypeError(f"{name} is a {kind(given)}, wanted {wanted} in order")
    return elements


def integers(name: str, given: Any, most: int = MOST_READ) -> tuple[int, ...]:
    """The first `most` elements of a sequence of ints as exact ints of 64 bits."""
    elements = sequence(name, given, "64-bit integers", most)
    return tuple(int64(f"{name}[{k}]", n) for k, n in enumerate(elements))


def int64(name: str, given: Any, wanted: str = "a 64-bit integer") -> int:
    """An int of 64 bits, exact: a subclass of int could answer differently later."""
    with reading(name, given, wanted):
        number = _index(given)
    if not -(2**63) <= number < 2**63:
        raise ParameterError(f"{name} has {number.bit_length()} bits, wanted {wanted}")
    return number


def double(name: str, given: Any) -> float:
    """A Python or NumPy number as an exact float; a duration is none."""
    number_types, other = (int, float, np.integer, np.floating), np.timedelta64
    if not issubclass(type(given), number_types) or issubclass(type(given), other):
        raise ParameterTypeError(f"{name} is a {kind(given)}, wanted a number")
    wanted = "a number that a double holds"
    with reading(name, given, wanted):
        number = _index(given) if issubclass(type(given), int) else _float(given)
    try:
        return float(number)
    except OverflowError:
        raise ParameterError(f"{name} is too large an int, wanted {wanted}") from None


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


def boolean(name: str, given: Any) -> bool:
    """A Python or NumPy bool."""
    if not issubclass(type(given), (bool, np.bool_)):
        raise ParameterTypeError(f"{name} is a {kind(given)}, wanted a bool")
    return bool(given)


def member(name: str, given: Any, enum: type[_E]) -> _E:
    """A number of an enum as its member."""
    wanted = f"an {enum.__name__}"
    number = int64(name, given, wanted)
    if number not in [int(e) for e in enum]:
        raise ParameterError(f"{name} is {number}, wanted {wanted}")
    return enum(number)
