# SPDX-License-Identifier: Apache-2.0
"""How the W pass runs: the form that suits a band of W, and the table of first sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..geometry.band import IDENTITY, Band
from ..spec.layout import Layout
from . import machine

W_NONE, W_PIXELS, W_COLUMNS, W_TABLE = 0, 1, 2, 3
"""How the W pass runs (job.h): not at all, pixel by pixel, over rows turned into columns, or by a
table of first sources."""

NAMES = "none", "pixels", "columns", "table"
"""The same in a Plan's repr."""

MAX_TERMS = 6
"""Terms of a table at most (width.h)."""

MAX_ELEMENTS = 2**31 - 1
"""Elements of a source row that a table can count in 32 bits (job.h)."""

COLUMN_BYTES = 64
"""Bytes of accumulators of a column: one cache line (job.h)."""

VECTOR_BYTES = 64
"""Bytes of the longest vector of any CPU level."""

VECTOR = VECTOR_BYTES // 4
"""Its lanes: tiles along W are multiples of it, and columns and tables are read so far beyond."""


class Table(NamedTuple):
    """The band of a row with `pixel` elements per index as a rectangle (job.h).

    first: int32, [results * pixel + VECTOR], first sources; the last one is repeated.
    w: float32, [terms, results * pixel + VECTOR]; 0 where a result has fewer terms, and at the end.
    smallest, largest: of `vector` first sources, from every result on; None if the pixel is 1.
    byte: uint8, result byte k is source byte byte[k] (mod 256); None unless bytes are shuffled.
    """

    first: NDArray[np.int32]
    w: NDArray[np.float32]
    smallest: NDArray[np.int32] | None
    largest: NDArray[np.int32] | None
    byte: NDArray[np.uint8] | None


@dataclass(frozen=True, slots=True)
class Form:
    """A form of the W pass.

    w_form: W_NONE, W_PIXELS, W_COLUMNS or W_TABLE. rows_together: result rows finished together.
    window: elements of a row read at once. shuffled: bytes are permuted one by one, if their
    sources lie close together.
    """

    w_form: int
    rows_together: int
    window: int = 0
    shuffled: bool = False

    def table(self, w: Band, pixel: int, itemsize: int, vector: int) -> Table:
        """The Table of a band, for vectors of `vector` lanes."""
        first, terms = _firsts(w.lo, pixel).astype(np.int32), w.hi - w.lo
        weights = np.full((max(1, int(terms.max(initial=0))), len(first)), -0.0, np.float32)
        weights[0] = 0
        for t, row in enumerate(weights):
            k = np.flatnonzero(terms > t)
            row[:-VECTOR].reshape(-1, pixel)[k] = 1 if w.w is None else w.w[w.start[k] + t, None]
        smallest = largest = byte = None
        if pixel > 1:  # first sources do not ascend
            windows = np.lib.stride_tricks.sliding_window_view(first, vector)
            smallest, largest = windows.min(axis=1), windows.max(axis=1)
        if self.shuffled:
            byte = (w.lo[:, None] * itemsize + np.arange(itemsize)).astype(np.uint8).ravel()
        return Table(first, weights, smallest, largest, byte)


def form_of(w: Band, memory: Layout, acc_size: int, copy: bool) -> Form:
    """The Form of a band of W.

    acc_size: bytes of an accumulator. copy: every result of the op is a copy of one source.
    """
    pixel, itemsize = memory.pixel, memory.itemsize
    if w.kind == IDENTITY:
        return Form(W_NONE, 1)
    if fits_table(w, memory, acc_size, copy):
        shuffled = copy and pixel == 1 and itemsize < 4 and w.covered > w.sources
        bytes_ = VECTOR_BYTES // itemsize if shuffled else 0
        return Form(W_TABLE, machine.this.table_rows, max(2 * VECTOR, bytes_), shuffled)
    if pixel * acc_size >= COLUMN_BYTES or copy:
        return Form(W_PIXELS, 1)
    return Form(W_COLUMNS, COLUMN_BYTES // acc_size, VECTOR)


def fits_table(w: Band, memory: Layout, acc_size: int, copy: bool) -> bool:
    """Whether a table suits W.

    It takes 32-bit indices, short pixels, few terms, and the sources of every vector of results
    within two vectors, on every CPU level.
    """
    pixel, longest = memory.pixel, int((w.hi - w.lo).max(initial=0))
    if w.sources * pixel > MAX_ELEMENTS:
        return False
    if acc_size != 4 or pixel * acc_size >= COLUMN_BYTES or not 1 <= longest <= MAX_TERMS:
        return False
    pixel_bytes = pixel * memory.itemsize
    if copy and (memory.itemsize > 4 or pixel_bytes >= machine.this.copy_pixel_bytes):
        return False
    first = _firsts(w.lo[: w.covered] if copy else w.lo, pixel)  # a copy clears the others
    n = len(first) - VECTOR
    for vector in (4, 8, VECTOR):
        vectors = first[: -(-n // vector) * vector].reshape(-1, vector)
        for some in (vectors, first[max(0, n - vector) : n][None]):
            if (some.max(axis=1) - some.min(axis=1)).max() >= 2 * vector:
                return False
    return True


def _firsts(lo: NDArray[np.int64], pixel: int) -> NDArray[np.int64]:
    """The first source of every element of a row, and a vector more of the last one."""
    first = np.empty(len(lo) * pixel + VECTOR, np.int64)
    first[:-VECTOR] = (lo[:, None] * pixel + np.arange(pixel)).ravel()
    first[-VECTOR:] = first[-VECTOR - 1]
    return first
