# SPDX-License-Identifier: Apache-2.0
"""Where an index falls: the band of source indices, and their weights, behind every result index.

Every op and its gradient is, on each axis, a Band: result k is the weighted sum of the sources
lo[k] .. hi[k]. Sizes are always those of the forward op, `i` at its input and `o` at its output.

Sources of the rules: "aclnn", the operators aclnnUpsampleNearestExact3dBackward,
aclnnUpsampleNearest3dBackward and aclnnUpsampleTrilinear3dBackward; "torch", PyTorch's CPU kernels
(UpSample.h, UpSampleKernel.cpp, UpSampleMoreKernel.cpp), each direction its own. KERNELS are rules
of single kernels there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

KERNELS = ("torch_fused", "torch_channels_last")
"""What PyTorch's nearest ops do forward where "torch" is not exactly it: the general kernel of
nearest_exact built with fused multiply and add, and the kernels of channels-last memory, which have
the gradient's indices. In all else they are "torch"."""

SUM, PICK, SAME = 0, 1, 2
"""What a band does: adds weighted sources, copies one source per result, or none to the last few,
copies source k to k."""

_LONGEST = 16
"""Lanes of the longest vector."""

_INDEX_BYTES = 110
"""Memory per index while bands are made: up to 99 measured, where trilinear is turned around."""

Indices = NDArray[np.int64]
Weights = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """One axis: result k = sum of w[start[k] + t] * source[lo[k] + t], t = 0 .. hi[k] - lo[k] - 1.

    lo, hi: int64, [results], ascending; lo[k] == hi[k] is an empty window and gives 0.
    start: int64, [results + 1], offsets into w.
    w: flat weights in the accumulator's type, none of them 0; None where all are one.
    sources: the length of the source axis.
    reached: how many results have sources. kind: SUM, PICK or SAME.
    """

    lo: Indices
    hi: Indices
    start: Indices
    w: Weights | None
    sources: int
    reached: int = field(init=False)
    kind: int = field(init=False)

    def __post_init__(self) -> None:
        for array in (self.lo, self.hi, self.start, self.w):
            if array is not None:
                array.flags.writeable = False  # a kernel reads them without asking again
        terms = self.hi - self.lo
        object.__setattr__(self, "reached", int(np.count_nonzero(terms > 0)))
        object.__setattr__(self, "kind", self._kind(terms))

    def _kind(self, terms: Indices) -> int:
        if self.w is not None or (terms[: self.reached] != 1).any():  # the others are 0 then
            return SUM
        if not len(self.lo) == self.reached == self.sources:
            return PICK
        return SAME if np.array_equal(self.lo, np.arange(self.sources)) else PICK

    def table(self, lanes: int, vector: int) -> tuple[NDArray[Any], ...]:
        """The band of a row of `lanes` elements per index as a rectangle: first, w, least, most.

        first: int32, [results * lanes], first sources. w: float32, [terms, results * lanes], 0
        where a result has fewer terms. Both are longer by a vector, which repeats the last source
        with weight 0. least, most: of `vector` first sources each, from every result on.
        """
        results, terms = len(self.lo), self.hi - self.lo
        w = np.full(
            (max(1, int(terms.max(initial=0))), results * lanes + _LONGEST), -0.0, np.float32
        )
        w[0] = 0
        for t, row in enumerate(w):
            there = np.flatnonzero(terms > t)
            row[: results * lanes].reshape(-1, lanes)[there] = (
                1 if self.w is None else self.w[self.start[there] + t, None]
            )
        first = np.empty(results * lanes + _LONGEST, np.int32)
        first[:-_LONGEST] = (self.lo[:, None] * lanes + np.arange(lanes)).ravel()
        first[-_LONGEST:] = first[-_LONGEST - 1]
        if lanes == 1:  # first sources ascend
            return first, w, first, first
        windows = np.lib.stride_tricks.sliding_window_view(first, vector)
        return first, w, windows.min(axis=1), windows.max(axis=1)

    def byte_places(self, itemsize: int) -> NDArray[np.uint8]:
        """Of every byte of a row of picked elements its place in the source row, modulo 256."""
        places = self.lo[:, None] * itemsize + np.arange(itemsize)
        return places.astype(np.uint8).ravel()

    def reach(self, first: int, last: int) -> tuple[int, int]:
        """The sources lo .. hi of results first .. last, of which there is one; at least one."""
        lo = min(int(self.lo[first]), self.sources - 1)
        return lo, max(lo + 1, int(self.hi[last - 1]))

    def part(self, first: int, last: int) -> Band:
        """The band of results first .. last, whose sources are those of their reach."""
        lo, hi = self.reach(first, last)
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
        """Whether both say the same, weight by weight."""
        if self.sources != other.sources or (self.w is None) != (other.w is None):
            return False
        arrays = [(self.lo, other.lo), (self.hi, other.hi), (self.start, other.start)]
        same = all(np.array_equal(mine, theirs) for mine, theirs in arrays)
        return same and (self.w is None or np.array_equal(self.w, other.w))  # type: ignore[arg-type]

    def transposed(self) -> Band:
        """The band of the other direction: result k sums what source k went to, weights and all."""
        k = np.arange(self.sources)
        lo = np.searchsorted(self.hi, k, side="right")
        hi = np.maximum(np.searchsorted(self.lo, k, side="right"), lo)
        result = np.repeat(k, hi - lo)
        start = _starts(lo, hi)
        source = np.arange(len(result)) - np.repeat(start[:-1] - lo, hi - lo)
        w = None if self.w is None else self.w[self.start[source] + result - self.lo[source]]
        return Band(lo, hi, start, w, len(self.lo))


