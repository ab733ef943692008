# SPDX-License-Identifier: Apache-2.0
"""Arrays of any memory: the same numbers in the layouts that callers have."""

from __future__ import annotations

import numpy as np
import oracle

CHANNELS_LAST = (0, 2, 3, 4, 1)


def placed(x, order=range(5), steps=1):
    """A copy of x whose axes lie in memory in this order, with 9s in the gaps.

    steps: how far apart the elements of each axis lie, or those of the last axis in memory, in
    elements; < 0: backwards.
    """
    if isinstance(steps, int):
        steps = [steps if axis == order[-1] else 1 for axis in range(x.ndim)]
    memory = np.full([x.shape[axis] * abs(steps[axis]) for axis in order], 9, x.dtype)
    view = memory.transpose(np.argsort(order))[tuple(slice(None, None, step) for step in steps)]
    view[...] = x
    return view


def channels_last(x):
    """A copy of x, in NCDHW order, in channels-last memory."""
    return placed(x, CHANNELS_LAST)


def inside(x):
    """A copy of x in the middle of a larger array, backwards along its third axis."""
    memory = np.full([n + 1 + (axis > 2) for axis, n in enumerate(x.shape)], 9, x.dtype)
    view = memory[1:, :-1, 1:, 1:-1, 2:][:, :, ::-1]
    view[...] = x
    return view


def misaligned(x):
    """A copy of x a byte beyond where its elements would be aligned."""
    view = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    assert not view.flags.aligned
    return view


def layouts(x):
    """x, in NCDHW order, in each layout: (name, array, data_format)."""
    yield "NCDHW", oracle.to_format(x, "NCDHW"), "NCDHW"
    yield "NDHWC", oracle.to_format(x, "NDHWC"), "NDHWC"
    yield "NCDHW view of NDHWC", channels_last(x), "NCDHW"
    yield "strided", placed(x, steps=(2, 2, -2, 2, -2)), "NCDHW"
