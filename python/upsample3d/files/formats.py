# SPDX-License-Identifier: Apache-2.0
"""Files in and out by their suffix: .npy, .npz, NIfTI (.nii, .nii.gz).

Errors of the readers are named by `naming`.
"""

from __future__ import annotations

import io
import math
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..spec.arguments import text
from ..spec.errors import ParameterError
from . import headers, nifti
from .axes import Array
from .places import replacing

PIECE = 1 << 20
"""Bytes that are written at a time: packing them takes some 20 ms, and then signals are heard."""

FASTEST = 1
"""The level of deflate, as nibabel has it: the fastest."""

GZIP = 31
"""zlib's wbits of a window of 2^15 bytes and gzip's header, without a name and a time."""


@dataclass(frozen=True)
class Content:
    """What a file holds: its array as it lies there, in the file's own axis order and byte order.

    scaled: what makes values of (a part of) the array; None where it holds them. header: NIfTI's,
    else None. `data` may be a view of the file: do not write into it. mapped: what the file was
    when it was mapped, None where it was not.
    """

    data: Array
    scaled: Callable[[Array], Array] | None
    header: Any
    path: Path
    mapped: os.stat_result | None = None

    def check(self) -> None:
        """A ValueError where the mapped file has another length now.

        To be called before a part is read: what lies beyond the end of a file that was shortened
        ends the process.
        """
        if self.mapped is None:
            return
        try:
            now = self.path.stat()
        except OSError:  # what was mapped stays
            return
        if os.path.samestat(now, self.mapped) and now.st_size != self.mapped.st_size:
            raise ValueError(
                f"was changed while it was read, from {self.mapped.st_size} bytes to {now.st_size}"
            )


def suffix_of(path: Path) -> str:
    """The suffix that says what a file is; ValueError where none of ours does."""
    name = path.name.lower()
    for suffix in SUFFIXES:
        if name.endswith(suffix):
            return suffix
    raise ValueError(f"has an unknown suffix, wanted one of {', '.join(SUFFIXES)}")


def read(path: Path, array: str | None = None) -> Content:
    """What a file holds; .npy and .nii files are mapped. Errors as they come, see `naming`.

    array: which of an .npz of several.
    """
    found = path.stat()  # what the system has to say comes before anything else
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise ValueError("is not a regular file, wanted one")  # a pipe would wait for its writer
    with path.open("rb"):
        pass
    suffix = suffix_of(path)
    if array is not None and suffix != ".npz":
        raise ParameterError(f"array is {text(array)}, wanted None: only .npz has arrays by name")
    if suffix == ".npy":
        mapped = np.lib.format.open_memmap(path, mode="r")
        return Content(np.asarray(mapped), None, None, path, found)
    if suffix == ".npz":
        return Content(_read_npz(path, array), None, None, path)
    data, scaled, header = nifti.read(path)
    return Content(np.asarray(data), scaled, header, path, found if suffix == ".nii" else None)


def _read_npz(path: Path, array: str | None) -> Array:
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile:
        raise ValueError("is not an .npz archive, or not a whole one") from None
    with archive:
        member = _member(archive, array)
        with archive.open(member) as stream:
            claimed = _claimed(stream)
        if claimed > member.file_size:
            raise ValueError(f"claims an array of {claimed} bytes and holds {member.file_size}")
        with archive.open(member) as stream:
            found: Array = np.lib.format.read_array(stream, allow_pickle=False)
        return found


def _member(archive: zipfile.ZipFile, array: str | None) -> zipfile.ZipInfo:
    """The member that holds the array of this name, or the only one."""
    members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
    if array is None and len(members) != 1:
        choose = ", or array (forward and backward: --array) to name it" if members else ""
        raise ValueError(f"holds {len(members)} arrays {[*members]}, wanted one{choose}")
    name = next(iter(members)) if array is None else array
    if name not in members:
        raise ParameterError(f"array is {text(array)}, wanted one of {', '.join(members)}")
    return members[name]


