# SPDX-License-Identifier: Apache-2.0
"""One argument at a time: what it has to be, and the error that says what it was instead."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from . import dtypes
from .status import ParameterError, ParameterTypeError

Scales = tuple[float | None, float | None, float | None]

MOST = 2**31 - 1
"""The largest size of an axis, that of the operators."""

MOST_SCALE = 50.0
"""The largest output/input of the exact op's first phase, and of nearest's kernels on A2 and A3."""

_MOST_READ = 64
"""Elements of a sequence that are read: as many as a NumPy array has axes."""

_MOST_SHOWN = 300
"""Characters of an argument that an error shows, so that two of them make no long message."""

_NUMBERS = (int, float, np.floating, np.integer)


def one_of(name: str, given: Any, wanted: tuple[str, ...]) -> str:
    """`given`, which is one of the wanted strings."""
    if not issubclass(type(given), str):
        raise ParameterTypeError(f"{name} is {text(given)}, wanted one of {', '.join(wanted)}")
    if given not in wanted:
        raise ParameterError(f"{name} is {text(given)}, wanted one of {', '.join(wanted)}")
    chosen: str = given
    return chosen


def integers(name: str, given: Any, count: int, wanted: str = "") -> tuple[int, ...]:
    """`given` as a tuple of `count` ints; of what has more only a few are read."""
    wanted = wanted or f"{count} integers"
    try:
        numbers = tuple(map(operator.index, islice(given, _MOST_READ)))
    except MemoryError:
        raise
    except Exception:  # a caller's object raises whatever it likes
        raise ParameterTypeError(f"{name} is {text(given)}, wanted {wanted}") from None
    if len(numbers) != count:
        shown = text(numbers if len(numbers) < _MOST_READ else given)
        raise ParameterError(f"{name} is {shown}, wanted {wanted}")
    return numbers


def five_int64(name: str, given: Any) -> tuple[int, ...]:
    """`given` as a tuple of five ints of 64 bits."""
    numbers = integers(name, given, 5)
    for k, number in enumerate(numbers):
        if abs(number) >= 2**63:
            raise ParameterError(f"{name}[{k}] is {text(number)}, wanted 64 bits")
    return numbers


def integer(name: str, given: Any, least: int, most: int = MOST) -> int:
    """`given` as an int from `least` to `most`."""
    try:
        number = operator.index(given)
    except MemoryError:
        raise
    except Exception:
        raise ParameterTypeError(f"{name} is {text(given)}, wanted an integer") from None
    if not least <= number <= most:
        raise ParameterError(f"{name} is {text(number)}, wanted {least} to {most}")
    return number


def integer_or_none(name: str, given: Any, least: int, most: int = MOST) -> int | None:
    """`given` as an int from `least` to `most`, or None."""
    return None if given is None else integer(name, given, least, most)


def element(name: str, given: Any) -> dtypes.Dtype:
    """The Dtype that `given` names."""
    found = dtypes.find(given)
    if found is None:
        wanted = " or ".join(d.name for d in dtypes.DTYPES)
        raise ParameterTypeError(
            f"{name} is {_dtype_text(given)}, wanted {wanted} in native byte order"
        )
    return found


def moved_element(name: str, given: Any) -> dtypes.Dtype:
    """The Dtype that `given` names, of elements that are moved and not computed with."""
    found = dtypes.find_moved(given)
    if found is None:
        raise ParameterTypeError(
            f"{name} is {_dtype_text(given)}, wanted plain elements of 1, 2, 4, 8 or 16 bytes "
            "in native byte order"
        )
    return found


def number(name: str, given: Any, wanted: str = "a number") -> float:
    """`given` as a float; infinite where it is an int that no float holds."""
    if not issubclass(type(given), _NUMBERS):  # an instance may say that it is of another class
        raise ParameterTypeError(f"{name} is {text(given)}, wanted {wanted}")
    try:
        return float(given)
    except OverflowError:
        return math.inf if given > 0 else -math.inf
    except MemoryError:
        raise
    except Exception:
        raise ParameterTypeError(f"{name} is {text(given)}, wanted {wanted}") from None


def input_size(given: Any) -> tuple[int, ...]:
    """`given` as five ints."""
    return integers("input_size", given, 5, "5 integers (N, C, D, H, W)")


def output_size(given: Any) -> tuple[int, ...]:
    """`given` as three ints."""
    return integers("output_size", given, 3, "3 integers (D, H, W)")


def spatial(name: str, sizes: Sequence[int]) -> None:
    """Refuses D, H, W that are not sizes of an axis."""
    for axis, size in zip("DHW", sizes, strict=True):
        integer(f"{axis} of {name}", size, 1)


def boolean(name: str, given: Any) -> bool:
    """`given`, a bool."""
    if not issubclass(type(given), (bool, np.bool_)):
        raise ParameterTypeError(f"{name} is {text(given)}, wanted a bool")
    return bool(given)


def scales_of(given: Any) -> Scales:
    """One scale per axis D, H, W, a number being all three; None, <= 0 and NaN are not given."""
    if given is None:
        return None, None, None
    if issubclass(type(given), _NUMBERS):
        given = (given, given, given)
    try:
        scales = tuple(islice(given, _MOST_READ))
    except MemoryError:
        raise
    except Exception:
        raise ParameterTypeError(f"scales is {text(given)}, wanted a number or three") from None
    if isinstance(given, (str, bytes)) or len(scales) != 3:
        raise ParameterError(f"scales is {text(given)}, wanted a number or three (D, H, W)")
    d, h, w = (scale_of(f"scales[{k}]", scale) for k, scale in enumerate(scales))
    return d, h, w


def scale_of(name: str, given: Any) -> float | None:
    """A scale that is positive and finite in float32, as is its reciprocal; None if not given."""
    if given is None:
        return None
    scale = number(name, given, "a number or None")
    if not scale > 0:
        return None
    with np.errstate(all="ignore"):
        single = np.float32(scale)
        inverse = np.float32(1 / scale)
    if not (0 < single < math.inf and 0 < inverse < math.inf):
        raise ParameterError(
            f"{name} is {text(given)}, wanted it and its reciprocal finite in float32"
        )
    return scale


def text(given: object) -> str:
    """What an error says of `given`: its own words, unless they are many or none.

    Python prints no int of more than some thousand digits, nor a tuple that holds one; and an array
    takes a tenth of a second.
    """
    if type(given) is int and given.bit_length() > 10_000:
        return f"an integer of {given.bit_length()} bits"
    if issubclass(type(given), np.ndarray) and np.ndarray.size.__get__(given) > _MOST_READ:
        return f"an array of shape {np.ndarray.shape.__get__(given)}"
    try:
        words = repr(given)
    except Exception:  # the complaint counts, not what its object says of itself
        words = f"a {type(given).__name__} that cannot be printed"
    return _shortened(words)


def _dtype_text(given: Any) -> str:
    """What an error calls a dtype: uint8, >f4; None is NumPy's float64, and not meant so."""
    try:
        return text(given) if given is None else _shortened(str(np.dtype(given)))
    except Exception:
        return text(given)


def _shortened(words: str) -> str:
    return words if len(words) <= _MOST_SHOWN else f"{words[:_MOST_SHOWN]} ..."
