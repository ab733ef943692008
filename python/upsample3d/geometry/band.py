# SPDX-License-Identifier: Apache-2.0
"""Where an index falls: the band of source indices, and their weights, behind every result index.

Every op and its gradient is, on each axis, a Band: result k is the weighted sum of the sources
lo[k] .. hi[k].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

SUM, COPY, IDENTITY = 0, 1, 2
"""What a band does: adds weighted sources, copies one source per result, or none to the last few,
copies source k to k."""

Indices = NDArray[np.int64]
Weights = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """The source indices and weights of every result along one axis.

    Result k is the sum of w[start[k] + t] * source[lo[k] + t] for t = 0 .. hi[k] - lo[k] - 1.

    Parameters
    ----------
    lo, hi : ndarray of int64, shape (results,)
        First source of each result, and the one behind its last; both ascend. lo[k] == hi[k] is an
        empty window, whose sum is 0.
    start : ndarray of int64, shape (results + 1,)
        Offsets into `w`.
    w : ndarray of float32 or float64, or None
        The weights, one result after the other. None means that all are 1.
    sources : int
        Length of the source axis.

    Attributes
    ----------
    covered : int
        How many results have sources.
    kind : int
        SUM (0), COPY (1) or IDENTITY (2).

    Raises
    ------
    ValueError
        A weight is 0: an infinity times it would be NaN.
    """

    lo: Indices
    hi: Indices
    start: Indices
    w: Weights | None
    sources: int
    covered: int = field(init=False)
    kind: int = field(init=False)

    def __post_init__(self) -> None:
        if self.w is not None and not (len(self.w) == self.start[-1] and self.w.all()):
            raise ValueError("a band has a weight of 0 between others")
        for array in (self.lo, self.hi, self.start, self.w):
            if array is not None:
                array.flags.writeable = False  # a kernel reads them without asking again
        terms = self.hi - self.lo
        object.__setattr__(self, "covered", int(np.count_nonzero(terms > 0)))
        object.__setattr__(self, "kind", self._kind(terms))

    def _kind(self, terms: Indices) -> int:
        if self.w is not None or (terms[: self.covered] != 1).any():  # the others are 0 then
            return SUM
        if not len(self.lo) == self.covered == self.sources:
            return COPY
        return IDENTITY if np.array_equal(self.lo, np.arange(self.sources)) else COPY

    def sources_of(self, first: int, last: int) -> tuple[int, int]:
        """Return the range of sources that a range of results reads.

        Parameters
        ----------
        first, last : int
            A range of results, `last` excluded; it is not empty.

        Returns
        -------
        tuple of 2 ints
            First source and the one behind the last; at least one source.
        """
        lo = min(int(self.lo[first]), self.sources - 1)
        return lo, max(lo + 1, int(self.hi[last - 1]))

    def part(self, first: int, last: int) -> Band:
        """Return the Band of a range of results alone, over their sources.

        Parameters
        ----------
        first, last : int
            A range of results, `last` excluded; it is not empty.

        Returns
        -------
        Band
            Its source 0 is the first source of the range.
        """
        lo, hi = self.sources_of(first, last)
        start = self.start[first : last + 1]
        w = None if self.w is None else self.w[start[0] : start[-1]]
        return Band(
            np.minimum(self.lo[first:last] - lo, hi - lo),
            np.minimum(self.hi[first:last] - lo, hi - lo),
            start - start[0],
            w,
            hi - lo,
        )

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return sum(a.nbytes for a in (self.lo, self.hi, self.start, self.w) if a is not None)

    def same(self, other: Band) -> bool:
        """Tell whether another Band has the same windows and weights.

        Parameters
        ----------
        other : Band
            The Band to compare.

        Returns
        -------
        bool
            Equal to the bit, or not.
        """
        if self.sources != other.sources or (self.w is None) != (other.w is None):
            return False
        arrays = [(self.lo, other.lo), (self.hi, other.hi), (self.start, other.start)]
        same = all(np.array_equal(mine, theirs) for mine, theirs in arrays)
        return same and (self.w is None or np.array_equal(self.w, other.w))  # type: ignore[arg-type]

    def transposed(self) -> Band:
        """Return the Band of the other direction, with the same weights.

        Returns
        -------
        Band
            Its result k sums what source k of this Band goes to.
        """
        k = np.arange(self.sources)
        lo = np.searchsorted(self.hi, k, side="right")
        hi = np.maximum(np.searchsorted(self.lo, k, side="right"), lo)
        result = np.repeat(k, hi - lo)
        start = _starts(lo, hi)
        source = np.arange(len(result)) - np.repeat(start[:-1] - lo, hi - lo)
        w = None if self.w is None else self.w[self.start[source] + result - self.lo[source]]
        return Band(lo, hi, start, w, len(self.lo))


def unweighted(lo: Indices, hi: Indices, sources: int) -> Band:
    """Result k sums the sources lo[k] .. hi[k]."""
    return Band(lo, hi, _starts(lo, hi), None, sources)


def identity(size: int) -> Band:
    """Result k is source k."""
    k = np.arange(size)
    return unweighted(k, k + 1, size)


def copies(index: NDArray[Any], sources: int) -> Band:
    """Result k takes source index[k]; an index beyond the last source means the last."""
    lo = np.minimum(index.astype(np.int64), sources - 1)
    return unweighted(lo, lo + 1, sources)


def weighted(first: Indices, w: Weights, sources: int) -> Band:
    """Result k sums the sources from first[k] on with the weights w[k].

    w: [results, terms]. Zeros at the ends of a row are left out, and with them sources that the
    axis may lack. A ValueError refuses a zero between other weights, and windows whose beginnings
    or ends then do not ascend: `transposed` relies on both.
    """
    there = w != 0
    lo = first + there.argmax(axis=1)
    hi = first + w.shape[1] - there[:, ::-1].argmax(axis=1)
    hi[~there.any(axis=1)] -= w.shape[1]
    if (lo[1:] < lo[:-1]).any() or (hi[1:] < hi[:-1]).any():
        raise ValueError("windows do not ascend")
    flat = w[there]
    return Band(lo, hi, _starts(lo, hi), None if (flat == 1).all() else flat, sources)


def _starts(lo: Indices, hi: Indices) -> Indices:
    start = np.zeros(len(lo) + 1, np.int64)
    np.cumsum(hi - lo, out=start[1:])
    return start
