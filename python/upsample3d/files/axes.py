# SPDX-License-Identifier: Apache-2.0
"""Which of N, C, D, H, W a file's axes are, where they lie in memory, and cutting it into parts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Five = tuple[int, int, int, int, int]
Ranges = tuple[tuple[int, int], ...]

ALL = "NCDHW"

FORMATS = {
    "NCDHW": {3: "DHW", 4: "CDHW", 5: "NCDHW"},
    "NDHWC": {3: "DHW", 4: "DHWC", 5: "NDHWC"},
    "NIfTI": {3: "DHW", 4: "DHWC", 5: "DHWCN"},
}
"""A format and a number of axes -> what they are, in order. NIfTI's x, y, z are D, H, W."""

ORDERS = ("xyz", "zyx")
"""What D, H, W of .npy and .npz are where NIfTI has x, y, z."""

_TURNED = str.maketrans("DW", "WD")


@dataclass(frozen=True, slots=True)
class Axes:
    """The axes of an array: `names` are letters of NCDHW; fortran: the first is fastest.

    Those that are missing have length 1.
    """

    names: str
    fortran: bool = False

    def five(self, array: Array) -> Array:
        """A view of an array with these axes as N, C, D, H, W."""
        view = array.transpose([self.names.index(name) for name in ALL if name in self.names])
        return view[tuple(slice(None) if name in self.names else np.newaxis for name in ALL)]

    def own(self, five: Sequence[int]) -> tuple[int, ...]:
        """What these axes have of five numbers in N, C, D, H, W order."""
        return tuple(five[ALL.index(name)] for name in self.names)

    @property
    def memory(self) -> Five:
        """N, C, D, H, W as places 0 .. 4 in the order of memory, from the slowest to the fastest.

        Missing ones come first.
        """
        names = self.names[::-1] if self.fortran else self.names
        n, c, d, h, w = (
            *(ALL.index(name) for name in ALL if name not in names),
            *(ALL.index(name) for name in names),
        )
        return n, c, d, h, w


def names_of(fmt: str, shape: Sequence[int], most: int = 5) -> str:
    """What the axes of a file's array are, or a ValueError that says why it is no volume."""
    if not 3 <= len(shape) <= most:
        wanted = "3 or 4" if most == 4 else "3 to 5"
        raise ValueError(f"holds {len(shape)} axes {shape}, wanted {wanted}: D, H, W and channels")
    if 0 in shape:
        raise ValueError(f"holds an empty array {shape}, wanted at least one voxel")
    return FORMATS[fmt][len(shape)]


def turned(names: str) -> str:
    """The names of the axes where D, H, W stand in reverse order."""
    return names.translate(_TURNED)


def parts(
    source: Sequence[int], result: Sequence[int], memory: Five, itemsize: int, most: int
) -> Iterator[Ranges]:
    """(first, last) along N, C, D, H, W of runs of a result's memory, one after the other.

    source, result: N, C, D, H, W. memory: the order of the result's axes. A part and its sources
    have about `most` bytes at most each, unless a single result has more sources than that.
    """
    runs: list[list[tuple[int, int]]] = []
    left = most
    for k, axis in enumerate(memory):
        size = result[axis]
        inner = math.prod(max(source[a], result[a]) for a in memory[k + 1 :]) * itemsize
        each = inner * max(1, -(-source[axis] // size))
        run = min(size, max(1, left // each))
        runs.append([(first, min(first + run, size)) for first in range(0, size, run)])
        if each <= left:  # axes from here on are whole
            left = 2**63
    for chosen in itertools.product(*runs):
        part = dict(zip(memory, chosen, strict=True))
        yield tuple(part[axis] for axis in range(5))
