# SPDX-License-Identifier: Apache-2.0
"""One file's volume, read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..geometry.grids import edges
from ..spec.arguments import one_of, text
from ..spec.errors import ParameterTypeError
from . import formats, nifti
from .axes import FORMATS, Axes, names_of
from .elements import real, values
from .formats import naming

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Volume:
    """A volume read from a file.

    Attributes
    ----------
    data : ndarray of float32
        The voxels, scaled as the header says, with 3 or 4 axes in the file's order. It may be a
        view of the mapped file: do not write into it.
    affine : ndarray of float64, shape (4, 4), or None
        Maps voxel indices to the world as NIfTI defines it, in the file's unit, mostly millimetres.
        None if the format has no affine.
    axes : str, optional
        What the axes are: three or four letters of NCDHW in the order of `data`. None means DHW or
        DHWC.
    """

    data: npt.NDArray[np.float32]
    affine: npt.NDArray[np.float64] | None
    axes: str | None = None

    def channels_first(self) -> npt.NDArray[np.float32]:
        """Return a view of `data` with five axes.

        Returns
        -------
        ndarray of float32
            (N = 1, C, D, H, W).
        """
        return Axes(self.axes or FORMATS["NIfTI"][self.data.ndim]).five(self.data)

    def spacing(self) -> tuple[float, float, float]:
        """Return the lengths of a voxel's edges.

        Returns
        -------
        tuple of 3 floats
            Along D, H and W, in the unit of the affine; 1 without an affine, or if the product of
            its edges is 0 or not finite.
        """
        x, y, z = (1.0, 1.0, 1.0) if self.affine is None else edges(self.affine)
        return (x, y, z) if 0 < x * y * z < np.inf else (1.0, 1.0, 1.0)


def read(path: PathLike, data_format: str = "NCDHW", array: str | None = None) -> Volume:
    """Read the volume in a file.

    Parameters
    ----------
    path : str or path-like
        A .npy, .npz, .nii or .nii.gz file with 3 or 4 axes.
    data_format : {"NCDHW", "NDHWC"}, default "NCDHW"
        Whether the channels of a .npy or .npz file with 4 axes come first or last.
    array : str, optional
        Name of the array to read from an .npz file of several.

    Returns
    -------
    Volume
        float32 data in the file's axis order. Native, unscaled float32 is not copied; .npy and .nii
        files are then mapped.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        The file is not what its suffix says, or holds no volume. A wrong argument is a
        ParameterError or ParameterTypeError.
    ModuleNotFoundError
        The file is NIfTI and nibabel is not installed.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from upsample3d import volumes
    >>> with tempfile.NamedTemporaryFile(suffix=".npy") as file:
    ...     np.save(file.name, np.zeros((2, 3, 4), np.uint8))
    ...     volumes.read(file.name).data.shape
    (2, 3, 4)
    """
    path, array = path_of("path", path), array_name(array)
    data_format = one_of("data_format", data_format, ("NCDHW", "NDHWC"))
    with naming(path):
        content = formats.read(path, array)
        fmt = data_format if content.header is None else "NIfTI"
        names = names_of(fmt, content.data.shape, most=4)
        real(content)
        affine = None if content.header is None else nifti.affine(content.header)
        return Volume(values(content, content.data, np.dtype(np.float32)), affine, names)


def path_of(name: str, given: Any) -> Path:
    """Read an argument as a path."""
    try:
        return Path(given)
    except TypeError:
        raise ParameterTypeError(f"{name} is {text(given)}, wanted the path of a file") from None


def path_or_none(name: str, given: Any) -> Path | None:
    """Read an argument as a path, or None."""
    return None if given is None else path_of(name, given)


def array_name(array: Any) -> str | None:
    """Refuse what is no name of an array."""
    if array is not None and not isinstance(array, str):
        raise ParameterTypeError(f"array is {text(array)}, wanted the name of one in an .npz")
    return array
