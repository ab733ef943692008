# SPDX-License-Identifier: Apache-2.0
"""NIfTI headers of new grids: the source's, but for the fields that a resampling falsifies."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..geometry.grids import Matrix, voxels_apart
from ..geometry.kinds import OPERATIONS
from .nifti import SPACE_UNIT, TIME_UNIT, affine, nibabel_quiet

SFORM_ALIGNED = 2
"""The code of an sform that says where a grid lies that had none (nifti1.h)."""

LONGEST = 2**15 - 1
"""The longest axis that NIfTI-1 can say; its dim has 16 bits."""

NAMES = {1002: "label", 1003: "neuroname", 1009: "triangle", 2002: "node index"}
"""Intents of numbers that name something -> what (nifti1.h). One between two names nothing."""

STATISTICS = range(2, 25)
"""Intents of a value's distribution (nifti1.h)."""


@dataclass(frozen=True)
class Resampling:
    """What was done to a volume.

    place: 4 x 4, indices x, y, z of the new grid -> those of the old. reference: the header whose
    grid the new one is; None: the one that `place` makes of the old.
    """

    op: str
    place: Matrix
    reference: Any = None

    @property
    def summed(self) -> bool:
        """Whether values are sums of the old, of another magnitude: gradients are."""
        return OPERATIONS[self.op].backward


def _always(_: Any, __: Resampling) -> bool:
    return True


def _range_is_gone(_: Any, done: Resampling) -> bool:
    return done.summed


def _slices_are_gone(found: Any, done: Resampling) -> bool:
    """Whether slices are others than those that were acquired: along z, where no axis is said."""
    axis = (int(found["dim_info"]) >> 4 & 3 or 3) - 1
    return bool(done.place[axis, axis] != 1)  # then they are not shifted either


def _meaning_is_gone(found: Any, done: Resampling) -> bool:
    """Whether values are no longer what the intent says.

    These are names that were interpolated or summed, and statistics that were summed.
    """
    code = int(found["intent_code"])
    if done.summed:
        return code in NAMES or code in STATISTICS
    return code in NAMES and not OPERATIONS[done.op].moves


FALSIFIED: dict[str, Callable[[Any, Resampling], bool]] = {
    "slice_code": _slices_are_gone,
    "slice_start": _slices_are_gone,
    "slice_end": _slices_are_gone,
    "slice_duration": _slices_are_gone,
    "intent_code": _meaning_is_gone,
    "intent_p1": _meaning_is_gone,
    "intent_p2": _meaning_is_gone,
    "intent_p3": _meaning_is_gone,
    "intent_name": _meaning_is_gone,
    "cal_max": _range_is_gone,
    "cal_min": _range_is_gone,
    "glmax": _always,  # of the array as it was stored
    "glmin": _always,  # or FreeSurfer's long axis
}
"""A field that says nothing in the new header -> where that is so. 0 means "not said" in each."""

OF_THE_ARRAY = {"dim", "datatype", "bitpix", "vox_offset", "scl_slope", "scl_inter"}
"""Fields that say how the new array is stored."""

OF_THE_GRID = {
    "pixdim", "qform_code", "sform_code", "quatern_b", "quatern_c", "quatern_d",
    "qoffset_x", "qoffset_y", "qoffset_z", "srow_x", "srow_y", "srow_z",
}  # fmt: skip
"""Fields that say where the voxels lie. Of pixdim those of time and beyond stay."""

OF_THE_FORMAT = {"sizeof_hdr", "magic", "eol_check"}
"""Fields that are the format's own; NIfTI-2 has other values."""

KEPT = {
    "dim_info",  # x, y, z are still the axes along which slices, phases, frequencies were taken
    "xyzt_units", "toffset",  # time is not resampled
    "descrip", "aux_file",
    "data_type", "db_name", "extents", "session_error", "regular", "unused_str",  # unused
}  # fmt: skip
"""Fields that stay true. So do extensions: they tell of what was acquired."""