def planning_bytes(op: str, i: int, o: int, rule: str) -> int:
    """The memory that bands() takes at most: of the results, and of both sides where it turns
    around."""
    backward = op.endswith("_backward")
    direct = backward == (rule == "aclnn" and not op.startswith("trilinear"))
    results = i if backward else o
    return _INDEX_BYTES * (results if direct else i + o)


def bands(
    op: str,
    i: int,
    o: int,
    scale: float | None = None,
    align_corners: bool = False,
    rule: str = "aclnn",
    dtype: str = "float32",
) -> Band:
    """The Band of one axis of `op` between input size i and output size o.

    op: one of the six functions' names, e.g. "trilinear_backward"; its direction decides which side
    the results are on. scale: o/i as the user gave it, or None (also <= 0 or NaN) for the sizes'
    ratio. dtype: float64 weights for "float64" data, float32 otherwise; nearest windows are float32
    for every dtype. Unknown names are the caller's to refuse: here they raise KeyError.
    """
    mode, backward = op.removesuffix("_backward"), op.endswith("_backward")
    scale = scale if scale is not None and scale > 0 else None
    real = np.float64 if dtype == "float64" else np.float32
    if mode == "trilinear":
        forward = _linear(i, o, scale, align_corners, real, rule)
        return forward.transposed() if backward else forward
    shift = _SHIFT[mode]
    if rule == "aclnn":
        windows = _nearest_windows(i, o, scale, shift)
        return windows if backward else windows.transposed()
    single = backward or rule == "torch_channels_last"
    wide, fused = real is np.float64 and not single, rule == "torch_fused"
    forward = _nearest_map(i, o, scale, shift > 0, single, wide, fused)
    return forward.transposed() if backward else forward


_SHIFT = {"nearest": 0.0, "nearest_exact": 0.5}


def _starts(lo: Indices, hi: Indices) -> Indices:
    start = np.zeros(len(lo) + 1, np.int64)
    np.cumsum(hi - lo, out=start[1:])
    return start


def _ones(lo: Indices, hi: Indices, sources: int) -> Band:
    return Band(lo, hi, _starts(lo, hi), None, sources)


def _same(size: int) -> Band:
    k = np.arange(size)
    return _ones(k, k + 1, size)


def _picks(index: NDArray[Any], sources: int) -> Band:
    """Result k takes source index[k]; an index is at most sources - 1."""
    lo = np.minimum(index.astype(np.int64), sources - 1)
    return _ones(lo, lo + 1, sources)


