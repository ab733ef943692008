# SPDX-License-Identifier: Apache-2.0
"""Numbers at the edges of a type: tables of results worked out by hand, and what differs."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from arrays import channels_last

import upsample3d as up

F16, BF16, F32, F64 = np.float16, ml_dtypes.bfloat16, np.float32, np.float64
DTYPES = (F32, F16, BF16, F64)
INF, NAN = np.inf, np.nan


def edges(dtype) -> tuple[float, float, float]:
    """(smallest subnormal, smallest normal, largest finite) as exact floats (float64 holds all)."""
    info = ml_dtypes.finfo(dtype)
    return (float(x) for x in (info.smallest_subnormal, info.smallest_normal, info.max))


def sums(dtype) -> list[tuple[float, float, float]]:
    """(a, b, a + b as the type has it): what nearest's gradient makes of two sources."""
    tiny, normal, most = edges(dtype)
    rows = [
        (0.0, 0.0, 0.0), (-0.0, -0.0, -0.0), (0.0, -0.0, 0.0), (-0.0, 0.0, 0.0),
        (1.5, -1.5, 0.0), (-1.5, 1.5, 0.0), (tiny, -tiny, 0.0), (most, -most, 0.0),
        (tiny, tiny, 2 * tiny), (tiny, 0.0, tiny), (-tiny, -0.0, -tiny),
        (normal - tiny, tiny, normal), (normal, -tiny, normal - tiny),
        (normal, tiny - normal, tiny), (3 * tiny, -tiny, 2 * tiny),
        (INF, 1.0, INF), (INF, INF, INF), (-INF, most, -INF), (INF, -INF, NAN), (-INF, INF, NAN),
        (NAN, 1.0, NAN), (1.0, NAN, NAN), (NAN, INF, NAN), (most, most, INF), (-most, -most, -INF),
        (most, tiny, most), (-most, 0.0, -most),
    ]  # fmt: skip
    # Halves of the last place go to the even neighbour; beyond the largest, that is infinity.
    halves = {
        F16: [(2048, 1, 2048), (2050, 1, 2052), (65504, 15, 65504), (65504, 16, INF),
              (-65504, -16, -INF), (1, 2**-11, 1), (1 + 2**-10, 2**-11, 1 + 2**-9)],
        BF16: [(256, 1, 256), (258, 1, 260), (most, 2.0**118, most), (most, 2.0**119, INF),
               (-most, -(2.0**119), -INF), (1, 2**-8, 1), (1 + 2**-7, 2**-8, 1 + 2**-6)],
        F32: [(2**24, 1, 2**24), (2**24 + 2, 1, 2**24 + 4), (most, 2.0**102, most),
              (most, 2.0**103, INF), (1, 2**-24, 1)],
        F64: [(2**53, 1, 2**53), (2**53 + 2, 1, 2**53 + 4), (most, 2.0**969, most),
              (most, 2.0**970, INF), (1, 2**-53, 1)],
    }  # fmt: skip
    return rows + halves[dtype]


def blends(dtype) -> list[tuple[float, float, tuple[float, ...]]]:
    """(a, b, (a, 3/4 a + 1/4 b, 1/4 a + 3/4 b, b) as the type has them): trilinear, 2 -> 4."""
    tiny, _, most = edges(dtype)
    rows = [
        (0.0, -0.0, (0.0, 0.0, 0.0, -0.0)), (-0.0, -0.0, (-0.0,) * 4),
        (1.0, NAN, (1.0, NAN, NAN, NAN)), (NAN, 1.0, (NAN, NAN, NAN, 1.0)),
        (1.0, INF, (1.0, INF, INF, INF)), (-INF, INF, (-INF, NAN, NAN, INF)),
        (INF, 0.0, (INF, INF, INF, 0.0)), (most, most, (most,) * 4),
        (4 * tiny, 0.0, (4 * tiny, 3 * tiny, tiny, 0.0)),
        (8 * tiny, -4 * tiny, (8 * tiny, 5 * tiny, -tiny, -4 * tiny)),
        # A product below half of the smallest is 0 with its sign; at half it is 0, which is even.
        (tiny, 0.0, (tiny, tiny, 0.0, 0.0)), (-tiny, -0.0, (-tiny, -tiny, -0.0, -0.0)),
        (2 * tiny, 0.0, (2 * tiny, 2 * tiny, 0.0, 0.0)),
    ]  # fmt: skip
    if dtype in (F16, BF16):  # float32 sums, rounded once, to even: 1 1/2 and 2 1/2 give 2
        rows += [
            (3 * tiny, tiny, (3 * tiny, 2 * tiny, 2 * tiny, tiny)),
            (6 * tiny, 0.0, (6 * tiny, 4 * tiny, 2 * tiny, 0.0)),
        ]
    if dtype is BF16:  # bfloat16's subnormals are float32's but for their last 16 bits
        rows += [(most, -most, (most, most / 2, -most / 2, -most))]
    return rows


