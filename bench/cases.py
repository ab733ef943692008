# SPDX-License-Identifier: Apache-2.0
"""The named cases that speed is measured on, and what each needs to run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import ml_dtypes
import numpy as np

SHAPES = {
    "32->64": (1, 32, (32, 32, 32), (64, 64, 64)),
    "96->192": (1, 1, (96, 96, 96), (192, 192, 192)),
}
"""Name -> N, C, input D, H, W, output D, H, W: about 30 MB each, many planes and one plane."""

DTYPES = {"float32": np.float32, "bfloat16": ml_dtypes.bfloat16}


@dataclass(frozen=True)
class Case:
    """One op on one shape. The source is random; the result exists before anything is timed."""

    op: str
    shape: str
    dtype: str
    data_format: str
    threads: int

    @property
    def name(self) -> str:
        return f"{self.op} {self.shape} {self.dtype} {self.data_format} {self.threads} threads"

    @property
    def input_size(self) -> tuple[int, ...]:
        n, c, i, _ = SHAPES[self.shape]
        return (n, c, *i)

    @property
    def output_size(self) -> tuple[int, ...]:
        return SHAPES[self.shape][3]

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """(source, result) in NCDHW shape, in the memory order of the case's data format."""
        n, c, i, o = SHAPES[self.shape]
        sizes = (o, i) if self.op.endswith("_backward") else (i, o)
        random = np.random.default_rng(0)
        made = []
        for size in sizes:
            memory = (n, *size, c) if self.data_format == "NDHWC" else (n, c, *size)
            array = random.standard_normal(memory, np.float32).astype(DTYPES[self.dtype])
            made.append(array.transpose(0, 4, 1, 2, 3) if self.data_format == "NDHWC" else array)
        return made[0], made[1]


def grid() -> Iterator[Case]:
    """Every case, one thread before two; channels-last only where there are channels."""
    for threads in (1, 2):
        for shape in SHAPES:
            for data_format in ("NCDHW", "NDHWC") if SHAPES[shape][1] > 1 else ("NCDHW",):
                for dtype in DTYPES:
                    for op in ("trilinear_backward", "nearest_exact_backward"):
                        yield Case(op, shape, dtype, data_format, threads)
