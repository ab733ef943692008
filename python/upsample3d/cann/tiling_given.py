# SPDX-License-Identifier: Apache-2.0
"""What the tilings are given, read; what they refuse is a TilingError."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ..kernel import cpu
from ..spec import arguments, dtypes
from ..spec.errors import ParameterTypeError, TilingError
from .tiling_data import Scales, triple

_T = TypeVar("_T")
_P = ParamSpec("_P")

BLOCK = 32
"""Bytes of the unit in which local memory is filled."""

ITEMSIZES = {"float32": 4, "float16": 2, "bfloat16": 2}


def by_itself(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Make a function independent of its caller's floating-point mode and NumPy error state."""

    @wraps(function)
    def alone(*arguments: _P.args, **named: _P.kwargs) -> _T:
        with np.errstate(all="ignore"):
            return cpu.in_default_mode(partial(function, *arguments, **named))

    return alone


def dtype_name(argument: str, given: Any) -> str:
    """Return the name of a dtype; of a string that NumPy does not know, its words."""
    try:
        if given is not None:  # which is float64 to NumPy
            return str(dtypes.as_numpy(given).name)
    except MemoryError:
        raise
    except Exception:  # NumPy has several for what is no dtype, and a caller's object its own
        if issubclass(type(given), str):
            return arguments.text(str.__str__(given))
    raise ParameterTypeError(f"{argument} is {arguments.text(given)}, wanted a dtype or its name")


def sizes_of(name: str, given: Any) -> tuple[int, ...]:
    """Return N, C, D, H, W, each at least 1."""
    sizes = arguments.int64s(name, given, 5, "5 integers (N, C, D, H, W)")
    if min(sizes) < 1:
        raise TilingError(f"{name} is {sizes}, wanted sizes > 0")
    return sizes


def three(name: str, given: Any) -> Scales:
    """Return a number per axis, float32 as the device holds it."""
    numbers = enumerate(arguments.elements(name, given, 3, "3 numbers", sized=True))
    return triple(float(np.float32(arguments.double(f"{name}[{k}]", n))) for k, n in numbers)


def element(given: Any, itemsizes: dict[str, int]) -> tuple[str, int]:
    """Return (name, itemsize) of a dtype that the tiling takes."""
    name = dtype_name("dtype", given)
    if name not in itemsizes:
        raise TilingError(f"dtype is {name}, wanted {' or '.join(itemsizes)}")
    return name, itemsizes[name]


def given_or(given: Scales, above: Sequence[int], below: Sequence[int]) -> Scales:
    """Return each scale that is > 0, else the ratio of the sizes."""
    return triple(
        scale if scale > 0 else float(np.float32(a) / np.float32(b))
        for scale, a, b in zip(given, above, below, strict=True)
    )
