# SPDX-License-Identifier: Apache-2.0
"""The attributes of IR operators: how a value is read that is given for one.

A reader returns exact types and raises what it likes for what it does not want.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import messages


def int64s(given: Any) -> tuple[int, ...]:
    """A list of ints of 64 bits."""
    return tuple(messages.int64("", number) for number in _elements(given))


def real(given: Any) -> tuple[float, ...]:
    """A float."""
    return (_real(given),)


def reals(given: Any) -> tuple[float, ...]:
    """A list of floats."""
    return tuple(map(_real, _elements(given)))


def _elements(given: Any) -> list[Any]:
    elements = messages.sequence("", given, "numbers", messages.MOST_READ + 1)
    if len(elements) > messages.MOST_READ:  # the rest is not read, and could say otherwise
        raise ValueError
    return elements


def _real(given: Any) -> float:
    """float32, as the IR holds it."""
    with np.errstate(all="ignore"):
        return float(np.float32(messages.double("", given)))


def boolean(given: Any) -> bool:
    """A bool, or 0 or 1."""
    if issubclass(type(given), np.bool_):
        return bool(given)
    number = messages.int64("", given)
    if number not in (0, 1):
        raise ValueError
    return number == 1


_WANTED: dict[Callable[[Any], Any], str] = {
    int64s: "a list of integers",
    real: "a float",
    reals: "a list of floats",
    boolean: "a bool",
}


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute: how its value is read, and its default. None: it is required."""

    name: str
    read: Callable[[Any], Any]
    default: Any = None

    @property
    def wanted(self) -> str:
        """What its value has to be, in words."""
        return _WANTED[self.read]