def _claimed(stream: IO[bytes]) -> int:
    """The bytes of the array that the header of an .npy stream describes; 0 where it is unusual."""
    reader = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(np.lib.format.read_magic(stream))
    if reader is None:
        return 0
    shape, _, dtype = reader(stream)
    return 0 if dtype.hasobject else math.prod(shape) * dtype.itemsize


Write = Callable[[Array], None]


@contextmanager
def writing(
    path: Path,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    fortran: bool,
    header: Any,
    force: bool,
) -> Iterator[Write]:
    """A function that takes the array's elements, contiguous parts in the order of memory.

    The file is there when the block has ended well, and not before; whatever else happens, an
    interrupt or a full disk, leaves nothing. header: NIfTI's, of headers.header_of. OSError: the
    system cannot write.
    """
    suffix = suffix_of(path)
    begin = headers.beginning(header) if header is not None else _npy_header(shape, dtype, fortran)
    with replacing(path, force) as file, _packed(file, suffix) as pack:

        def write(part: Array) -> None:
            content = part.reshape(-1).view(np.uint8)
            for first in range(0, len(content), PIECE):
                pack(content[first : first + PIECE].data)

        pack(begin)
        yield write


def _npy_header(shape: tuple[int, ...], dtype: np.dtype[Any], fortran: bool) -> bytes:
    written = io.BytesIO()
    described = np.lib.format.dtype_to_descr(dtype)
    np.lib.format.write_array_header_1_0(
        written, {"descr": described, "fortran_order": fortran, "shape": shape}
    )
    return written.getvalue()


@contextmanager
def _packed(file: IO[bytes], suffix: str) -> Iterator[Callable[[Any], object]]:
    """What writes into a file as its suffix wants it."""
    if suffix == ".nii.gz":
        packer = zlib.compressobj(FASTEST, wbits=GZIP)
        yield lambda part: file.write(packer.compress(part))
        file.write(packer.flush())
    elif suffix == ".npz":
        with _archived(file, "arr_0.npy") as write:
            yield write
    else:
        yield file.write


@contextmanager
def _archived(file: IO[bytes], name: str) -> Iterator[Callable[[Any], object]]:
    """What writes the one member of a zip archive.

    A member that is not finished writes its end when it is collected, to a file closed long ago.
    """
    sink: Any = Sink(file)
    try:
        archive = Archive(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=FASTEST)
        member = archive.open(name, "w", force_zip64=True)
        yield member.write
        member.close()
        archive.close()
    except BaseException:
        sink.file = None
        raise


class Archive(zipfile.ZipFile):
    """A zip archive that is not finished unless it is closed."""

    def __del__(self) -> None:
        pass


class Sink:
    """A file to write to as long as it is there; afterwards, what is written is lost."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file: IO[bytes] | None = file

    def write(self, data: Any) -> int:
        """Writes, or counts what is lost."""
        return self.file.write(data) if self.file else len(data)

    def seek(self, place: int) -> int:
        """Goes to a place; returns it."""
        return self.file.seek(place) if self.file else place

    def tell(self) -> int:
        """The place; 0 without a file."""
        return self.file.tell() if self.file else 0

    def flush(self) -> None:
        """Hands what is written to the system."""
        if self.file:
            self.file.flush()


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Errors that begin with the file's name, on one line, whatever the reader raised.

    Readers meet arbitrary bytes: zlib, zipfile, struct, numpy and nibabel each have errors of their
    own for a damaged file, so everything but an error of the system is a ValueError about it.
    """
    try:
        yield
    except (MemoryError, ModuleNotFoundError, ParameterError) as failure:
        raise type(failure)(f"{path}: {one_line(failure)}") from failure
    except OSError as failure:
        raise type(failure)(f"{path}: {failure.strerror or one_line(failure)}") from failure
    except Exception as failure:
        raise ValueError(f"{path}: {one_line(failure)}") from failure


def one_line(failure: BaseException) -> str:
    """The text of an error on one line, or its type where it has none."""
    return " ".join(str(failure).split()) or type(failure).__name__


SUFFIXES = (".npy", ".npz", ".nii", ".nii.gz")
