# SPDX-License-Identifier: Apache-2.0
"""Volumes in files: read, up-sampled, and gradients brought back, from file to file.

.npy, .npz, NIfTI (.nii, .nii.gz; wants nibabel). Arrays have 3, 4 or 5 axes: D, H, W, with C before
them and N before that (`data_format="NDHWC"`: with C behind them). NIfTI's x, y, z are D, H, W
whatever the data format, its fourth axis is C and its fifth N.
"""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tqdm import tqdm  # type: ignore[import-untyped]

from ..geometry.grids import edges
from ..geometry.grids import turned as turned_place
from ..geometry.kinds import KINDS, OPERATIONS
from ..plan.plan import Plan
from ..spec.arguments import element, one_of, text
from ..spec.errors import ParameterTypeError
from . import formats, headers, nifti, notices, places, targets
from .axes import FORMATS, ORDERS, Array, Axes, names_of, parts, turned
from .elements import computed_in, real, stored_in, values
from .formats import naming
from .process import undone_at_end
from .targets import Asked

PathLike = str | os.PathLike[str]
Sizes = Sequence[int]
Scales = float | Sequence[float | None] | None
Spacing = float | Sequence[float] | None

MODES = tuple(sorted(kind.name for kind in KINDS))
WITH_CORNERS = tuple(kind.name for kind in KINDS if kind.align_corners)

PART = 8 << 20
"""Bytes of a part of a volume, source and result each: all the memory beside what a file holds.
It takes some 10 ms, after which an interrupt is heard and the bar moves."""

PATIENCE = 1.0
"""Seconds of work before a bar appears."""


