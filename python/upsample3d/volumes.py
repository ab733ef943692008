# SPDX-License-Identifier: Apache-2.0
"""Volumes in files: read, up-sampled, and gradients brought back, from file to file.

.npy, .npz with one array, NIfTI (.nii, .nii.gz; wants nibabel). Arrays have 3, 4 or 5 axes: D, H,
W, with C before them and N before that (`data_format="NDHWC"`: with C behind them). NIfTI's x, y, z
are D, H, W whatever the data format, its fourth axis is C and its fifth N.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from tqdm import tqdm  # type: ignore[import-untyped]

from . import files, nifti
from .arguments import element, integers, one_of, text
from .axes import FORMATS, Array, Axes, parts
from .files import Content, naming
from .grids import placement
from .plan import Plan
from .problem import MOVING
from .status import ParameterTypeError

PathLike = str | os.PathLike[str]
Sizes = Sequence[int]
Scales = float | Sequence[float | None] | None

MODES = ("nearest", "nearest_exact", "trilinear")

PART = 8 << 20
"""Bytes of a part of a volume, source and result each: all the memory beside what a file holds.
It takes some 10 ms, after which an interrupt is heard and the bar moves."""

PATIENCE = 1.0
"""Seconds of work before a bar appears."""

STORED_AS: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(ml_dtypes.bfloat16): np.dtype(np.float32),  # no file knows it; float32 holds it
    np.dtype(np.float16): np.dtype(np.float32),
    np.dtype(np.bool_): np.dtype(np.uint8),
}
"""What NIfTI does not know -> what holds the same values; of these .npy lacks bfloat16 only."""


@dataclass(frozen=True)
class Volume:
    """One file's volume: float32 data in the file's axis order.

    axes: what they are, three or four letters of NCDHW in order; with four axes C is the last where
    nothing else is said. affine: maps voxel indices to world millimetres, as NIfTI defines it; None
    where the file has no such thing. `data` may be a view of the file: do not write into it.
    """

    data: npt.NDArray[np.float32]
    affine: npt.NDArray[np.float64] | None
    axes: str | None = None

    def channels_first(self) -> npt.NDArray[np.float32]:
        """A view of `data` as (N = 1, C, D, H, W)."""
        return Axes(self.axes or FORMATS["NIfTI"][self.data.ndim]).five(self.data)

    def spacing(self) -> tuple[float, float, float]:
        """Voxel edges along D, H, W: in millimetres where an affine says so, else 1."""
        edges = [1.0] if self.affine is None else np.linalg.norm(self.affine[:3, :3], axis=0)
        x, y, z = np.broadcast_to(edges, 3).tolist()
        return (x, y, z) if 0 < x * y * z < np.inf else (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Written:
    """What was written: the array's shape and dtype, as the file has them."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def read(path: PathLike, data_format: str = "NCDHW") -> Volume:
    """The volume in a file, of 3 or 4 axes, scaled as its header says, float32.

    Nothing is copied where the file holds native, unscaled float32 (.npy and .nii are then mapped).
    OSError: the file cannot be read. ValueError: it is not what its suffix says, or no volume.
    ModuleNotFoundError: NIfTI without nibabel.
    """
    path = _path("path", path)
    with naming(path):
        content = files.read(path)
        axes = _axes_of(content, data_format, most=4)
        real = content.data.dtype.kind in "biuf"
        if not real:
            raise ValueError(f"holds elements of type {content.data.dtype}, wanted real numbers")
        affine = None if content.header is None else nifti.affine(content.header)
        return Volume(_values(content, content.data, np.dtype(np.float32)), affine, axes.names)