def _nearest_windows(i: int, o: int, scale: float | None, shift: float) -> Band:
    """aclnn: [B(k), B(k+1)), B(k) = min(ceil(float32(k) * s - shift), o), two float32 roundings."""
    with np.errstate(all="ignore"):
        s = np.float32(scale) if scale is not None else np.float32(o) / np.float32(i)
        if i == o and s == 1:
            return _same(i)
        bound = np.ceil(np.arange(i + 1).astype(np.float32) * s - np.float32(shift))
    # Clamped before conversion, in float64 where o is exact; 0 * inf = NaN falls on 0.
    clamped = np.fmax(np.fmin(bound.astype(np.float64), o), 0)
    clamped[np.isnan(bound)] = 0
    edges = clamped.astype(np.int64)
    return _ones(edges[:-1], edges[1:], o)


def _nearest_map(
    i: int, o: int, scale: float | None, exact: bool, single: bool, wide: bool, fused: bool
) -> Band:
    """torch: output x takes input min(floor(float32(p)), i - 1).

    p = x * s, exact (x + 0.5) * s, with s = 1 / scale or i / o in float32. single: of the gradients
    and of channels-last memory, where plain nearest knows i == o and o == 2 i. wide: of float64
    elsewhere, where s and p are doubles. fused: exact p = max(s * (x + 0.5) - 0.5, 0) + 0.5 of
    float32 elsewhere, rounded behind each sum.
    """
    x: NDArray[Any] = np.arange(o)
    if single and not exact and (i == o or o == 2 * i):
        return _picks(x * i // o, i)
    real: type[Any] = np.float64 if wide else np.float32
    s = real(1.0 / scale) if scale is not None else real(i) / real(o)
    with np.errstate(all="ignore"):
        if not exact:
            p = x.astype(real) * s
        elif wide:
            p = np.maximum((x + 0.5) * s - 0.5, 0) + 0.5
        elif fused and not single:
            p = np.maximum(_fused_centres(x, s), 0) + np.float32(0.5)
        else:
            p = (x + 0.5) * np.float64(s)
        position = np.floor(p.astype(np.float32))
    return _picks(np.fmin(position, i - 1), i)


def _fused_centres(x: NDArray[Any], s: Any) -> NDArray[np.float32]:
    """s * (x + 0.5) - 0.5 of float32, rounded behind x + 0.5 and once again."""
    centres = x.astype(np.float32) + np.float32(0.5)
    return (np.float64(s) * centres.astype(np.float64) - 0.5).astype(np.float32)


def _linear(
    i: int, o: int, scale: float | None, align_corners: bool, real: type[Any], rule: str
) -> Band:
    """Output x lies at r; inputs i0 = floor(r) and i0 + 1 have the weights 1 - (r - i0) and r - i0.

    r = s * x with align_corners, s = (i - 1) / (o - 1); else r = max(s * (x + 0.5) - 0.5, 0),
    s = i / o. At the last input the weight is one. A given scale is float32(1 / scale) in the
    operators. torch rounds s * (x + 0.5) - 0.5 once in float32, and floors float32(r) also for
    float64 data.
    """
    if i == o:
        return _same(i)
    torch = rule != "aclnn"
    x = np.arange(o).astype(real)
    half = real(0.5)
    with np.errstate(all="ignore"):
        if align_corners:
            r = (real(i - 1) / real(o - 1) if o > 1 else real(0)) * x
        else:
            s = real(i) / real(o)
            if scale is not None:
                s = real(1.0 / scale) if torch else real(np.float32(1.0 / scale))
            fused = torch and real is np.float32
            r = _fused_centres(x, s) if fused else s * (x + half) - half
            r = np.maximum(r, 0)
        floor = np.floor(r.astype(np.float32) if torch else r)
    i0 = np.minimum(np.fmin(floor, i - 1).astype(np.int64), i - 1)
    w1 = np.clip(r - i0.astype(real), real(0), real(1))
    w0 = real(1) - w1
    last = i0 == i - 1
    w0[last], w1[last] = 1, 0
    lo, hi = i0 + (w0 == 0), i0 + 1 + (w1 != 0)
    w = np.stack([w0, w1], axis=1).ravel()
    w = w[w != 0]
    return Band(lo, hi, _starts(lo, hi), None if (w == 1).all() else w, i)
