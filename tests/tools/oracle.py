# SPDX-License-Identifier: Apache-2.0
"""The right answer of every op, slowly: per-index rules, scattered into dense float64 matrices.

Written the other way round from the library, which gathers bands in float32 along D, H and W, and
sharing nothing with it. Sizes i and o are those of the forward op; a matrix is [o, i] whatever the
direction.
Weights are float32 values (float64 for the trilinear ops on float64 data), sums are float64.

Sources: the operators' documents for rule "aclnn", PyTorch's CPU kernels for rule "torch".
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import ml_dtypes
import numpy as np

OPS = ("nearest", "nearest_exact", "trilinear")
VARIANTS = [
    (op + direction, align_corners)
    for op in OPS
    for align_corners in ((False, True) if op == "trilinear" else (False,))
    for direction in ("_backward", "")
]
"""(op in both directions, align_corners) of all that there is."""

RULES = ("aclnn", "torch")
DTYPES = ("float32", "float16", "bfloat16", "float64")
bfloat16 = np.dtype(ml_dtypes.bfloat16)

f32 = np.float32


def numpy_dtype(name):
    """The NumPy dtype of a dtype's name, bfloat16 included."""
    return bfloat16 if name == "bfloat16" else np.dtype(name)


def given(scale):
    """Whether a scale counts: None, <= 0 and NaN do not."""
    return scale is not None and scale > 0


def window_edge(k, i, o, scale, shift):
    """First output index of input k's window, aclnn: ceil(k * s - shift), each step in float32."""
    s = f32(scale) if given(scale) else f32(o) / f32(i)
    return max(0, min(math.ceil(f32(k) * s - f32(shift)), o))


def torch_source(x, i, o, scale, exact, backward, double):
    """Input index of output x, PyTorch CPU. Its forward and backward are not always transposes."""
    if backward and not exact:
        if i == o:
            return x
        if o == 2 * i:
            return x // 2
    if backward or not double:
        s = f32(1.0 / scale) if given(scale) else f32(i) / f32(o)
    else:
        s = np.float64(1.0 / scale if given(scale) else i / o)
    if not exact:
        r = s.dtype.type(x) * s
    elif backward:
        r = np.float64(x + 0.5) * np.float64(s)
    else:
        half = s.dtype.type(0.5)
        r = np.float64(max((s.dtype.type(x) + half) * s - half, 0)) + 0.5
    # C's floorf narrows its argument first, in float64 kernels too.
    return min(math.floor(f32(r)), i - 1)


def linear_sources(x, i, o, scale, align_corners, rule, double):
    """[(input index, weight)] of output x along one axis, the weights in the accumulator's type."""
    real = np.float64 if double else np.float32
    if i == o:
        return [(x, real(1))]
    if align_corners:
        r = (real(i - 1) / real(o - 1) if o > 1 else real(0)) * real(x)
    else:
        s = real(i) / real(o)
        if given(scale):
            # The operator hands its scales down as float32 attributes, whatever the data.
            s = real(1.0 / scale if rule == "torch" else f32(1.0 / scale))
        if rule == "torch" and not double:
            # One rounding: (x + 0.5) * s - 0.5 is exact in float64 while o < 2^29.
            r = f32(np.float64(x + 0.5) * np.float64(s) - 0.5)
        else:
            r = s * (real(x) + real(0.5)) - real(0.5)
        r = max(r, real(0))
    first = min(math.floor(f32(r)) if rule == "torch" else math.floor(r), i - 1)
    second = min(first + 1, i - 1)
    if first == second:
        return [(first, real(1))]
    weight = min(max(r - real(first), real(0)), real(1))
    return [(j, w) for j, w in ((first, real(1) - weight), (second, weight)) if w != 0]


@functools.lru_cache(maxsize=20_000)
def contributions(op, i, o, scale=None, align_corners=False, rule="aclnn", dtype="float32"):
    """Every (output index, input index, weight) of one axis whose weight is not zero, as a tuple.

    op: a function's name, "nearest_exact_backward" for example; under "aclnn" its direction plays
    no part, because forward is the transpose of backward.
    """
    mode, backward = op.removesuffix("_backward"), op.endswith("_backward")
    double = dtype == "float64"
    if mode == "trilinear":
        return tuple(
            (x, j, float(w))
            for x in range(o)
            for j, w in linear_sources(x, i, o, scale, align_corners, rule, double)
        )
    exact = mode == "nearest_exact"
    if rule == "torch":
        return tuple(
            (x, torch_source(x, i, o, scale, exact, backward, double), 1.0) for x in range(o)
        )
    edges = [window_edge(k, i, o, scale, 0.5 if exact else 0.0) for k in range(i + 1)]
    return tuple((x, k, 1.0) for k in range(i) for x in range(edges[k], edges[k + 1]))


