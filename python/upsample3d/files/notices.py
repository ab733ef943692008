# SPDX-License-Identifier: Apache-2.0
"""What a user is told of a volume that went from file to file, right or not by what is meant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..geometry.grids import edges
from ..geometry.kinds import OPERATIONS
from .formats import Content
from .headers import LONGEST, is_widened, named
from .nifti import affine


class VolumeWarning(UserWarning):
    """A remark on a file that is written: it holds less, or more, than the file that was read."""


class LabelWarning(VolumeWarning):
    """Numbers that seem to be labels are interpolated, or are taken for a gradient."""


class GridWarning(VolumeWarning):
    """A grid in space is invented, or dropped."""


def of_labels(
    path: Path, content: Content, op: str, dtype: np.dtype[Any] | None
) -> Iterator[VolumeWarning]:
    """Whether labels are computed with. An asked for dtype says that integers are none."""
    held, name = content.data.dtype, named(content.header)
    if OPERATIONS[op].backward:
        if name is not None:
            yield LabelWarning(
                f"{path}: its intent is {name}, which no gradient is; the result has none"
            )
    elif not OPERATIONS[op].moves:
        keeps = "--op nearest_exact keeps labels as they are"
        if name is not None:
            yield LabelWarning(
                f"{path}: its intent is {name}; {op} makes values between them, and the "
                f"result has no intent ({keeps})"
            )
        elif held.kind in "iu" and held.itemsize >= 4 and content.scaled is None and dtype is None:
            yield LabelWarning(
                f"{path}: holds {held.name}, which {op} interpolates in float32 "
                f"({keeps}; --dtype says that these are none)"
            )


def of_grids(
    path: Path, out: Path, content: Content, header: Any, taken: bool
) -> Iterator[VolumeWarning]:
    """What of a grid is invented or lost. header: the new one, or None; taken: of a reference."""
    if header is None:
        if content.header is not None:
            yield GridWarning(
                f"{out}: holds an array alone; voxel size, orientation and the rest of the header "
                f"of {path} are dropped"
            )
        return
    if content.header is None and not taken:
        size = " x ".join(f"{edge:g}" for edge in edges(affine(header)))
        yield GridWarning(
            f"{out}: {path} says nothing of a grid, so one is invented: voxels of {size}, "
            "x, y, z to the right, front and top (--like takes a file's)"
        )
    if is_widened(content.header, header):
        sizes = header.get_data_shape()
        axis, size = max(zip("xyzcn", sizes, strict=False), key=lambda pair: pair[1])
        yield VolumeWarning(
            f"{out}: is NIfTI-2, for its {axis} has {size} voxels and NIfTI-1 holds {LONGEST}"
        )