def header_of(found: Any, shape: tuple[int, ...], dtype: np.dtype[Any], done: Resampling) -> Any:
    """The header of a new grid: a copy of `found` (None: a new one) but for what has changed.

    The grid is the reference's, or else pixdim, qform and sform are multiplied by the placement and
    keep their codes. NIfTI-2 if NIfTI-1 cannot hold the shape. ValueError: a dtype that
    NIfTI does not know.
    """
    with nibabel_quiet() as nibabel:
        if found is None:
            found = nibabel.Nifti1Header()
            found.set_sform(np.eye(4), SFORM_ALIGNED)
        header = found.as_byteswapped(nibabel.volumeutils.native_code)
        header.extensions = found.extensions
        if max(shape) > LONGEST and not isinstance(header, nibabel.Nifti2Header):
            header = _widened(header, nibabel.Nifti2Header())
        header.set_data_shape(shape)
        try:
            header.set_data_dtype(dtype)
        except nibabel.spatialimages.HeaderDataError:
            raise ValueError(f"NIfTI does not know elements of type {dtype}") from None
        header["vox_offset"] = 0  # to be found anew
        header["scl_slope"], header["scl_inter"] = 1, 0
        header["pixdim"] = found["pixdim"]  # the shape had set some to 1
        for field in FALSIFIED.keys() & set(header.keys()):
            if FALSIFIED[field](found, done):
                header[field] = np.zeros((), header[field].dtype)
        if done.reference is None:
            _move(header, found, done.place)
        else:
            _take(header, done.reference)
        return header


def is_widened(found: Any, header: Any) -> bool:
    """Whether a header is NIfTI-2 that was not (None: that was none)."""
    wide = bool(header["sizeof_hdr"] == 540)
    return wide and (found is None or bool(found["sizeof_hdr"] != 540))


def named(found: Any) -> str | None:
    """What numbers name whose header is `found`; None where they do not, or there is no header."""
    return None if found is None else NAMES.get(int(found["intent_code"]))


def beginning(header: Any) -> bytes:
    """What a .nii file holds before its array."""
    written = io.BytesIO()
    header.write_to(written)
    return written.getvalue().ljust(int(header["vox_offset"]), b"\0")


def _widened(header: Any, wide: Any) -> Any:
    """The NIfTI-2 header that says what a NIfTI-1 header says."""
    for field in set(wide.keys()) & set(header.keys()) - OF_THE_FORMAT:
        wide[field] = header[field]
    wide.extensions = header.extensions
    return wide


def _move(header: Any, found: Any, place: Matrix) -> None:
    """Places the header's grid by `place` among the voxels of `found`."""
    if header["qform_code"] != 0:
        for name, place_of in zip("xyz", found.get_qform() @ place[:, 3], strict=False):
            header[f"qoffset_{name}"] = place_of
    header["pixdim"][1:4] *= np.diag(place)[:3]
    if header["sform_code"] != 0:
        for name, row in zip("xyz", found.get_sform() @ place, strict=False):
            header[f"srow_{name}"] = row
    elif header["qform_code"] == 0:
        best, size = affine(found) @ place, header.get_data_shape()[:3]
        rounding = 2 * float(np.finfo(header["pixdim"].dtype).eps) * max(size)
        if not voxels_apart(affine(header), best, size) <= rounding:
            header.set_sform(best, SFORM_ALIGNED)  # sizes alone would place it elsewhere


def _take(header: Any, reference: Any) -> None:
    """Makes the header's grid that of a reference of the same size, to the bit where it can."""
    for field in OF_THE_GRID - {"pixdim"}:
        header[field] = reference[field]
    header["pixdim"][:4] = reference["pixdim"][:4]
    unit = int(reference["xyzt_units"]) & SPACE_UNIT
    header["xyzt_units"] = int(header["xyzt_units"]) & TIME_UNIT | unit
