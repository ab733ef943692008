# SPDX-License-Identifier: Apache-2.0
"""The element types: the four that are summed, and those whose elements are only moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np


@dataclass(frozen=True, slots=True)
class Dtype:
    """An element type. code: its number in job.h. acc: the type of its sums, if it is summed."""

    name: str
    numpy: np.dtype[Any]
    code: int
    acc: np.dtype[Any]


_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)

DTYPES = (
    Dtype("float32", _FLOAT32, 0, _FLOAT32),
    Dtype("float16", np.dtype(np.float16), 1, _FLOAT32),
    Dtype("bfloat16", np.dtype(ml_dtypes.bfloat16), 2, _FLOAT32),
    Dtype("float64", _FLOAT64, 3, _FLOAT64),
)

_FOUND: dict[object, Dtype] = {key: d for d in DTYPES for key in (d.numpy, d.name)}

_BYTES = 4
_SIZES = (1, 2, 4, 8, 16)


def is_composed(dtype: object) -> bool:
    """Whether NumPy would read a record or a sub-array, however deep, before it says no."""
    return issubclass(type(dtype), (list, tuple, dict))


def as_numpy(dtype: Any) -> np.dtype[Any]:
    """np.dtype(dtype); TypeError if `dtype.dtype` is no dtype: NumPy 1.26 converts it, warning."""
    kind = type(dtype)
    if not issubclass(kind, (str, np.dtype)):
        held = getattr(dtype, "dtype", None)
        plain = issubclass(kind, type) and issubclass(dtype, np.generic)
        if held is not None and not plain and not issubclass(type(held), np.dtype):
            raise TypeError("its attribute dtype is no NumPy dtype")
    given: np.dtype[Any] = np.dtype(dtype)
    return given


def find(dtype: object) -> Dtype | None:
    """The Dtype of a NumPy dtype, type or name; None where there is none (also for >f4 and V2).

    None is float64 to NumPy and missing to us.
    """
    if dtype is None or is_composed(dtype):
        return None
    try:
        if dtype in _FOUND:
            return _FOUND[dtype]
        return _FOUND.get(as_numpy(dtype))
    except MemoryError:
        raise
    except Exception:  # NumPy has several for what is no dtype, and a caller's object its own
        return None


def find_moved(dtype: object) -> Dtype | None:
    """The Dtype of what may be moved: any of 1, 2, 4, 8 or 16 bytes in native order, and no more.

    None for objects, records, sub-arrays, swapped bytes, other sizes and what is no dtype.
    """
    known = find(dtype)
    if known is not None or dtype is None or is_composed(dtype):
        return known
    try:
        given = as_numpy(dtype)
    except MemoryError:
        raise
    except Exception:
        return None
    plain = given.fields is None and given.subdtype is None and not given.hasobject
    if not plain or not given.isnative or given.itemsize not in _SIZES:
        return None
    return Dtype(given.name, given, _BYTES, _FLOAT64 if given.itemsize > 4 else _FLOAT32)
