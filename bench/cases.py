# SPDX-License-Identifier: Apache-2.0
"""The named cases that speed is measured on, and the arrays each needs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import ml_dtypes
import numpy as np

Three = tuple[int, int, int]

SHAPES: dict[str, tuple[int, int, Three, Three]] = {
    "32->64": (1, 32, (32, 32, 32), (64, 64, 64)),
    "16->32": (2, 64, (16, 16, 16), (32, 32, 32)),
    "64->128 C4": (1, 4, (64, 64, 64), (128, 128, 128)),
    "96->192 C1": (1, 1, (96, 96, 96), (192, 192, 192)),
    "128x128x64->256x256x128 C1": (1, 1, (128, 128, 64), (256, 256, 128)),
    "64->128 C32": (1, 32, (64, 64, 64), (128, 128, 128)),
    "128->256 C2": (1, 2, (128, 128, 128), (256, 256, 256)),
    "20x28x36->50x60x70": (1, 16, (20, 28, 36), (50, 60, 70)),
    "24->60": (1, 16, (24, 24, 24), (60, 60, 60)),
    "40->120 C3": (1, 3, (40, 40, 40), (120, 120, 120)),
    "64->32": (1, 16, (64, 64, 64), (32, 32, 32)),
    "equal": (1, 16, (8, 128, 128), (8, 128, 128)),
    "D equal": (1, 8, (16, 64, 64), (16, 128, 128)),
    "4->8": (1, 320, (4, 4, 4), (8, 8, 8)),
    "7->64 C1": (1, 1, (7, 7, 7), (64, 64, 64)),
    "tiny": (1, 1, (1, 1, 1), (2, 2, 2)),
}
"""Name -> N, C, input D, H, W, output D, H, W."""

DOUBLING = ("32->64", "16->32", "64->128 C4", "96->192 C1", "128x128x64->256x256x128 C1",
            "64->128 C32", "128->256 C2", "20x28x36->50x60x70", "24->60", "40->120 C3")  # fmt: skip
"""The up-sampling by about two: over these the means are taken."""

SWEEP = {
    f"sweep {side}": (1, 1, (side // 2,) * 3, (side,) * 3)
    for side in (64, 96, 128, 192, 256, 384, 512, 768)
}
"""One plane of 1 MB to 2 GB of float32, to see how cost grows."""

DIRECTIONS = ("backward", "forward")
MODES = ("nearest", "nearest_exact", "trilinear", "trilinear_corners")
DTYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
FORMATS = ("NCDHW", "NDHWC")
MEMORY = (*FORMATS, "strided", "Fortran")
"""How the arrays lie: "strided" is every other W of a larger source, "Fortran" has N fastest."""


@dataclass(frozen=True)
class Case:
    """One op on one shape. mode "trilinear_corners" is trilinear with align_corners."""

    mode: str
    direction: str
    shape: str
    dtype: str
    memory: str
    threads: int

    @property
    def name(self) -> str:
        return (
            f"{self.mode} {self.direction} {self.shape} {self.dtype} {self.memory} {self.threads}t"
        )

    @property
    def op(self) -> str:
        """The name of the function, and of the Plan's op."""
        return self.mode.removesuffix("_corners") + ("_backward" if self.backward else "")

    @property
    def align_corners(self) -> bool:
        return self.mode.endswith("_corners")

    @property
    def backward(self) -> bool:
        return self.direction == "backward"

    @property
    def input_size(self) -> tuple[int, ...]:
        n, c, i, _ = {**SHAPES, **SWEEP}[self.shape]
        return (n, c, *i)

    @property
    def output_size(self) -> tuple[int, ...]:
        return {**SHAPES, **SWEEP}[self.shape][3]

    @property
    def sizes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """N, C, D, H, W of the source and of the result."""
        output = (*self.input_size[:2], *self.output_size)
        return (output, self.input_size) if self.backward else (self.input_size, output)

    @property
    def bytes(self) -> int:
        """Of source and result."""
        return sum(map(math.prod, self.sizes)) * np.dtype(DTYPES[self.dtype]).itemsize

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """(random source, result) in N, C, D, H, W, in the case's memory order."""
        source, result = (place(size, DTYPES[self.dtype], self.memory) for size in self.sizes)
        random = np.random.default_rng(0)
        for plane in source.reshape(-1, *source.shape[2:]) if self.memory == "NCDHW" else source:
            plane[...] = random.random(plane.shape, np.float32) - np.float32(0.5)
        result[...] = 0
        return source, result


def place(size: tuple[int, ...], dtype: type, memory: str) -> np.ndarray:
    """An array of N, C, D, H, W that lies in a memory order and begins at a cache line."""
    n, c, d, h, w = size
    if memory == "NDHWC":
        return aligned((n, d, h, w, c), dtype).transpose(0, 4, 1, 2, 3)
    if memory == "Fortran":
        return aligned((w, h, d, c, n), dtype).T
    if memory == "strided":
        return aligned((n, c, d, h, 2 * w), dtype)[..., ::2]
    return aligned(size, dtype)


def aligned(shape: tuple[int, ...], dtype: type, line: int = 64) -> np.ndarray:
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(size + line, np.uint8)
    start = -memory.ctypes.data % line
    return memory[start : start + size].view(dtype).reshape(shape)


def grid() -> Iterator[Case]:
    """Every case; channels-last only where there are channels, so that it is another order."""
    for threads, shape, memory in itertools.product((1, 2), SHAPES, FORMATS):
        if memory == "NCDHW" or SHAPES[shape][1] > 1:
            for dtype, direction, mode in itertools.product(DTYPES, DIRECTIONS, MODES):
                yield Case(mode, direction, shape, dtype, memory, threads)


def beside() -> Iterator[Case]:
    """The size sweep, and memory orders that are no format."""
    for threads, shape, mode in itertools.product((1, 2), SWEEP, ("nearest_exact", "trilinear")):
        yield Case(mode, "backward", shape, "float32", "NCDHW", threads)
    for threads, memory, mode in itertools.product(
        (1, 2), MEMORY[2:], ("nearest_exact", "trilinear")
    ):
        yield Case(mode, "backward", "32->64", "float32", memory, threads)


def all_cases() -> list[Case]:
    return [*grid(), *beside()]