@dataclass(frozen=True)
class Volume:
    """One file's volume: float32 data in the file's axis order.

    axes: what they are, three or four letters of NCDHW in order; with four axes C is the last where
    nothing else is said. affine: maps voxel indices to the world, in the file's unit, mostly
    millimetres, as NIfTI defines it; None where the file has no such thing. `data` may be a view of
    the file: do not write into it.
    """

    data: npt.NDArray[np.float32]
    affine: npt.NDArray[np.float64] | None
    axes: str | None = None

    def channels_first(self) -> npt.NDArray[np.float32]:
        """A view of `data` as (N = 1, C, D, H, W)."""
        return Axes(self.axes or FORMATS["NIfTI"][self.data.ndim]).five(self.data)

    def spacing(self) -> tuple[float, float, float]:
        """Voxel edges along D, H, W: in millimetres where an affine says so, else 1."""
        x, y, z = (1.0, 1.0, 1.0) if self.affine is None else edges(self.affine)
        return (x, y, z) if 0 < x * y * z < np.inf else (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Written:
    """What was written: the array's shape and dtype, as the file has them."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def read(path: PathLike, data_format: str = "NCDHW", array: str | None = None) -> Volume:
    """The volume in a file, of 3 or 4 axes, scaled as its header says, float32.

    array: the name of one in an .npz of several. Nothing is copied where the file holds native,
    unscaled float32 (.npy and .nii are then mapped). OSError: the file cannot be read. ValueError:
    it is not what its suffix says, or no volume. ModuleNotFoundError: NIfTI without nibabel.
    """
    path, array = _path("path", path), _name(array)
    data_format = one_of("data_format", data_format, ("NCDHW", "NDHWC"))
    with naming(path):
        content = formats.read(path, array)
        fmt = data_format if content.header is None else "NIfTI"
        names = names_of(fmt, content.data.shape, most=4)
        real(content)
        affine = None if content.header is None else nifti.affine(content.header)
        return Volume(values(content, content.data, np.dtype(np.float32)), affine, names)


def forward(
    path: PathLike,
    out: PathLike,
    op: str = "trilinear",
    *,
    output_size: Sizes | None = None,
    scales: Scales = None,
    spacing: Spacing = None,
    like: PathLike | None = None,
    align_corners: bool = False,
    rule: str = "aclnn",
    dtype: Any = None,
    array: str | None = None,
    axes: str = "xyz",
    data_format: str = "NCDHW",
    force: bool = False,
    progress: bool = False,
) -> Written:
    """Writes a file's volume up-sampled by `op`: "nearest", "nearest_exact" or "trilinear".

    path, out: files with the suffix .npy, .npz, .nii or .nii.gz. The size is said in one way:
    - output_size: D, H, W. scales beside it decide where voxels fall, as in the functions.
    - scales: floor(size * scale); what is within 1e-6 of an integer, relatively, counts as it. At
      least 1. rule="torch": the plain floor.
    - spacing: the wanted edges of voxels, one or three, in the file's unit, of NIfTI. The size is
      size * edge / spacing to nearest, halves up, at least 1. The box stays, so that the new edges
      are box / size (align_corners: from the first voxel's centre to the last's).
    - like: a NIfTI file, whose size and grid the result has. A NIfTI source is of the same
      orientation and box, or has the same corner voxels' centres (trilinear then aligns them),
      within 0.001 voxel. .npy and .npz are taken to lie in the reference's box.
    align_corners, rule: as in the functions of that name.
    dtype: what is computed in, "float32", "float16", "bfloat16" or "float64"; None: the file's own
    if it is one of them and not scaled by its header, else float32 (float64 for scaled or longer
    floats); the nearest ops move elements of any type as they are unless they are scaled. trilinear
    interpolates integers too: labels want a nearest op. Values are scaled as NIfTI's header says.
    What is stored is the dtype that was computed in, or float32 where the file does not know it
    (float16 in NIfTI, bfloat16), uint8 for bool in NIfTI.
    array: the name of one in an .npz of several. axes: what D, H, W of .npy and .npz are where the
    other file, or the reference, has x, y, z: "xyz" or "zyx". Sizes are in the order of `path`.
    data_format: of .npy and .npz, in and out. force: whether `out` may exist and is replaced.
    progress: whether a bar is drawn on stderr where that is a terminal and the work is long.

    NIfTI out: the header is the file's own; its qform and sform place the new voxels edge to edge
    with the old ones, as wide as 1 / scale (without scales input / output size), or with the corner
    voxels' centres on each other (align_corners). Fields that are true no longer are cleared, as
    `headers.FALSIFIED` has them: slice times where that axis is resampled, a label's intent where
    labels are interpolated. It is NIfTI-2 where an axis is too long for NIfTI-1.

    Works through the volume in parts: needs memory for the file's array, unless it is mapped (.npy,
    .nii), and some 32 MB. Either the whole of `out` is written, or nothing is.
    Raises as `read`, ParameterError (a ValueError), ParameterTypeError (a TypeError), and
    FileExistsError where `out` exists and force is not set. Warns of what may not be meant, before
    anything is written: LabelWarning where trilinear meets an intent of labels, or integers of 32
    or 64 bits without dtype; GridWarning where a grid is invented (.npy to NIfTI) or dropped; their
    parent VolumeWarning where NIfTI-1 becomes NIfTI-2.
    """
    asked = targets.asked(
        one_of("op", op, MODES), output_size, scales, spacing, _path_or_none("like", like),
        align_corners, rule,
    )  # fmt: skip
    return _resample(path, out, asked, (array, axes, data_format), dtype, force, progress)


def backward(
    path: PathLike,
    out: PathLike,
    op: str = "trilinear",
    *,
    input_size: Sizes | None = None,
    scales: Scales = None,
    like: PathLike | None = None,
    align_corners: bool = False,
    rule: str = "aclnn",
    dtype: Any = None,
    array: str | None = None,
    axes: str = "xyz",
    data_format: str = "NCDHW",
    force: bool = False,
    progress: bool = False,
) -> Written:
    """Writes the gradient at the input of `op`, of a file that holds the gradient at its output.

    input_size: D, H, W; or like: what `forward` had as its file, if that is NIfTI, so that this
    file's grid is the one that `forward` made of it. NIfTI out: the grid is the one that `forward`
    would have made this file's grid of. The nearest ops sum, too; intents of labels and statistics
    and the display range (cal_min, cal_max) are cleared. Otherwise as `forward`.
    """
    asked = targets.asked(
        OPERATIONS[one_of("op", op, MODES)].adjoint, input_size, scales, None,
        _path_or_none("like", like), align_corners, rule,
    )  # fmt: skip
    return _resample(path, out, asked, (array, axes, data_format), dtype, force, progress)


def _resample(
    path: PathLike,
    out: PathLike,
    asked: Asked,
    stored_as: tuple[str | None, str, str],
    dtype: Any,
    force: bool,
    progress: bool,
) -> Written:
    """stored_as: array, axes, data_format."""
    array, axes, data_format = stored_as
    path, out, array = _path("path", path), _path("out", out), _name(array)
    data_format = one_of("data_format", data_format, ("NCDHW", "NDHWC"))
    zyx = one_of("axes", axes, ORDERS) == "zyx"
    dtype = None if dtype is None else element("dtype", dtype).numpy
    with naming(out):
        suffix = formats.suffix_of(out)
    places.check_place(out, force)
    with naming(path):
        content = formats.read(path, array)
        fmt = data_format if content.header is None else "NIfTI"
        lies = _axes_of(content.data, names_of(fmt, content.data.shape))
        work = computed_in(asked.op, content, dtype)
    source = lies.five(content.data)
    is_array = content.header is None
    goal = targets.target(asked, path, source.shape[2:], content.header, zyx and is_array)
    plan = targets.plan(asked, goal, source.shape, work)

    is_nifti = suffix.startswith(".nii")
    stored = stored_in(work, is_nifti)
    other_way = zyx and is_nifti == is_array
    names = FORMATS["NIfTI" if is_nifti else data_format][content.data.ndim]
    into = Axes(turned(names) if other_way else names, is_nifti or lies.fortran != other_way)
    shape, header = into.own(plan.out_shape), None
    if is_nifti:
        place = targets.place(plan)
        done = headers.Resampling(
            asked.op, turned_place(place) if other_way else place, goal.reference
        )
        with naming(out):
            header = headers.header_of(content.header, shape, stored, done)
    for notice in (
        *notices.of_labels(path, content, asked.op, dtype),
        *notices.of_grids(path, out, content, header, goal.reference is not None),
    ):
        warnings.warn(notice, stacklevel=3)
    with (
        formats.writing(out, shape, stored, into.fortran, header, force) as write,
        tqdm(
            total=math.prod(shape) * stored.itemsize, desc=path.name, unit="B", unit_scale=True,
            delay=PATIENCE, disable=not (progress and sys.stderr and sys.stderr.isatty()),
        ) as bar,
        undone_at_end(bar.close),
    ):  # fmt: skip
        valued = naming(path)(lambda x: values(content, x, work))
        for part in _made(plan, source, into, valued):
            write(part.astype(stored, copy=False))
            bar.update(part.size * stored.itemsize)
    return Written(shape, stored)


def _path(name: str, given: Any) -> Path:
    try:
        return Path(given)
    except TypeError:
        raise ParameterTypeError(f"{name} is {text(given)}, wanted the path of a file") from None


def _path_or_none(name: str, given: Any) -> Path | None:
    return None if given is None else _path(name, given)


def _name(array: Any) -> str | None:
    if array is not None and not isinstance(array, str):
        raise ParameterTypeError(f"array is {text(array)}, wanted the name of one in an .npz")
    return array


def _axes_of(data: Array, names: str) -> Axes:
    return Axes(names, data.flags.f_contiguous and not data.flags.c_contiguous)


def _made(
    plan: Plan, source: Array, into: Axes, values: Callable[[Array], Array]
) -> Iterator[Array]:
    """The parts of the result, as they follow in memory; each lasts until the next is asked for."""
    memory = into.memory
    buffer = np.empty(0, plan.dtype)
    for part in parts(source.shape, plan.out_shape, memory, plan.dtype.itemsize, PART):
        shape = [part[axis][1] - part[axis][0] for axis in memory]
        if buffer.size < math.prod(shape):
            buffer = np.empty(math.prod(shape), plan.dtype)
        lying = buffer[: math.prod(shape)].reshape(shape)
        result = lying.transpose([memory.index(axis) for axis in range(5)])
        x = values(source[plan.sources(part)])
        plan.part(part, x.strides, result.strides)(x, result)
        yield lying
