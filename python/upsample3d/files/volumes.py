# SPDX-License-Identifier: Apache-2.0
"""Volumes in files: read, up-sampled, and gradients brought back, from file to file.

.npy, .npz, NIfTI (.nii, .nii.gz; wants nibabel). Arrays have 3, 4 or 5 axes: D, H, W, with C before
them and N before that (`data_format="NDHWC"`: with C behind them). NIfTI's x, y, z are D, H, W
whatever the data format, its fourth axis is C and its fifth N.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..geometry.kinds import KINDS, OPERATIONS
from ..spec.arguments import one_of
from . import targets
from .stream import Written, resample
from .volume import PathLike, path_or_none

Sizes = Sequence[int]
Scales = float | Sequence[float | None] | None
Spacing = float | Sequence[float] | None

MODES = tuple(sorted(kind.name for kind in KINDS))
WITH_CORNERS = tuple(kind.name for kind in KINDS if kind.align_corners)


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
    """Resample the volume in one file into another file.

    Parameters
    ----------
    path, out : str or path-like
        Files with the suffix .npy, .npz, .nii or .nii.gz.
    op : {"trilinear", "nearest_exact", "nearest"}, default "trilinear"
        Kind of interpolation. Labels need one of the nearest ops.
    output_size : sequence of 3 ints, optional
        Size of D, H, W, in the order of `path`. This, `scales`, `spacing` or `like` gives the size;
        only `scales` may stand beside it, and then decide where voxels fall.
    scales : float or sequence of 3 floats, optional
        Output size / input size. An axis gets floor(size * scale) voxels, at least 1; a product
        within 1e-6 of an integer, relatively, counts as it (rule="torch": the plain floor).
    spacing : float or sequence of 3 floats, optional
        Wanted edges of a NIfTI voxel, in the file's unit. An axis gets size * edge / spacing
        voxels, to nearest, halves up, at least 1. The box stays, so that the new edge is box /
        size. With `align_corners` the box ends at the centres of the corner voxels.
    like : str or path-like, optional
        NIfTI file whose size and grid the result gets. A NIfTI source must have the same
        orientation and box, or the same centres of the corner voxels (trilinear then aligns them),
        within 0.001 voxel. .npy and .npz are taken to lie in the reference's box.
    align_corners : bool, default False
        Whether the centres of the corner voxels coincide; only for trilinear.
    rule : {"aclnn", "torch"}, default "aclnn"
        Whose indices and weights: the CANN operators' or PyTorch's.
    dtype : dtype_like, optional
        Type of the computation: float32, float16, bfloat16 or float64. None takes the file's own if
        it is one of these and the header does not scale it, else float32 (float64 for scaled or
        longer floats). The nearest ops move elements of any type unchanged, unless the header
        scales them.
    array : str, optional
        Name of the array to read from an .npz file of several.
    axes : {"xyz", "zyx"}, default "xyz"
        Which axes of a NIfTI file are the D, H, W of a .npy or .npz file, when one of `path`, `out`
        and `like` is NIfTI and another is not.
    data_format : {"NCDHW", "NDHWC"}, default "NCDHW"
        Whether channels come first or last in .npy and .npz files, read and written.
    force : bool, default False
        Whether `out` may exist and is replaced.
    progress : bool, default False
        Whether to draw a bar on stderr, if stderr is a terminal and the work takes long.

    Returns
    -------
    Written
        The shape and dtype that were written. The dtype is that of the computation, or float32 if
        the format lacks it (float16 in NIfTI, bfloat16), or uint8 for bool in NIfTI.

    Raises
    ------
    OSError
        A file cannot be read or written. It is a FileExistsError if `out` exists and `force` is
        False.
    ValueError
        The file is not what its suffix says, or holds no volume.
    ParameterError
        An argument has an impossible value. It is a ValueError.
    ParameterTypeError
        An argument has a wrong type. It is a TypeError.
    ModuleNotFoundError
        A file is NIfTI and nibabel is not installed.

    Warns
    -----
    LabelWarning
        trilinear met an intent of labels, or 32- or 64-bit integers without `dtype`.
    GridWarning
        A grid was invented (.npy to NIfTI) or dropped (NIfTI to .npy).
    VolumeWarning
        The result is NIfTI-2, because an axis is too long for NIfTI-1.

    Notes
    -----
    A NIfTI result keeps the header of its source. The qform and sform place the new voxels edge to
    edge with the old ones, 1 / scale wide (without scales input size / output size), or put the
    centres of the corner voxels on each other (`align_corners`). Fields that are no longer true are
    cleared, such as slice times of a resampled axis and the label intent of interpolated labels.

    The volume is worked through in parts. This needs memory for the file's array, unless .npy or
    .nii is mapped, and some 32 MB. Either the whole of `out` is written, or nothing.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from pathlib import Path
    >>> from upsample3d import volumes
    >>> folder = Path(tempfile.mkdtemp())
    >>> np.save(folder / "small.npy", np.zeros((2, 3, 4), np.float32))
    >>> volumes.forward(folder / "small.npy", folder / "large.npy", scales=2)
    Written(shape=(4, 6, 8), dtype=dtype('float32'))
    """
    asked = targets.asked(
        one_of("op", op, MODES), output_size, scales, spacing, path_or_none("like", like),
        align_corners, rule,
    )  # fmt: skip
    return resample(path, out, asked, (array, axes, data_format), dtype, force, progress)


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
    """Compute the gradient at the input of `forward`, from file to file.

    Parameters
    ----------
    path, out : str or path-like
        Files with the suffix .npy, .npz, .nii or .nii.gz. `path` holds the gradient at the output.
    op : {"trilinear", "nearest_exact", "nearest"}, default "trilinear"
        The forward op whose gradient this is.
    input_size : sequence of 3 ints, optional
        Size of D, H, W of the forward op's input, in the order of `path`. This or `like` is needed.
    scales : float or sequence of 3 floats, optional
        Output size / input size that the forward op was given, if any.
    like : str or path-like, optional
        The NIfTI file that was the input of `forward`. The result gets its size and grid; the grid
        of `path` must be the one that `forward` made of it.
    align_corners : bool, default False
        Whether the centres of the corner voxels coincide; only for trilinear.
    rule : {"aclnn", "torch"}, default "aclnn"
        Whose indices and weights: the CANN operators' or PyTorch's.
    dtype : dtype_like, optional
        Type of the computation: float32, float16, bfloat16 or float64. None takes the file's own if
        it is one of these and the header does not scale it, else float32 (float64 for scaled or
        longer floats).
    array : str, optional
        Name of the array to read from an .npz file of several.
    axes : {"xyz", "zyx"}, default "xyz"
        Which axes of a NIfTI file are the D, H, W of a .npy or .npz file, when one of `path`, `out`
        and `like` is NIfTI and another is not.
    data_format : {"NCDHW", "NDHWC"}, default "NCDHW"
        Whether channels come first or last in .npy and .npz files, read and written.
    force : bool, default False
        Whether `out` may exist and is replaced.
    progress : bool, default False
        Whether to draw a bar on stderr, if stderr is a terminal and the work takes long.

    Returns
    -------
    Written
        The shape and dtype that were written. The dtype is that of the computation, or float32 if
        the format lacks it (float16 in NIfTI, bfloat16), or uint8 for bool in NIfTI.

    Raises
    ------
    OSError
        A file cannot be read or written. It is a FileExistsError if `out` exists and `force` is
        False.
    ValueError
        The file is not what its suffix says, or holds no volume.
    ParameterError
        An argument has an impossible value. It is a ValueError.
    ParameterTypeError
        An argument has a wrong type. It is a TypeError.
    ModuleNotFoundError
        A file is NIfTI and nibabel is not installed.

    Warns
    -----
    LabelWarning
        The header's intent says labels, which no gradient is; the result has no intent.
    GridWarning
        A grid was invented (.npy to NIfTI) or dropped (NIfTI to .npy).
    VolumeWarning
        The result is NIfTI-2, because an axis is too long for NIfTI-1.

    Notes
    -----
    A NIfTI result lies on the grid from which `forward` would have made that of `path`. Intents of
    labels and statistics and the display range (cal_min, cal_max) are cleared.

    The volume is worked through in parts. This needs memory for the file's array, unless .npy or
    .nii is mapped, and some 32 MB. Either the whole of `out` is written, or nothing.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from pathlib import Path
    >>> from upsample3d import volumes
    >>> folder = Path(tempfile.mkdtemp())
    >>> np.save(folder / "gradient.npy", np.ones((4, 6, 8), np.float32))
    >>> volumes.backward(folder / "gradient.npy", folder / "back.npy", input_size=(2, 3, 4))
    Written(shape=(2, 3, 4), dtype=dtype('float32'))
    """
    asked = targets.asked(
        OPERATIONS[one_of("op", op, MODES)].adjoint, input_size, scales, None,
        path_or_none("like", like), align_corners, rule,
    )  # fmt: skip
    return resample(path, out, asked, (array, axes, data_format), dtype, force, progress)
