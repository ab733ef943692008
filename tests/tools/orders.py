# SPDX-License-Identifier: Apache-2.0
"""The orders of the device's sums, and ours, as loops over single elements."""

from __future__ import annotations

import numpy as np
import oracle


def terms(op, i, o, scale, align_corners, rule, dtype):
    """For each result of one axis [(source, weight)], ascending, by the oracle."""
    backward = op.endswith("_backward")
    found = [[] for _ in range(i if backward else o)]
    for x, j, w in oracle.contributions(op, i, o, scale, align_corners, rule, dtype):
        found[j if backward else x].append((x, w) if backward else (j, w))
    return found


def axes_of(op, i, o, scales, align_corners, rule, dtype):
    """The terms of D, H, W."""
    each = scales if isinstance(scales, tuple) else (scales,) * 3
    return [terms(op, *axis, align_corners, rule, dtype) for axis in zip(i, o, each, strict=True)]


def identity(axis, size):
    return axis == [[(k, 1.0)] for k in range(size)]


def one_accumulator(g, axes):
    """The 950's gradients of the nearest ops, element by element; a copy where nothing changes."""
    if all(map(identity, axes, g.shape[2:])):
        return g
    real = np.float64 if g.dtype == np.float64 else np.float32
    result = np.empty((*g.shape[:2], *map(len, axes)), g.dtype)
    for n, c, kd, kh, kw in np.ndindex(result.shape):
        total = real(0)
        for d, _ in axes[0][kd]:
            for h, _ in axes[1][kh]:
                for w, _ in axes[2][kw]:
                    total = total + real(g[n, c, d, h, w])
        result[n, c, kd, kh, kw] = total
    return result


def pass_by_pass(x, axes, order, from_zero):
    """One axis after the other, element by element, in the accumulator's type."""
    real = np.float64 if x.dtype == np.float64 else np.float32
    dtype, x = x.dtype, x.astype(real)
    for k in order:
        if identity(axes[k], x.shape[2 + k]):
            continue
        result = np.empty((*x.shape[: 2 + k], len(axes[k]), *x.shape[3 + k :]), real)
        for at in np.ndindex(result.shape):
            total = real(0)
            for number, (source, weight) in enumerate(axes[k][at[2 + k]]):
                term = x[(*at[: 2 + k], source, *at[3 + k :])] * real(weight)
                total = term if number == 0 and not from_zero else total + term
            result[at] = total
        x = result
    return x.astype(dtype)
