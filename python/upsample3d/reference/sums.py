# SPDX-License-Identifier: Apache-2.0
"""What all six functions of the reference do: one sum after the other, in either order."""

from __future__ import annotations

from itertools import product
from typing import Any, Literal

import numpy as np

from ..geometry.band import IDENTITY, Band
from ..geometry.kinds import OPERATIONS, bands
from ..kernel import cpu
from ..plan import buffers
from ..plan.buffers import Array
from ..spec import arguments, dtypes, layout
from ..spec.opspec import specify
from ..spec.question import Question, read
from ..spec.types import Op

Order = Literal["ours", "device"]
Device = Literal["950", "a2"]
Real = Literal["float32", "float64"]


def run(op: Op, source: Array, how: tuple[Any, Any, Any], **asked: Any) -> Array:
    """Compute what all six return, whatever floating-point mode the caller is in.

    how: order, device, real. asked: the rest of a Question.
    """
    return cpu.in_default_mode(lambda: _answer(op, source, *how, asked))


def _answer(op: Op, source: Any, order: Any, device: Any, real: Any, rest: dict[str, Any]) -> Array:
    order = arguments.one_of("order", order, ("ours", "device"))
    device = arguments.one_of("device", device, ("950", "a2"))
    if real is not None:
        real = arguments.one_of("real", real, ("float32", "float64"))
    about = OPERATIONS[op]
    source = buffers.check_array(about.source, source)
    kind = arguments.element(f"{about.source}.dtype", source.dtype)
    asked = specify(read(Question(op, source.shape, kind.numpy, **rest)))
    rules = asked.align_corners, asked.rule, kind.name
    axes = [bands(op, *axis, *rules) for axis in asked.axes]

    x = source.transpose(layout.FORMATS[asked.data_format])
    with np.errstate(all="ignore"):
        x = x.astype(real or kind.acc)
        if order == "device" and device == "950" and any(band.kind != IDENTITY for band in axes):
            x = _sum_windows(x, axes)
        else:
            from_zero = order == "device" and not about.moves
            for axis in (0, 1, 2) if order == "ours" else (2, 1, 0):
                if axes[axis].kind != IDENTITY:
                    x = _sum_along(x, 2 + axis, axes[axis], from_zero)
        x = _round(x, kind)
    return np.ascontiguousarray(x.transpose(layout.AXES[asked.data_format]))


def _sum_along(x: Array, axis: int, band: Band, from_zero: bool) -> Array:
    """result[k] = sum of w[t] * x[lo[k] + t] along one axis, t ascending, starting at +0 or t = 0.

    All results take their term t together, those that have one.
    """
    x = np.moveaxis(x, axis, 0)
    terms = band.hi - band.lo
    total = np.zeros((len(terms), *x.shape[1:]), x.dtype)
    for t in range(terms.max()):
        k = np.flatnonzero(terms > t)
        term = x[band.lo[k] + t]
        if band.w is not None:
            term = term * band.w[band.start[k] + t].astype(x.dtype).reshape(-1, 1, 1, 1, 1)
        total[k] = term if t == 0 and not from_zero else total[k] + term
    return np.moveaxis(total, 0, axis)


def _sum_windows(x: Array, axes: list[Band]) -> Array:
    """Each result's window summed into one accumulator from +0 on, d outermost, w innermost."""
    x = x.transpose(2, 3, 4, 0, 1)
    terms = [band.hi - band.lo for band in axes]
    total = np.zeros((*map(len, terms), *x.shape[3:]), x.dtype)
    for t in product(*(range(n.max()) for n in terms)):
        k = [np.flatnonzero(n > u) for n, u in zip(terms, t, strict=True)]
        at = [band.lo[some] + u for band, some, u in zip(axes, k, t, strict=True)]
        total[np.ix_(*k)] += x[np.ix_(*at)]
    return total.transpose(3, 4, 0, 1, 2)


def _round(x: Array, kind: dtypes.Dtype) -> Array:
    """Return x in an element type, rounded once, to nearest even.

    The cast of float64 to bfloat16 rounds to float32 on its way; what is inexact there is made odd
    by its last bit, so that the second rounding cannot take it for a tie.
    """
    if x.dtype == np.float64 and kind.name == "bfloat16":
        near = x.astype(np.float32)
        beyond = np.nextafter(near, np.where(x > near, np.inf, -np.inf).astype(np.float32))
        odd = near.view(np.uint32) % 2 == 1
        x = np.where((near == x) | odd, near, beyond)
    return x.astype(kind.numpy)
