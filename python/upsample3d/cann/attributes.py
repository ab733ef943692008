# SPDX-License-Identifier: Apache-2.0
"""The attributes of IR operators: how a value is read that is given for one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..spec import arguments


def int64s(name: str, given: Any) -> tuple[int, ...]:
    """Read a list of ints of 64 bits."""
    return arguments.int64s(name, given, wanted="a list of integers", whole=True)


def real(name: str, given: Any) -> tuple[float, ...]:
    """Read a float, float32 as the IR holds it."""
    with np.errstate(all="ignore"):
        return (float(np.float32(arguments.double(name, given))),)


def reals(name: str, given: Any) -> tuple[float, ...]:
    """Read a list of floats."""
    found = arguments.sequence(name, given, "a list of floats", sized=True, whole=True)
    return sum((real(f"{name}[{k}]", number) for k, number in enumerate(found)), ())


def boolean(name: str, given: Any) -> bool:
    """Read a bool, or 0 or 1."""
    if issubclass(type(given), np.bool_):
        return bool(given)
    return arguments.integer(name, given, 0, 1, "a bool, or 0 or 1") == 1


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute: how its value is read, and its default. None: it is required."""

    name: str
    read: Callable[[str, Any], Any]
    default: Any = None