def forward(
    path: PathLike,
    out: PathLike,
    op: str = "trilinear",
    *,
    output_size: Sizes | None = None,
    scales: Scales = None,
    align_corners: bool = False,
    rule: str = "aclnn",
    dtype: Any = None,
    data_format: str = "NCDHW",
    force: bool = False,
    progress: bool = False,
) -> Written:
    """Writes a file's volume up-sampled by `op`: "nearest", "nearest_exact" or "trilinear".

    path, out: files with the suffix .npy, .npz, .nii or .nii.gz. output_size: D, H, W; None with
    scales means floor(size * scale). scales, align_corners, rule: as in the functions of that name.
    dtype: what is computed in, "float32", "float16", "bfloat16" or "float64"; None: the file's own
    if it is one of them and not scaled by its header, else float32 (float64 for scaled or longer
    floats); the nearest ops move elements of any type as they are unless they are scaled. trilinear
    interpolates integers too: labels want a nearest op. Values are scaled as NIfTI's header says.
    What is stored is the dtype that was computed in, or float32 where the file does not know it
    (float16 in NIfTI, bfloat16), uint8 for bool in NIfTI.
    data_format: of .npy and .npz, in and out. force: whether `out` may exist and is replaced.
    progress: whether a bar is drawn on stderr where that is a terminal and the work is long.

    NIfTI out: the header is the file's own; its qform and sform place the new voxels edge to edge
    with the old ones, as wide as 1 / scale (without scales input / output size), or with the corner
    voxels' centres on each other (align_corners). Other fields stay.

    Works through the volume in parts: needs memory for the file's array, unless it is mapped (.npy,
    .nii), and some 32 MB. Either the whole of `out` is written, or nothing is.
    Raises as `read`, ParameterError (a ValueError), ParameterTypeError (a TypeError), and
    FileExistsError where `out` exists and force is not set.
    """
    return _resample(
        path, out, one_of("op", op, MODES), None, output_size, scales, align_corners, rule, dtype,
        data_format, force, progress,
    )  # fmt: skip


def backward(
    path: PathLike,
    out: PathLike,
    op: str = "trilinear",
    *,
    input_size: Sizes,
    scales: Scales = None,
    align_corners: bool = False,
    rule: str = "aclnn",
    dtype: Any = None,
    data_format: str = "NCDHW",
    force: bool = False,
    progress: bool = False,
) -> Written:
    """Writes the gradient at the input of `op`, of a file that holds the gradient at its output.

    input_size: D, H, W. NIfTI out: the grid is the one that `forward` would have made this file's
    grid of. The nearest ops sum, too. Otherwise as `forward`.
    """
    sizes = integers("input_size", input_size, 3, "3 integers (D, H, W)")
    return _resample(
        path, out, f"{one_of('op', op, MODES)}_backward", sizes, None, scales, align_corners, rule,
        dtype, data_format, force, progress,
    )  # fmt: skip


def _resample(
    path: PathLike,
    out: PathLike,
    op: Any,
    input_size: Sizes | None,
    output_size: Sizes | None,
    scales: Scales,
    align_corners: bool,
    rule: Any,
    dtype: Any,
    data_format: str,
    force: bool,
    progress: bool,
) -> Written:
    path, out = _path("path", path), _path("out", out)
    with naming(out):
        suffix = files.suffix_of(out)
    files.check_place(out, force)
    with naming(path):
        content = files.read(path)
        axes = _axes_of(content, data_format)
        work = _computed_in(op, content, dtype)
    source = axes.five(content.data)
    if input_size is not None:
        input_size = (*source.shape[:2], *input_size)
    plan = Plan(
        op, source.shape, work, input_size=input_size, output_size=output_size, scales=scales,
        align_corners=align_corners, rule=rule,
    )  # fmt: skip

    is_nifti = suffix.startswith(".nii")
    stored = STORED_AS.get(work, work) if is_nifti or work == ml_dtypes.bfloat16 else work
    names = FORMATS["NIfTI" if is_nifti else data_format][content.data.ndim]
    into = Axes(names, is_nifti or axes.fortran)
    shape, header = into.own(plan.out_shape), None
    if is_nifti:
        with naming(out):
            header = nifti.header_of(content.header, shape, stored, _place(plan))
    with (
        files.writing(out, shape, stored, into.fortran, header, force) as write,
        tqdm(
            total=math.prod(shape) * stored.itemsize, desc=path.name, unit="B", unit_scale=True,
            delay=PATIENCE, disable=not progress or not sys.stderr.isatty(),
        ) as bar,
    ):  # fmt: skip
        for part in _made(plan, source, into, lambda x: _values(content, x, work)):
            write(part.astype(stored, copy=False))
            bar.update(part.size * stored.itemsize)
    return Written(shape, stored)


