# SPDX-License-Identifier: Apache-2.0
"""One argument at a time: what it has to be, and the error that says what it was instead."""

from __future__ import annotations

import math
import operator
import reprlib
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from . import dtypes
from .errors import ParameterError, ParameterTypeError

Scales = tuple[float | None, float | None, float | None]

MOST = 2**31 - 1
"""The largest size of an axis, that of the operators."""

MOST_SCALE = 50.0
"""The largest output/input of the exact op's first phase, and of nearest's kernels on A2 and A3."""

_MOST_READ = 64
"""Elements of a sequence that are read: as many as a NumPy array has axes."""

_MOST_SHOWN = 300
"""Characters of an argument that an error shows, so that two of them make no long message."""

_MOST_LISTED = 16
"""Elements of a tuple, list, set or dict among them."""

_NUMBERS = (int, float, np.floating, np.integer)
_UNORDERED = (set, frozenset, dict)

_SINGLE_ZERO, _SINGLE_INFINITY = 2.0**-150, 2.0**128 - 2.0**103
"""The largest number that float32 rounds to 0, and the least that it rounds to infinity."""


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
    if type(given) is not tuple and issubclass(type(given), _UNORDERED):
        raise ParameterTypeError(f"{name} is {text(given)}, wanted {wanted}, in order")
    if len(numbers) != count:
        shown = text(numbers if len(numbers) < _MOST_READ else given)
        raise ParameterError(f"{name} is {shown}, wanted {wanted}")
    return numbers


def five_int64(name: str, given: Any, wanted: str = "") -> tuple[int, ...]:
    """`given` as a tuple of five ints of 64 bits."""
    numbers = integers(name, given, 5, wanted)
    for k, number in enumerate(numbers):
        if not -(2**63) <= number < 2**63:
            raise ParameterError(f"{name}[{k}] is {text(number)}, wanted 64 bits")
    return numbers


def strides(name: str, given: Any, shape: Sequence[int]) -> tuple[int, ...]:
    """`given` as strides of an array of this shape, in bytes; where it has no neighbour, 0.

    A stride of -2^63, which NumPy lets axes of length 1 have, has no absolute value in 64 bits.
    """
    wanted = "5 integers, the bytes from an element to the next along each axis"
    numbers = five_int64(name, given, wanted)
    if -(2**63) not in numbers:
        return numbers
    for k, (number, size) in enumerate(zip(numbers, shape, strict=True)):
        if number == -(2**63) and size > 1:
            raise ParameterError(f"{name}[{k}] is {number}, wanted an absolute value of 63 bits")
    return tuple(0 if number == -(2**63) else number for number in numbers)


def integer(name: str, given: Any, least: int, most: int = MOST) -> int:
    """`given` as an int from `least` to `most`."""
    wanted = f"{least} to {most}"
    try:
        number = operator.index(given)
    except MemoryError:
        raise
    except Exception:
        raise ParameterTypeError(f"{name} is {text(given)}, wanted an integer, {wanted}") from None
    if not least <= number <= most:
        raise ParameterError(f"{name} is {text(number)}, wanted {wanted}")
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
    if not issubclass(kind, _NUMBERS) or issubclass(kind, np.timedelta64):
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
    try:
        scales = tuple(islice(given, _MOST_READ))
    except MemoryError:
        raise
    except Exception:
        raise ParameterTypeError(f"scales is {text(given)}, wanted {wanted}") from None
    if issubclass(type(given), _UNORDERED):
        raise ParameterTypeError(f"scales is {text(given)}, wanted {wanted}, in order")
    if isinstance(given, (str, bytes)) or len(scales) != 3:
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


class _Words(reprlib.Repr):
    """What things say of themselves, but only the beginning of what is long.

    Python prints no int of more than some thousand digits; and an array takes a tenth of a second.
    """

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxtuple = self.maxlist = self.maxdict = self.maxset = self.maxfrozenset = _MOST_LISTED

    def repr1(self, x: Any, level: int) -> str:
        if issubclass(type(x), np.ndarray):
            plain = np.ndarray.dtype.__get__(x).kind in "biufc"  # others may say anything
            if not plain or np.ndarray.size.__get__(x) > _MOST_READ:
                return f"an array of shape {np.ndarray.shape.__get__(x)}"
        if type(x) is int and x.bit_length() > 10_000:
            return f"an integer of {x.bit_length()} bits"
        if type(x) in _UNORDERED and len(x) > _MOST_LISTED:  # reprlib would sort them
            return f"a {type_name(x)} of {len(x)} elements"
        if type(x) in (tuple, list, *_UNORDERED):
            return super().repr1(x, level)
        return repr(x[:_MOST_SHOWN] if type(x) in (str, bytes) else x)


_WORDS = _Words()


def text(given: object) -> str:
    """What an error says of `given`: its own words, unless they are many or none."""
    try:
        words = _WORDS.repr(given)
    except Exception:  # the complaint counts, not what its object says of itself
        words = f"a {type_name(given)} that cannot be printed"
    return _shortened(words)


def type_name(given: object) -> str:
    """The name of a thing's type, whatever its metaclass says."""
    return _shortened(str(type.__dict__["__name__"].__get__(type(given))))


def dtype_text(given: Any) -> str:
    """What an error calls a dtype: uint8, >f4; None is NumPy's float64, and not meant so."""
    try:
        if given is None or dtypes.is_composed(given):
            return text(given)
        return _shortened(str(dtypes.as_numpy(given)))
    except Exception:
        return text(given)


def _shortened(words: str) -> str:
    return words if len(words) <= _MOST_SHOWN else f"{words[:_MOST_SHOWN]} ..."
