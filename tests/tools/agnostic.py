# SPDX-License-Identifier: Apache-2.0
"""Calls on whose bits nothing may have an influence, and their digests."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest

import upsample3d as up

OPS = ("nearest_exact", "nearest", "trilinear")
DTYPES = (np.float32, np.float16, ml_dtypes.bfloat16, np.float64)
SHAPES = {
    "widths": (2, 3, (3, 5, 17), (7, 9, 33)),
    "equal d": (2, 2, (4, 9, 16), (4, 20, 70)),
    "equal w": (2, 2, (4, 5, 15), (9, 10, 15)),
    "channels": (2, 17, (5, 6, 7), (3, 13, 15)),
    "long bands": (2, 2, (2, 3, 3), (9, 41, 70)),
    "down": (2, 4, (9, 40, 65), (4, 19, 31)),
}


@dataclass(frozen=True)
class Case:
    """An op, a dtype and a shape, with a source that holds every kind of number."""

    op: str
    dtype: type
    shape: str

    @property
    def sizes(self) -> dict[str, tuple[int, ...]]:
        n, c, i, o = SHAPES[self.shape]
        return {"input_size": (n, c, *i)} if self.backward else {"output_size": o}

    @property
    def backward(self) -> bool:
        return self.op.endswith("_backward")

    def source(self) -> np.ndarray:
        n, c, i, o = SHAPES[self.shape]
        rng = np.random.default_rng(7)
        x = rng.standard_normal((n, c, *(o if self.backward else i))).astype(self.dtype)
        tiny = np.nextafter(self.dtype(0), self.dtype(1)) * self.dtype(3)
        specials = np.array([np.inf, -np.inf, np.nan, -0.0, 0.0], self.dtype)
        x.flat[rng.integers(0, x.size, x.size // 4)] = tiny
        x.flat[rng.integers(0, x.size, x.size // 8)] = -0.0
        x.flat[rng.integers(0, x.size, max(5, x.size // 300))] = rng.choice(specials)
        return x

    def plan(self, **arguments) -> up.Plan:
        shape = self.source().shape
        return up.Plan(self.op, shape, self.dtype, **{**self.sizes, **arguments})

    def result(self, source: np.ndarray | None = None, **arguments) -> np.ndarray:
        source = self.source() if source is None else source
        return getattr(up, self.op)(source, **{**self.sizes, **arguments})


CASES = [
    pytest.param(Case(op + way, dtype, shape), id=f"{op}{way}-{np.dtype(dtype)}-{shape}")
    for (op, way), dtype, shape in itertools.product(
        itertools.product(OPS, ("_backward", "")), DTYPES, SHAPES
    )
]
LEVELS = up.build_info()["levels"]


def digest(array: np.ndarray) -> str:
    """The bits of an NCDHW array whatever its memory order; all NaNs are one."""
    flat = np.ascontiguousarray(array)
    bits = flat.view(f"u{flat.itemsize}").copy()
    bits[np.isnan(flat)] = 1
    return hashlib.sha256(bits.tobytes()).hexdigest()
