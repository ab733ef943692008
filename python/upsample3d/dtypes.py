# SPDX-License-Identifier: Apache-2.0
"""The four element types: NumPy type, name, the kernel's code, and the type their sums have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np


@dataclass(frozen=True, slots=True)
class Dtype:
    """An element type. code: its number in job.h. real: what it is summed in."""

    name: str
    numpy: np.dtype[Any]
    code: int
    real: np.dtype[Any]


_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)

DTYPES = (
    Dtype("float32", _FLOAT32, 0, _FLOAT32),
    Dtype("float16", np.dtype(np.float16), 1, _FLOAT32),
    Dtype("bfloat16", np.dtype(ml_dtypes.bfloat16), 2, _FLOAT32),
    Dtype("float64", _FLOAT64, 3, _FLOAT64),
)

_FOUND: dict[object, Dtype] = {key: d for d in DTYPES for key in (d.numpy, d.name)}


def find(dtype: object) -> Dtype | None:
    """The Dtype of a NumPy dtype, type or name; None where there is none (also for >f4 and V2)."""
    if dtype is None:  # float64 to NumPy, missing to us
        return None
    try:
        if dtype in _FOUND:
            return _FOUND[dtype]
        return _FOUND.get(np.dtype(dtype))  # type: ignore[call-overload]
    except MemoryError:
        raise
    except Exception:  # NumPy has several for what is no dtype, and a caller's object its own
        return None
