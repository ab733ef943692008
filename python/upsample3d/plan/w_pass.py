# SPDX-License-Identifier: Apache-2.0
"""How the W pass runs: the form that fits a band of W, the lanes and the type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

SUM, PICK, SAME = 0, 1, 2
W_NONE, W_LANES, W_COLUMNS, W_LOOKUP = 0, 1, 2, 3
"""How the W pass runs: not at all, along lanes, over rows turned into columns, or by looking lanes
up (job.h)."""

NAMES = "none", "lanes", "columns", "lookup"
"""What a Plan calls these."""

MOST_TERMS = 6
"""Terms that are looked up at most."""

MOST_NUMBER = 2**31 - 1
"""The most elements of a row of sources that are looked up: tables have 32 bits (job.h)."""

COLUMN_BYTES = 64
"""Rows that are turned into columns together fill one cache line of reals (job.h)."""

VECTOR_BYTES = 64
"""Bytes of the longest vector."""

VECTOR = VECTOR_BYTES // 4
"""Lanes of it: runs of w are multiples of it, and turning columns back may read so many beyond the
last."""

ROWS = 16
"""Rows that are looked up together, so that a table's part is read once for them. Not measured."""

PICKED_WHOLE = 16
"""Bytes of lanes from which on a pick moves them as they are: 4 times as fast as looking up 32."""


class Axis(Protocol):
    """What is asked of a band."""

    @property
    def lo(self) -> NDArray[np.int64]: ...
    @property
    def hi(self) -> NDArray[np.int64]: ...
    @property
    def sources(self) -> int: ...
    @property
    def kind(self) -> int: ...
    @property
    def reached(self) -> int: ...


class Memory(Protocol):
    """What is asked of a layout."""

    @property
    def itemsize(self) -> int: ...
    @property
    def planes(self) -> int: ...
    @property
    def lanes(self) -> int: ...
    @property
    def source_row(self) -> bool: ...
    @property
    def result_row(self) -> bool: ...
    @property
    def result_slab(self) -> bool: ...
    @property
    def dense_bytes(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Form:
    """A form of the W pass.

    w_form: W_NONE, W_LANES, W_COLUMNS or W_LOOKUP. group: result rows that are finished together.
    window: elements of a row that are read at once. shuffled: elements are looked up byte by byte,
    where they lie close enough.
    """

    w_form: int
    group: int
    window: int = 0
    shuffled: bool = False


def form_of(w: Axis, memory: Memory, realsize: int, pick: bool) -> Form:
    """The Form of a band of W.

    realsize: bytes that a sum has. pick: every result of the op is one source, to be moved.
    """
    lanes, itemsize = memory.lanes, memory.itemsize
    if w.kind == SAME:
        return Form(W_NONE, 1)
    if can_look_up(w, memory, realsize, pick):
        shuffled = pick and lanes == 1 and itemsize < 4 and w.reached > w.sources
        bytes_ = VECTOR_BYTES // itemsize if shuffled else 0
        return Form(W_LOOKUP, ROWS, max(2 * VECTOR, bytes_), shuffled)
    if lanes * realsize >= COLUMN_BYTES or pick:
        return Form(W_LANES, 1)
    return Form(W_COLUMNS, COLUMN_BYTES // realsize, VECTOR)


def can_look_up(w: Axis, memory: Memory, realsize: int, pick: bool) -> bool:
    """Whether W can be looked up: places of 32 bits, short pixels, few terms, and every vector of
    results has its sources within two, on every CPU level."""
    lanes, longest = memory.lanes, int((w.hi - w.lo).max(initial=0))
    if w.sources * lanes > MOST_NUMBER:
        return False
    if realsize != 4 or lanes * realsize >= COLUMN_BYTES or not 1 <= longest <= MOST_TERMS:
        return False
    if pick and (memory.itemsize > 4 or lanes * memory.itemsize >= PICKED_WHOLE):
        return False
    lo = w.lo[: w.reached] if pick else w.lo  # a pick clears the others
    n = len(lo) * lanes
    first = np.full(n + VECTOR, lo[-1] * lanes + lanes - 1)  # the last is repeated
    first[:n] = (lo[:, None] * lanes + np.arange(lanes)).ravel()
    for vector in (4, 8, VECTOR):
        vectors = first[: -(-n // vector) * vector].reshape(-1, vector)
        for some in (vectors, first[max(0, n - vector) : n][None]):
            if (some.max(axis=1) - some.min(axis=1)).max() >= 2 * vector:
                return False
    return True
