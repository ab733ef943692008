# SPDX-License-Identifier: Apache-2.0
"""What random calls pass that no call should: shapes, arrays, texts, and objects that lie."""

from __future__ import annotations

import numpy as np
from strange import ERRORS, NUMBERS, STRANGE, TENSORS, raising

SMALL, LARGE = (2, 3, 4, 5, 6), (2, 3, 8, 10, 12)
ONES = {shape: np.ones(shape, np.float32) for shape in (SMALL, LARGE)}
for _ones in ONES.values():
    _ones.flags.writeable = False  # the sources of many executions


class Liar(np.ndarray):
    """An array whose shape and strides are not those of its memory."""

    shape = property(lambda self: (2, 3, 8000, 1000, 1200))
    strides = property(lambda self: (4,) * 5)
    flags = property(lambda self: None)


class Claims:
    """Says it is an array, and has all that one asks of arrays."""

    __class__ = np.ndarray  # type: ignore[assignment]
    dtype, shape, strides, ndim = np.dtype("f4"), LARGE, (5760, 1920, 480, 48, 4), 5
    __array_struct__ = 3


def strided(shape: tuple[int, ...], strides: tuple[int, ...], dtype: str = "f4") -> np.ndarray:
    """An array of such strides over memory that holds all of it."""
    reach = [stride * (size - 1) for stride, size in zip(strides, shape, strict=True)]
    low, high = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
    memory = np.ones(high - low + 16, np.uint8)
    return np.ndarray(shape, dtype, memory, -low, strides)


ARRAYS = [
    lambda: np.ones(LARGE, "f4"), lambda: np.ones(SMALL, "f4"), lambda: np.ones(LARGE, "f8"),
    lambda: np.ones(SMALL, "f8"), lambda: np.ones(LARGE, "f4")[::-1],
    lambda: np.ones(LARGE, "f4")[:, :0],
    lambda: np.ones(LARGE, "f4")[0], lambda: np.ones(LARGE, "f4").astype(">f4"),
    lambda: np.ones(LARGE, "f4").astype("i4"), lambda: np.ones(LARGE, "f4").astype(object),
    lambda: np.ones(LARGE, "f4").view("V4"), lambda: np.ones(LARGE, "f4").view(Liar),
    lambda: np.ones(SMALL, "f4").view(Liar), lambda: np.ma.masked_array(np.ones(LARGE, "f4")),
    lambda: np.broadcast_to(np.float32(1), LARGE), lambda: np.broadcast_to(np.float32(1), SMALL),
    lambda: np.broadcast_to(np.float32(1), (7, 9, 2**18, 2**19, 2**18)),
    lambda: np.broadcast_to(np.float32(1), (1, 1, 2**31, 1, 1)),
    lambda: np.broadcast_to(np.float32(1), (2**30, 2**30, 1, 1, 1)),
    lambda: strided(SMALL, (360, 120, 40, 16, 4)), lambda: strided(SMALL, (0, 0, 0, 0, 0)),
    lambda: strided(LARGE, (1, 1, 1, 1, 1)), lambda: strided(LARGE, (3, 5, 7, 11, 13)),
    lambda: strided(SMALL, (-3000, 1000, -200, 30, -5)), lambda: strided(LARGE, (8, 4, 0, 4, -4)),
    lambda: np.zeros((), np.float32), lambda: np.zeros((2,) * 9, np.float32), Claims,
]  # fmt: skip
TEXTS = [
    "NCDHW", "NDHWC", "ncdhw", "aclnn", "torch", "cuda", "float32", "bfloat16", "f4", ">f4", "f2",
    "O", "f4,f4", "V2", "nearest", "trilinear_backward", "\0", "\ud800", "x" * 5000, b"NCDHW",
]  # fmt: skip
SIZES = [
    SMALL, LARGE, SMALL[2:], LARGE[2:], list(SMALL), np.array(SMALL), np.array(LARGE[2:]), (0,) * 5,
    (2, 3, 2**31 - 1, 2**31 - 1, 2**31 - 1), (2, 3, 4, 5, 2**31), (2**62, 3, 4, 5, 6), (-1,) * 5,
    (2**31, 2**31, 1, 1, 1), (10**5000, 3, 4, 5, 6), (2, 3, 4, 5, 10**5000), (10**5000,) * 3, (),
    (2.0, 3.0, 4.0, 5.0, 6.0), (True,) * 5, ("2",) * 5, range(2, 7), range(10**9), (4, 5, 10**400),
    [1.0, 2.0, None], (0.5,) * 3, 2, 2.0, 10**5000, -(10**5000), 1e300, 1e-300, float("inf"),
]  # fmt: skip
THINGS = [
    *STRANGE, *TENSORS, *ARRAYS, *(lambda n=n: n for n in NUMBERS + TEXTS),
    *(lambda n=n: n for n in SIZES * 3), *ARRAYS, lambda: None,
    *(lambda e=e: raising(e, ("__hash__", "__eq__", "__repr__"))() for e in ERRORS),
    *(lambda e=e: raising(e, ("__len__", "__iter__", "__repr__"))() for e in ERRORS),
    *(lambda e=e: raising(e, ("__index__", "__repr__"), (int,))(3) for e in ERRORS),
]  # fmt: skip