@functools.lru_cache(maxsize=128)
def matrix(op, i, o, scale=None, align_corners=False, rule="aclnn", dtype="float32"):
    """The weights of one axis as a float64 matrix, [o, i]: forward is M x, backward is M^T g."""
    m = np.zeros((o, i))
    for x, j, w in contributions(op, i, o, scale, align_corners, rule, dtype):
        m[x, j] += w
    m.flags.writeable = False
    return m


@dataclass(frozen=True)
class Answer:
    """The true result, sum |w x| behind it, and how often a term is rounded on its way into it."""

    value: np.ndarray
    magnitude: np.ndarray
    roundings: int

    def bound(self, dtype):
        """The largest error that sums in the accumulator's type and one store can make, [result].

        A term meets one product per axis and at most n - 1 additions along an axis of n terms:
        n_d + n_h + n_w roundings, each by half an epsilon of what has been added up. In float64
        the answer's own sums err as much again. The store adds half an ulp of a narrower type.
        """
        dtype = numpy_dtype(dtype)
        accumulator = np.float64 if dtype == np.float64 else np.float32
        unit = np.finfo(accumulator).eps / 2 * (2 if accumulator is np.float64 else 1)
        # n u / (1 - n u), the rigorous form of n u.
        error = self.roundings * unit / (1 - self.roundings * unit) * self.magnitude
        if dtype.itemsize == 2:
            info = ml_dtypes.finfo(dtype)
            half_ulp = float(info.eps) / 2 * (np.abs(self.value) + error)
            error = error + np.maximum(half_ulp, float(info.smallest_subnormal) / 2)
        return error

    def check(self, got, case):
        """Raises AssertionError, naming the case, where `got` is off by more than its bound."""
        assert got.shape == self.value.shape, case
        error = np.abs(got.astype(np.float64) - self.value)
        worst = np.argmax(error - self.bound(got.dtype))
        assert (error <= self.bound(got.dtype)).all(), (
            f"{case}: at {tuple(map(int, np.unravel_index(worst, error.shape)))} "
            f"got {got.flat[worst]}, true {self.value.flat[worst]}"
        )


def answer(op, source, i, o, scales=None, align_corners=False, rule="aclnn"):
    """The Answer of an op on `source`, finite, in NCDHW order, of any dtype; i, o: (D, H, W)."""
    scales = scales if isinstance(scales, tuple | list) else (scales,) * 3
    value = np.asarray(source).astype(np.float64)
    magnitude, roundings = np.abs(value), 0
    cheap = sorted(range(3), key=lambda k: i[k] / o[k] if op.endswith("_backward") else o[k] / i[k])
    for axis in cheap:  # what shrinks most comes first
        m = matrix(op, i[axis], o[axis], scales[axis], align_corners, rule, source.dtype.name)
        m = m if op.endswith("_backward") else m.T
        value = _along(value, m, axis)
        magnitude = _along(magnitude, m, axis)
        roundings += int((m != 0).sum(axis=0).max())
    return Answer(value, magnitude, roundings)


def _along(x, m, axis):
    """x with its axis D, H or W (0, 1, 2) replaced by m's columns: sum_s x[.. s ..] m[s, r]."""
    # One large product per axis: hundreds of small ones would wait for BLAS's threads each time.
    return np.moveaxis(np.tensordot(x, m, axes=(axis + 2, 0)), -1, axis + 2)


def to_format(x, data_format):
    """A contiguous copy of x, which is in NCDHW order, in the order of a data format."""
    return np.array(np.moveaxis(x, 1, -1) if data_format == "NDHWC" else x, order="C")


def from_format(x, data_format):
    """x, which is in the order of a data format, seen in NCDHW order."""
    return np.moveaxis(x, -1, 1) if data_format == "NDHWC" else x
