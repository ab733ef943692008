# SPDX-License-Identifier: Apache-2.0
"""NIfTI files by nibabel: arrays as they lie, their scaling, headers of new grids."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = np.ndarray[Any, Any]
Matrix = NDArray[np.float64]

SFORM_ALIGNED = 2
"""The code of an sform that says where a grid lies that had none (nifti1.h)."""


@contextmanager
def nibabel_quiet() -> Iterator[Any]:
    """nibabel, whose remarks on headers are not printed; failures raise anyway."""
    try:
        import nibabel
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "NIfTI wants nibabel: pip install nibabel", name="nibabel"
        ) from None
    log = logging.getLogger("nibabel.global")
    log.addFilter(nothing := lambda record: False)
    try:
        yield nibabel
    finally:
        log.removeFilter(nothing)


def read(path: Path) -> tuple[Array, Callable[[Array], Array] | None, Any]:
    """The array as it lies in the file, what makes values of it (None: they are), and the header.

    .nii files are mapped, .nii.gz are unpacked into memory.
    """
    with nibabel_quiet() as nibabel:
        image: Any = nibabel.load(path, mmap="r")
        if not isinstance(image, nibabel.Nifti1Image):
            raise ValueError(f"holds a {type(image).__name__}, wanted a NIfTI image")
        proxy = image.dataobj
        slope, inter = proxy.slope, proxy.inter
        scaling = nibabel.volumeutils.apply_read_scaling
        plain = slope == 1 and inter == 0
        scaled = None if plain else lambda raw: scaling(raw, slope, inter)
        return proxy.get_unscaled(), scaled, image.header


def affine(header: Any) -> Matrix:
    """Voxel indices -> world millimetres: the sform, else the qform, else what the sizes say."""
    return np.asarray(header.get_best_affine(), np.float64)


def header_of(found: Any, shape: tuple[int, ...], dtype: np.dtype[Any], place: Matrix) -> Any:
    """The header of a new grid: a copy of `found` (None: a new one) but for what has changed.

    place: 4 x 4, indices of the new grid -> indices of the old. Shape, dtype and scaling are the
    new ones; pixdim, qform and sform are multiplied by `place` and keep their codes. ValueError: a
    shape or dtype that NIfTI does not know.
    """
    with nibabel_quiet() as nibabel:
        if found is None:
            found = nibabel.Nifti1Header() if max(shape) < 2**15 else nibabel.Nifti2Header()
            found.set_sform(np.eye(4), SFORM_ALIGNED)
        best = affine(found) @ place
        header = found.as_byteswapped(nibabel.volumeutils.native_code)
        header.extensions = found.extensions
        header.set_data_shape(shape)
        try:
            header.set_data_dtype(dtype)
        except nibabel.spatialimages.HeaderDataError:
            raise ValueError(f"NIfTI does not know elements of type {dtype}") from None
        header["vox_offset"] = 0  # to be found anew
        header["scl_slope"], header["scl_inter"] = 1, 0
        if header["qform_code"] > 0:
            for name, place_of in zip("xyz", found.get_qform() @ place[:, 3], strict=False):
                header[f"qoffset_{name}"] = place_of
        header["pixdim"] = found["pixdim"]  # the shape had set some to 1
        header["pixdim"][1:4] *= np.diag(place)[:3]
        if header["sform_code"] > 0:
            for name, row in zip("xyz", found.get_sform() @ place, strict=False):
                header[f"srow_{name}"] = row
        elif not np.allclose(affine(header), best, rtol=1e-5, atol=1e-4):
            header.set_sform(best, SFORM_ALIGNED)  # sizes alone would place it elsewhere
        return header


def beginning(header: Any) -> bytes:
    """What a .nii file holds before its array."""
    written = io.BytesIO()
    header.write_to(written)
    return written.getvalue().ljust(int(header["vox_offset"]), b"\0")
