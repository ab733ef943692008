# SPDX-License-Identifier: Apache-2.0
"""Arrays of any memory: the same numbers in the layouts that callers have."""

from __future__ import annotations

import numpy as np
import oracle


def layouts(x):
    """x, in NCDHW order, in each layout: (name, array, data_format)."""
    yield "NCDHW", oracle.to_format(x, "NCDHW"), "NCDHW"
    last = oracle.to_format(x, "NDHWC")
    yield "NDHWC", last, "NDHWC"
    yield "NCDHW view of NDHWC", oracle.from_format(last, "NDHWC"), "NCDHW"
    wide = np.zeros([2 * n for n in x.shape], x.dtype)
    wide[::2, 1::2, ::-2, 1::2, ::-2] = x
    yield "strided", wide[::2, 1::2, ::-2, 1::2, ::-2], "NCDHW"


def channels_last(array: np.ndarray) -> np.ndarray:
    """The same NCDHW array in channels-last memory."""
    return np.ascontiguousarray(array.transpose(0, 2, 3, 4, 1)).transpose(0, 4, 1, 2, 3)
