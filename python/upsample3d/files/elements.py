# SPDX-License-Identifier: Apache-2.0
"""The elements of files: the types that they are computed and stored in, and their values."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ..geometry.kinds import OPERATIONS
from .axes import Array
from .formats import Content

STORED_AS: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(ml_dtypes.bfloat16): np.dtype(np.float32),  # no file knows it; float32 holds it
    np.dtype(np.float16): np.dtype(np.float32),
    np.dtype(np.bool_): np.dtype(np.uint8),
}
"""What NIfTI does not know -> what holds the same values; of these .npy lacks bfloat16 only."""


def stored_in(work: np.dtype[Any], is_nifti: bool) -> np.dtype[Any]:
    """The dtype of a file that holds results of this one."""
    return STORED_AS.get(work, work) if is_nifti or work == ml_dtypes.bfloat16 else work


def computed_in(op: str, content: Content, dtype: np.dtype[Any] | None) -> np.dtype[Any]:
    """The dtype that a file's values are computed in, or a ValueError if there is none.

    dtype: the one that is asked for.
    """
    held: np.dtype[Any] = content.data.dtype
    native: np.dtype[Any] = held.newbyteorder("=")
    if OPERATIONS[op].moves and dtype is None and content.scaled is None:
        return native
    real(content)
    if dtype is not None:
        return dtype
    if held.kind != "f":
        return np.dtype(np.float32)
    if content.scaled is None and held.itemsize <= 8:
        return native
    return np.dtype(np.float64 if held.itemsize > 4 else np.float32)


def real(content: Content) -> None:
    """Refuses what holds no real numbers."""
    if content.data.dtype.kind not in "biuf":
        raise ValueError(f"holds elements of type {content.data.dtype}, wanted real numbers")


def values(content: Content, x: Array, dtype: np.dtype[Any]) -> Array:
    """(A part of) a file's array as values of this dtype; no copy where it holds such."""
    content.check()
    with np.errstate(over="ignore"):  # beyond the dtype is inf, for the caller to judge
        return np.asarray(x if content.scaled is None else content.scaled(x), dtype)
