# SPDX-License-Identifier: Apache-2.0
"""Files that change while they are read, archives that are damaged: refused, or read to the end."""

from __future__ import annotations

import gc
import os
import zipfile
from pathlib import Path

import nibabel
import numpy as np
import pytest

from upsample3d import volumes
from upsample3d.files import formats

X = np.random.default_rng(0).random((6, 7, 8), dtype=np.float32)


def saved(path: Path) -> Path:
    if path.suffix == ".nii":
        nibabel.Nifti1Image(X, np.eye(4)).to_filename(path)
    elif path.suffix == ".npz":
        np.savez(path, X)
    else:
        np.save(path, X)
    return path


def meddling(monkeypatch, meddle):
    """`meddle` is called before the third part of a volume is read."""
    monkeypatch.setattr("upsample3d.files.stream.PART", 256)
    calls, check = [], formats.Content.check

    def checked(content):
        calls.append(content)
        if len(calls) == 3:
            meddle(content.path)
        check(content)

    monkeypatch.setattr(formats.Content, "check", checked)


@pytest.mark.filterwarnings("ignore::upsample3d.volumes.GridWarning")
@pytest.mark.parametrize("suffix", ["npy", "nii"])
@pytest.mark.parametrize("length", [0, 400, 10_000])
def test_a_mapped_file_of_a_new_length_is_refused(folder, monkeypatch, suffix, length):
    """Reading on would end the process where the file has become shorter (SIGBUS)."""
    path = saved(folder / f"x.{suffix}")
    was = path.stat().st_size
    meddling(monkeypatch, lambda path: os.truncate(path, length))
    told = f"^{path}: was changed while it was read, from {was} bytes to {length}$"
    with pytest.raises(ValueError, match=told):
        volumes.forward(path, folder / "y.npy", scales=2)
    assert not (folder / "y.npy").exists()


@pytest.mark.filterwarnings("ignore::upsample3d.volumes.GridWarning")
@pytest.mark.parametrize("suffix", ["npy", "npz", "nii"])
@pytest.mark.parametrize(
    "meddle", [Path.unlink, lambda path: os.replace(path.with_name("z"), path)]
)
def test_a_file_that_vanishes_or_is_replaced_is_read_on(folder, monkeypatch, suffix, meddle):
    path = saved(folder / f"x.{suffix}")
    (folder / "z").write_bytes(b"another file")
    meddling(monkeypatch, meddle)
    volumes.forward(path, folder / "y.npy", scales=1)
    assert np.array_equal(np.load(folder / "y.npy"), X)


@pytest.mark.filterwarnings("always::ResourceWarning")
@pytest.mark.parametrize("cut", [None, 0.5, 10, 0])
@pytest.mark.parametrize("arrays", [0, 1, 2])
def test_archives_are_closed(folder, recwarn, arrays, cut):
    path = folder / "x.npz"
    np.savez(path, *[X] * arrays)
    if cut is not None:
        os.truncate(path, int(cut * path.stat().st_size) if cut < 1 else cut)
    if arrays == 1 and cut is None:
        assert np.array_equal(volumes.read(path).data, X)
    else:
        with pytest.raises(ValueError, match=r"x.npz: "):
            volumes.read(path)
    gc.collect()
    assert [str(warning.message) for warning in recwarn] == []


def test_an_archive_that_claims_more_than_it_holds_takes_no_memory(folder):
    """2^40 bytes would not be had on many machines, and were asked for before the error."""
    with zipfile.ZipFile(folder / "x.npz", "w") as archive, archive.open("a.npy", "w") as member:
        described = {"descr": "|u1", "fortran_order": False, "shape": (2**20, 2**10, 2**10)}
        np.lib.format.write_array_header_1_0(member, described)
        member.write(bytes(100))
    told = r"x.npz: claims an array of 1099511627776 bytes and holds 2\d\d$"
    with pytest.raises(ValueError, match=told):
        volumes.read(folder / "x.npz")