def _path(name: str, given: Any) -> Path:
    try:
        return Path(given)
    except TypeError:
        raise ParameterTypeError(f"{name} is {text(given)}, wanted the path of a file") from None


def _made(
    plan: Plan, source: Array, into: Axes, values: Callable[[Array], Array]
) -> Iterator[Array]:
    """The parts of the result, as they follow in memory; each lasts until the next is asked for."""
    memory = into.memory
    room = np.empty(0, plan.dtype)
    for part in parts(source.shape, plan.out_shape, memory, plan.dtype.itemsize, PART):
        shape = [part[axis][1] - part[axis][0] for axis in memory]
        if room.size < math.prod(shape):
            room = np.empty(math.prod(shape), plan.dtype)
        lying = room[: math.prod(shape)].reshape(shape)
        result = lying.transpose([memory.index(axis) for axis in range(5)])
        x = values(source[plan.sources(part)])
        plan.part(part, x.strides, result.strides)(x, result)
        yield lying


def _axes_of(content: Content, data_format: str, most: int = 5) -> Axes:
    """The axes of a file's array, or a ValueError that says why it is no volume."""
    data, shape = content.data, content.data.shape
    fmt = data_format if content.header is None else "NIfTI"
    if fmt not in FORMATS:
        raise ValueError(f"data_format is {fmt!r}, wanted NCDHW or NDHWC")
    if not 3 <= len(shape) <= most:
        wanted = "3 or 4" if most == 4 else "3 to 5"
        raise ValueError(f"holds {len(shape)} axes {shape}, wanted {wanted}: D, H, W and channels")
    if 0 in shape:
        raise ValueError(f"holds an empty array {shape}, wanted at least one voxel")
    return Axes(FORMATS[fmt][len(shape)], data.flags.f_contiguous and not data.flags.c_contiguous)


def _computed_in(op: str, content: Content, dtype: Any) -> np.dtype[Any]:
    """The dtype that a file's values are computed in, or a ValueError if there is none."""
    held: np.dtype[Any] = content.data.dtype
    native: np.dtype[Any] = held.newbyteorder("=")
    if op in MOVING and dtype is None and content.scaled is None:
        return native
    if held.kind not in "biuf":
        raise ValueError(f"holds elements of type {held}, wanted real numbers")
    if dtype is not None:
        return element("dtype", dtype).numpy
    if held.kind != "f":
        return np.dtype(np.float32)
    if content.scaled is None and held.itemsize <= 8:
        return native
    return np.dtype(np.float64 if held.itemsize > 4 else np.float32)


def _values(content: Content, x: Array, dtype: np.dtype[Any]) -> Array:
    """(A part of) a file's array as values of this dtype; no copy where it holds such."""
    with np.errstate(over="ignore"):  # beyond the dtype is inf, for the caller to judge
        return np.asarray(x if content.scaled is None else content.scaled(x), dtype)


def _place(plan: Plan) -> npt.NDArray[np.float64]:
    """4 x 4: indices of the plan's result -> indices of its source."""
    asked = plan.problem
    i, o, scales = zip(*asked.axes, strict=True)
    found = placement(asked.op, i, o, scales, asked.align_corners)
    if asked.op.endswith("_backward"):
        found = np.linalg.inv(found).astype(np.float64)
    return found
