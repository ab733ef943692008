# SPDX-License-Identifier: Apache-2.0
"""Volumes from files: .npy, .npz with one array, NIfTI (.nii, .nii.gz)."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Volume:
    """One file's volume: float32 data (3-D, or 4-D with channels last) in the file's axis order.

    `affine` maps voxel indices to world millimetres, as NIfTI defines it; None where the file has
    no such thing. `data` may be a view of the file: do not write into it.
    """

    data: npt.NDArray[np.float32]
    affine: npt.NDArray[np.float64] | None

    def channels_first(self) -> npt.NDArray[np.float32]:
        """A view of `data` as (N = 1, C, D, H, W): axes 0, 1, 2 of the file are d, h, w."""
        data = self.data if self.data.ndim == 4 else self.data[..., np.newaxis]
        return np.moveaxis(data, -1, 0)[np.newaxis]

    def spacing(self) -> tuple[float, float, float]:
        """Voxel edges along axes 0, 1, 2: in millimetres where an affine says so, else 1."""
        edges = [1.0] if self.affine is None else np.linalg.norm(self.affine[:3, :3], axis=0)
        x, y, z = np.broadcast_to(edges, 3).tolist()
        return (x, y, z) if 0 < x * y * z < np.inf else (1.0, 1.0, 1.0)


Content = tuple[npt.NDArray[Any], npt.NDArray[np.float64] | None]


def read(path: str | os.PathLike[str]) -> Volume:
    """The volume in a file, scaled as its header says, float32.

    Nothing is copied where the file holds native, unscaled float32 (.npy and .nii are then mapped).
    OSError: the file cannot be read. ValueError: it is not what its suffix says, or no volume.
    ModuleNotFoundError: NIfTI without nibabel.
    """
    path = Path(path)
    with naming(path):
        name = path.name.lower()
        reader = next((READERS[suffix] for suffix in READERS if name.endswith(suffix)), None)
        with path.open("rb"):  # what the system has to say comes before anything else
            pass
        if reader is None:
            raise ValueError(f"has an unknown suffix, wanted one of {', '.join(READERS)}")
        data, affine = reader(path)
        shape = tuple(data.shape)
        if len(shape) not in (3, 4):
            raise ValueError(f"holds {len(shape)} axes {shape}, wanted 3, or 4 with channels last")
        if 0 in shape:
            raise ValueError(f"holds an empty array {shape}, wanted at least one voxel")
        if data.dtype.kind not in "biuf":
            raise ValueError(f"holds elements of type {data.dtype}, wanted real numbers")
        with np.errstate(over="ignore"):  # beyond float32 is inf, for the caller to judge
            return Volume(np.asarray(data, np.float32), affine)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Errors that begin with the file's name, on one line, whatever the reader raised.

    Readers meet arbitrary bytes: zlib, zipfile, struct, numpy and nibabel each have errors of their
    own for a damaged file, so everything but an error of the system is a ValueError about it.
    """
    try:
        yield
    except (MemoryError, ModuleNotFoundError) as failure:
        raise type(failure)(f"{path}: {one_line(failure)}") from failure
    except OSError as failure:
        raise type(failure)(f"{path}: {failure.strerror or one_line(failure)}") from failure
    except Exception as failure:
        raise ValueError(f"{path}: {one_line(failure)}") from failure


def one_line(failure: BaseException) -> str:
    """The text of an error on one line, or its type where it has none."""
    return " ".join(str(failure).split()) or type(failure).__name__


def read_npy(path: Path) -> Content:
    return np.lib.format.open_memmap(path, mode="r"), None


def read_npz(path: Path) -> Content:
    with path.open("rb") as file:
        arrays = np.load(file, allow_pickle=False)
        if not isinstance(arrays, np.lib.npyio.NpzFile):
            raise ValueError("is not an .npz archive, wanted one")
        if len(arrays.files) != 1:
            raise ValueError(f"holds {len(arrays.files)} arrays {arrays.files}, wanted one")
        return arrays[arrays.files[0]], None


def read_nifti(path: Path) -> Content:
    try:
        import nibabel
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "reading NIfTI wants nibabel: pip install 'upsample3d[demo]'", name="nibabel"
        ) from None
    log = logging.getLogger("nibabel.global")
    log.addFilter(nothing := lambda record: False)  # its remarks on headers; failures raise anyway
    try:
        image: Any = nibabel.load(path, mmap="r")
        data = image.dataobj
        # Asked for float32, nibabel scales in float64 and rounds once. Other types are left as they
        # are, to be refused by name.
        real = data.dtype.kind in "biuf"
        return np.asarray(data, np.float32 if real else None), np.asarray(image.affine, np.float64)
    finally:
        log.removeFilter(nothing)


READERS: dict[str, Callable[[Path], Content]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".nii": read_nifti,
    ".nii.gz": read_nifti,
}
