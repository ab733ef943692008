# SPDX-License-Identifier: Apache-2.0
"""Files in and out by their suffix: .npy, .npz, NIfTI (.nii, .nii.gz).

Nothing half-written is ever seen: a new file grows beside its place and takes it when it is whole.
"""

from __future__ import annotations

import gzip
import io
import os
import secrets
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from . import headers, nifti
from .arguments import text
from .axes import Array
from .status import ParameterError

PIECE = 1 << 20
"""Bytes that are written at a time: packing them takes some 20 ms, and then signals are heard."""

FASTEST = 1
"""The level of deflate, as nibabel has it: the fastest."""


@dataclass(frozen=True)
class Content:
    """What a file holds: its array as it lies there, in the file's own axis order and byte order.

    scaled: what makes values of (a part of) the array; None where it holds them. header: NIfTI's,
    else None. `data` may be a view of the file: do not write into it.
    """

    data: Array
    scaled: Callable[[Array], Array] | None
    header: Any


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
    with path.open("rb"):  # what the system has to say comes before anything else
        pass
    suffix = suffix_of(path)
    if array is not None and suffix != ".npz":
        raise ParameterError(f"array is {text(array)}, wanted None: only .npz has arrays by name")
    if suffix == ".npy":
        mapped = np.lib.format.open_memmap(path, mode="r")
        return Content(np.asarray(mapped), None, None)
    if suffix == ".npz":
        return Content(_read_npz(path, array), None, None)
    data, scaled, header = nifti.read(path)
    return Content(np.asarray(data), scaled, header)


def _read_npz(path: Path, array: str | None) -> Array:
    with path.open("rb") as file:
        arrays = np.load(file, allow_pickle=False)
        if not isinstance(arrays, np.lib.npyio.NpzFile):
            raise ValueError("is not an .npz archive, wanted one")
        names = arrays.files
        if array is not None and array not in names:
            raise ParameterError(f"array is {text(array)}, wanted one of {', '.join(names)}")
        if array is None and len(names) != 1:
            choose = ", or array (forward and backward: --array) to name it" if names else ""
            raise ValueError(f"holds {len(names)} arrays {names}, wanted one{choose}")
        found: Array = arrays[names[0] if array is None else array]
        return found


def check_place(path: Path, force: bool = True) -> None:
    """Refuses a place where no file can be written, before any work is done for it.

    force: whether a file that is there already may be replaced.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder, wanted a file")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise PermissionError(f"{path}: cannot be written")
    if not force and os.path.lexists(path):
        raise FileExistsError(f"{path}: exists already: --force (in Python force=True) replaces it")


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
    with _replacing(path, force) as file, _packed(file, suffix) as stream:

        def write(part: Array) -> None:
            content = part.reshape(-1).view(np.uint8)
            for first in range(0, len(content), PIECE):
                stream.write(content[first : first + PIECE].data)

        stream.write(begin)
        yield write


def _npy_header(shape: tuple[int, ...], dtype: np.dtype[Any], fortran: bool) -> bytes:
    written = io.BytesIO()
    described = np.lib.format.dtype_to_descr(dtype)
    np.lib.format.write_array_header_1_0(
        written, {"descr": described, "fortran_order": fortran, "shape": shape}
    )
    return written.getvalue()


@contextmanager
def _packed(file: IO[bytes], suffix: str) -> Iterator[IO[bytes]]:
    """What writes into a file as its suffix wants it."""
    if suffix == ".nii.gz":
        with gzip.GzipFile("", "wb", FASTEST, file, mtime=0) as packed:
            yield packed  # type: ignore[misc]
    elif suffix == ".npz":
        with (
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=FASTEST) as archive,
            archive.open("arr_0.npy", "w", force_zip64=True) as packed,
        ):
            yield packed
    else:
        yield file


@contextmanager
def _replacing(path: Path, force: bool) -> Iterator[IO[bytes]]:
    """A new file that replaces `path` when the block ends well, and else is gone."""
    check_place(path, force)
    place = Path(os.path.realpath(path))  # not a link is replaced, but what it points to
    if place.exists() and not stat.S_ISREG(place.stat().st_mode):
        raise OSError(f"{path}: is not a regular file, wanted one")
    beside = place.with_name(f".{place.name[:200]}.{secrets.token_hex(4)}")
    try:
        with beside.open("xb") as file:
            yield file
        check_place(path, force)  # it may have come into being meanwhile
        beside.replace(place)
    except OSError as failure:
        if failure.errno is None:  # it has a name already
            raise
        raise type(failure)(f"{path}: {failure.strerror}") from failure
    finally:
        beside.unlink(missing_ok=True)


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