def gradients(dtype) -> list[tuple[tuple[float, ...], tuple[float, float]]]:
    """(a, b, c, d), (a + 3/4 b + 1/4 c, 1/4 b + 3/4 c + d): trilinear's gradient, 4 -> 2."""
    tiny, _, most = edges(dtype)
    rows = [
        ((1.0, 0.0, 0.0, -0.0), (1.0, 0.0)), ((-0.0,) * 4, (-0.0, -0.0)),
        ((NAN, 0.0, 0.0, 1.0), (NAN, 1.0)), ((1.0, NAN, 0.0, 0.0), (NAN, NAN)),
        ((1.0, INF, 0.0, -INF), (INF, NAN)), ((INF, 0.0, 0.0, -INF), (INF, -INF)),
        ((most, most, 0.0, 0.0), (INF, most / 4)),
        ((0.0, 4 * tiny, 0.0, tiny), (3 * tiny, 2 * tiny)),
        ((tiny, -4 * tiny, 8 * tiny, 0.0), (0.0, 5 * tiny)),
    ]  # fmt: skip
    if dtype in (F16, BF16):  # products that float32 holds
        rows += [((most, -most, -most, 0.0), (0.0, -most))]
    return rows


def same(found: np.ndarray, wanted: float) -> bool:
    """Whether all are the wanted number: to the bit, or NaN."""
    if np.isnan(wanted):
        return bool(np.isnan(found).all())
    one = np.array(wanted).astype(found.dtype)  # exact, but for what the tables call INF
    return set(np.ascontiguousarray(found).view(f"u{found.itemsize}").flat) == {
        one.view(f"u{found.itemsize}").item()
    }


def along(axis: int, numbers, dtype, others: int) -> np.ndarray:
    """The numbers along an axis of an NCDHW array; all else is `others` copies of them."""
    shape = [1, 3, others, others + 1, others + 6]
    shape[axis] = len(numbers) * (1 if axis < 4 else others)
    line = np.array(list(numbers) * (shape[axis] // len(numbers)), np.float64).astype(dtype)
    return np.ascontiguousarray(np.broadcast_to(
        line.reshape([-1 if k == axis else 1 for k in range(5)]), shape))  # fmt: skip


def wrong_sums(dtype, call=up.nearest_backward) -> list[str]:
    """Rows of `sums` that a gradient does not answer as the table does."""
    wrong = []
    for a, b, total in sums(dtype):
        for axis in (2, 3, 4):
            for others in (1, 5):
                source = along(axis, (a, b), dtype, others)
                size = [n // 2 if k == axis else n for k, n in enumerate(source.shape)]
                for lay in (np.asarray, channels_last):
                    if not same(call(lay(source), tuple(size)), total):
                        wrong.append(f"{a} + {b} along {axis}, {others}")
    return wrong


def wrong_blends(dtype, call=up.trilinear) -> list[str]:
    wrong = []
    for a, b, results in blends(dtype):
        for axis in (2, 3, 4):
            for others in (1, 5):
                source = along(axis, (a, b), dtype, others if axis < 4 else 1)
                size = [2 * n if k == axis else n for k, n in enumerate(source.shape)]
                for lay in (np.asarray, channels_last):
                    found = np.moveaxis(call(lay(source), tuple(size[2:])), axis, 0)
                    if not all(same(found[k], results[k]) for k in range(4)):
                        wrong.append(f"{a}, {b} along {axis}, {others}: {found.ravel()[:4]}")
    return wrong


def wrong_gradients(dtype, call=up.trilinear_backward) -> list[str]:
    """Rows of `gradients` that a gradient does not answer as the table does."""
    wrong = []
    for numbers, results in gradients(dtype):
        for axis in (2, 3, 4):
            for others in (1, 5):
                source = along(axis, numbers, dtype, others if axis < 4 else 1)
                size = [n // 2 if k == axis else n for k, n in enumerate(source.shape)]
                for lay in (np.asarray, channels_last):
                    found = np.moveaxis(call(lay(source), tuple(size)), axis, 0)
                    if not all(same(found[k], results[k]) for k in range(2)):
                        wrong.append(f"{numbers} along {axis}, {others}: {found.ravel()[:2]}")
    return wrong
