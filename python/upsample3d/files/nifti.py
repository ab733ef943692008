# SPDX-License-Identifier: Apache-2.0
"""NIfTI files by nibabel: arrays as they lie, their scaling, their grids.

Headers are not trusted: what one says of its file's length is compared with the file first, and no
memory is taken for what is not there.
"""

from __future__ import annotations

import gzip
import io
import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

Array = np.ndarray[Any, Any]
Matrix = NDArray[np.float64]

PIECE = 1 << 20
"""Bytes that are unpacked at a time: some 10 ms, and then signals are heard."""

MOST_DEFLATED = 1032
"""Bytes that one byte of a .gz file holds at most: 258 in two bits (RFC 1951)."""

MAGICS = (b"ni1\0", b"n+1\0")
HEADERS = 540
"""Bytes of the longest header, NIfTI-2's."""

MILLIMETRES = {1: 1e3, 2: 1.0, 3: 1e-3}
"""A code of a spatial unit -> what it is (nifti1.h): metre, millimetre, micron."""

SPACE_UNIT, TIME_UNIT = 0x07, 0x38
"""The bits of xyzt_units."""


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
    with nibabel_quiet() as nibabel, _unpacked(path) as stream:
        header, offset = _header(nibabel, path, stream)
        shape, dtype = header.get_data_shape(), header.get_data_dtype()
        slope, inter = header.get_slope_inter()
        if math.prod(shape) * dtype.itemsize == 0:
            array: Array = np.empty(shape, dtype)
        elif _is_packed(path):
            array = np.empty(shape, dtype, order="F")
            _fill(array, stream)
        else:
            array = np.asarray(np.memmap(path, dtype, "r", offset, shape, "F"))
        scaling = nibabel.volumeutils.apply_read_scaling
    plain = slope in (None, 1) and inter in (None, 0)
    return array, None if plain else lambda raw: scaling(raw, slope, inter), header


def header(path: Path) -> Any:
    """The header of a file, whose array is not read."""
    with nibabel_quiet() as nibabel, _unpacked(path) as stream:
        return _header(nibabel, path, stream)[0]


def affine(header: Any) -> Matrix:
    """Voxel indices -> the world, in the file's unit: the sform, the qform, or what sizes say."""
    return np.asarray(header.get_best_affine(), np.float64)


def affines_in_one_unit(a: Any, b: Any) -> tuple[Matrix, Matrix]:
    """The affines of two headers, in millimetres where both say their units."""
    first, second = (MILLIMETRES.get(int(header["xyzt_units"]) & SPACE_UNIT) for header in (a, b))
    if first is None or second is None:
        first = second = 1.0
    return np.diag([first] * 3 + [1]) @ affine(a), np.diag([second] * 3 + [1]) @ affine(b)


def orientation(place: Matrix) -> str:
    """Where x, y and z run: three letters, such as RAS; ? along an axis that runs nowhere."""
    with nibabel_quiet() as nibabel:
        return "".join(code or "?" for code in nibabel.aff2axcodes(place))


def _is_packed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")


@contextmanager
def _unpacked(path: Path) -> Iterator[IO[bytes]]:
    with gzip.open(path) if _is_packed(path) else path.open("rb") as stream:
        yield stream  # type: ignore[misc]


def _header(nibabel: Any, path: Path, stream: IO[bytes]) -> tuple[Any, int]:
    """The header, and where the array begins, to which the stream is read."""
    begin = stream.read(HEADERS)
    wide = HEADERS in (int.from_bytes(begin[:4], order) for order in ("little", "big"))
    if not wide and begin[344:348] not in MAGICS:
        raise ValueError("is no NIfTI file, or cut short: its first bytes are no header")
    kind = nibabel.Nifti2Header if wide else nibabel.Nifti1Header
    found = kind(begin[: kind.sizeof_hdr])
    shape, dtype = found.get_data_shape(), found.get_data_dtype()
    if min(shape) < 0:
        raise ValueError(f"has sizes {shape} in its header, wanted none below zero")
    offset = found.get_data_offset() or kind.single_vox_offset
    if offset < kind.single_vox_offset:
        raise ValueError(f"has its array from byte {offset} on, within its header")
    needed, held = offset + math.prod(shape) * dtype.itemsize, path.stat().st_size
    if needed > held * (MOST_DEFLATED if _is_packed(path) else 1):
        raise ValueError(
            f"holds {held} bytes, wanted the {needed} that its header says "
            f"(sizes {shape}, {dtype}, from byte {offset} on)"
        )
    stream.seek(0)
    return kind.from_fileobj(io.BytesIO(stream.read(offset))), offset


def _fill(array: Array, stream: IO[bytes]) -> None:
    """Reads the array's elements, which lie in Fortran order."""
    memory = array.reshape(-1, order="F").view(np.uint8)
    done = 0
    while done < len(memory):
        piece = stream.read(min(PIECE, len(memory) - done))
        if not piece:
            raise ValueError(f"ends after {done} bytes of its array, wanted {len(memory)}")
        memory[done : done + len(piece)] = np.frombuffer(piece, np.uint8)
        done += len(piece)
