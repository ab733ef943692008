# SPDX-License-Identifier: Apache-2.0
"""What an error says of an argument: its own words, but few."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np

from . import dtypes

_MOST_SHOWN = 300
"""Characters of an argument that an error shows, so that two of them make no long message."""

_MOST_LISTED, _MOST_IN_ARRAY = 16, 64
"""Elements of a tuple, list, set or dict, and of an array, that is shown."""

_UNORDERED = (set, frozenset, dict)


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
            if not plain or np.ndarray.size.__get__(x) > _MOST_IN_ARRAY:
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
    """What an error says of `given`: its own words, unless they are many, none or an address."""
    try:
        words = _WORDS.repr(given)
        if words.startswith("<") and " at 0x" in words:
            return described(given)
    except Exception:  # the complaint counts, not what its object says of itself
        words = f"a {type_name(given)} that cannot be printed"
    return _shortened(words)


def type_name(given: object) -> str:
    """The name of a thing's type, whatever its metaclass says."""
    return _shortened(str(type.__dict__["__name__"].__get__(type(given))))


def described(given: object) -> str:
    """An object by its type: "a list", "an int"."""
    name = type_name(given)
    return f"{'an' if name[:1] in tuple('aeiouAEIOU') else 'a'} {name}"


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
