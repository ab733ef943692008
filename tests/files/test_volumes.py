# SPDX-License-Identifier: Apache-2.0
"""Volumes from files: values, order, scale and affine survive; what is no volume is refused."""

import gzip
import tracemalloc
from pathlib import Path

import nibabel
import numpy as np
import pytest

from upsample3d import volumes
from upsample3d.demo import story

DATA = Path(nibabel.__file__).parent / "tests" / "data"
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("suffix", ["npy", "npz"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f4", ">f4", "f8", "f2", "i2", ">u2", "u1", "?", "i8"])
@pytest.mark.parametrize("shape", [(3, 4, 5), (3, 4, 5, 2)])
def test_arrays_keep_values_and_order(tmp_path, suffix, order, dtype, shape):
    array = np.asarray(RNG.integers(0, 2 if dtype == "?" else 100, shape), dtype, order=order)
    path = tmp_path / f"x.{suffix}"
    np.save(path, array) if suffix == "npy" else np.savez_compressed(path, array)
    volume = volumes.read(path)
    assert volume.data.dtype == np.float32
    assert volume.affine is None
    assert volume.data.flags.f_contiguous == (order == "F")
    np.testing.assert_array_equal(volume.data, array.astype(np.float32))


def test_float32_npy_is_mapped_not_copied(tmp_path):
    np.save(tmp_path / "x.NPY.npy", np.ones((4, 4, 4), np.float32))
    data = volumes.read(tmp_path / "x.NPY.npy").data
    assert type(data) is np.ndarray
    assert isinstance(data.base, np.memmap)
    assert not data.flags.writeable


def test_float32_nifti_is_mapped_not_copied(tmp_path):
    nibabel.Nifti1Image(np.ones((4, 4, 4), np.float32), np.eye(4)).to_filename(tmp_path / "x.nii")
    data = volumes.read(tmp_path / "x.nii").data
    assert not data.flags.owndata
    assert not data.flags.writeable


@pytest.mark.parametrize("suffix", ["nii", "nii.gz"])
@pytest.mark.parametrize("kind", [nibabel.Nifti1Image, nibabel.Nifti2Image])
@pytest.mark.parametrize("shape", [(5, 4, 3), (5, 4, 3, 2)])
def test_nifti_integers_are_scaled_as_the_header_says(tmp_path, suffix, kind, shape):
    raw = RNG.integers(-32768, 32768, shape, dtype=np.int16)
    affine = np.array([[2, 0, 0, -9], [0, 0, 3, 1], [0, -4, 0, 2], [0, 0, 0, 1.0]])
    image = kind(raw, affine)
    image.header.set_slope_inter(0.1, -7.5)
    path = tmp_path / f"x.{suffix}"
    # The image's own writer would scale the values anew: write header and values as they are.
    content = header_bytes(image, raw)
    path.write_bytes(gzip.compress(content) if suffix == "nii.gz" else content)

    volume = volumes.read(path)
    slope = float(np.float32(0.1)) if kind is nibabel.Nifti1Image else 0.1
    np.testing.assert_array_equal(volume.data, (raw * slope - 7.5).astype(np.float32))
    assert volume.data.flags.f_contiguous
    np.testing.assert_allclose(volume.affine, affine, atol=1e-6)
    assert volume.spacing() == pytest.approx((2, 4, 3))


def header_bytes(image, raw):
    header = image.header.copy()
    header.set_data_offset(0)
    header["vox_offset"] = start = 352 if header["sizeof_hdr"] == 348 else 544
    header["magic"] = b"n+1" if start == 352 else b"n+2"
    return header.binaryblock.ljust(start, b"\0") + raw.tobytes("F")


def test_channels_first_is_a_view():
    flat = volumes.Volume(np.zeros((3, 4, 5), np.float32), None)
    assert flat.channels_first().shape == (1, 1, 3, 4, 5)
    assert flat.spacing() == (1, 1, 1)
    for nonsense in (np.zeros((4, 4)), np.full((4, 4), np.nan)):
        assert volumes.Volume(flat.data, nonsense).spacing() == (1, 1, 1)
    deep = volumes.Volume(np.zeros((3, 4, 5, 2), np.float32, order="F"), None)
    assert deep.channels_first().shape == (1, 2, 3, 4, 5)
    assert np.shares_memory(deep.channels_first(), deep.data)


def test_adjoint_holds_on_a_real_scan(capsys):
    """The scan is int16 in Fortran order with channels last: the ops read it as it lies."""
    volume = volumes.read(DATA / "example4d.nii.gz")
    x = volume.channels_first()
    assert x.shape == (1, 2, 128, 96, 24)
    assert volume.data.flags.f_contiguous
    assert x.strides[2] == 4
    assert story.check_adjoint(x) <= 1e-6
    assert "1 x 2 x 256 x 192 x 48" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["anatomical.nii", "functional.nii", "example_nifti2.nii.gz"])
def test_nibabel_reads_the_same(name):
    volume, image = volumes.read(DATA / name), nibabel.load(DATA / name)
    np.testing.assert_array_equal(volume.data, image.get_fdata().astype(np.float32))
    np.testing.assert_array_equal(volume.affine, image.affine)


def saved(path, array):
    """A file that holds the array, by the path's suffix."""
    if path.suffix == ".npy":
        np.save(path, array)
    elif path.suffix == ".npz":
        np.savez(path, array)
    else:
        nibabel.Nifti1Image(array, np.eye(4)).to_filename(path)
    return path


def refusal(path, kind=ValueError):
    """The text of the refusal, which is one line that begins with the file's name."""
    with pytest.raises(kind) as caught:
        volumes.read(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert len(text) > len(f"{path}: ")
    assert "\n" not in text
    return text


@pytest.mark.parametrize("suffix", ["npy", "npz", "nii", "nii.gz"])
@pytest.mark.parametrize("shape", [(6, 5), (2, 2, 2, 2, 2)])
def test_wrong_rank_is_refused(tmp_path, suffix, shape):
    path = saved(tmp_path / f"x.{suffix}", np.ones(shape, np.float32))
    assert f"{len(shape)} axes {shape}, wanted 3" in refusal(path)


@pytest.mark.parametrize("suffix", ["npy", "npz", "nii", "nii.gz"])
@pytest.mark.parametrize("keep", [0, 1, 10, 100, 0.3, 0.5, 0.9, 0.99])
def test_truncated_file_is_refused(tmp_path, suffix, keep):
    path = saved(tmp_path / f"x.{suffix}", RNG.random((20, 20, 20)).astype(np.float32))
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if 0 < keep < 1 else keep])
    refusal(path, (ValueError, OSError))


@pytest.mark.parametrize("suffix", ["npy", "npz", "nii", "nii.gz"])
def test_noise_is_refused(tmp_path, suffix):
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(RNG.bytes(5000))
    refusal(path, (ValueError, OSError))


@pytest.mark.parametrize("suffix", ["npy", "npz", "nii"])
def test_complex_numbers_are_refused(tmp_path, suffix):
    path = saved(tmp_path / f"x.{suffix}", np.ones((4, 4, 4), np.complex64))
    assert "complex64" in refusal(path)


def test_objects_are_refused_without_unpickling(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.full((4, 4, 4), None), allow_pickle=True)
    refusal(path)


def test_archives_hold_one_array(tmp_path):
    np.savez(tmp_path / "two.npz", a=np.ones((4, 4, 4)), b=np.ones((4, 4, 4)))
    assert "holds 2 arrays" in refusal(tmp_path / "two.npz")
    np.savez(tmp_path / "none.npz")
    assert "holds 0 arrays" in refusal(tmp_path / "none.npz")
    (tmp_path / "plain.npz").write_bytes(saved(tmp_path / "x.npy", np.ones((4, 4, 4))).read_bytes())
    assert "is not an .npz archive" in refusal(tmp_path / "plain.npz")


def test_empty_volume_is_refused(tmp_path):
    assert "(0, 3, 4)" in refusal(saved(tmp_path / "x.npy", np.ones((0, 3, 4))))


def test_the_system_speaks_first(tmp_path):
    assert "No such file" in refusal(tmp_path / "x.npy", FileNotFoundError)
    (tmp_path / "folder.nii").mkdir()
    refusal(tmp_path / "folder.nii", OSError)
    (tmp_path / "x.dcm").touch()
    assert "wanted one of .npy, .npz, .nii, .nii.gz" in refusal(tmp_path / "x.dcm")


def claiming(kind, shape, offset=None, extension=b""):
    """A file that holds a header alone, and what the header says beyond it."""
    header = kind()
    header.set_data_dtype(np.float32)
    header["dim"][: len(shape) + 1] = len(shape), *shape
    header["vox_offset"] = offset or kind.single_vox_offset
    return header.binaryblock + (b"\1\0\0\0" + extension if extension else b"\0" * 4)


@pytest.mark.parametrize("suffix", ["nii", "nii.gz"])
@pytest.mark.parametrize("kind", [nibabel.Nifti1Header, nibabel.Nifti2Header])
@pytest.mark.parametrize(
    "claim",
    [
        dict(shape=(1000, 1000, 800)),  # 3.2 GB
        dict(shape=(32767,) * 5),
        dict(shape=(4, 4, 4), offset=2**30),
        dict(shape=(-1000, -1000, 800)),
        dict(shape=(1, 1, 1), offset=4096, extension=np.int32([2**30, 6]).tobytes()),
    ],
)
def test_no_memory_is_taken_for_what_is_not_there(tmp_path, suffix, kind, claim):
    content = claiming(kind, **claim).ljust(4100 if "extension" in claim else 592, b"\0")
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(gzip.compress(content) if suffix == "nii.gz" else content)
    tracemalloc.start()
    try:
        refusal(path)
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("suffix", ["nii", "nii.gz"])
def test_array_of_a_header_without_an_offset_follows_it(tmp_path, suffix):
    """As SPM and others read it; 0 is where the header lies."""
    x = RNG.random((4, 5, 6), dtype=np.float32)
    content = bytearray(saved(tmp_path / "x.nii", x).read_bytes())
    assert content[108:112] == np.float32(352).tobytes()  # vox_offset
    content[108:112] = bytes(4)
    path = tmp_path / f"y.{suffix}"
    path.write_bytes(gzip.compress(content) if suffix == "nii.gz" else content)
    np.testing.assert_array_equal(volumes.read(path).data, x)


def test_well_packed_files_are_read(tmp_path):
    """Zeros shrink nearly to the bound below which a header is not believed."""
    path = saved(tmp_path / "x.nii.gz", np.zeros((200, 200, 200), np.uint8))
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), 9))
    assert 8_000_352 / path.stat().st_size > 900
    assert volumes.read(path).data.shape == (200, 200, 200)


def test_nifti_without_nibabel(tmp_path, monkeypatch):
    (tmp_path / "x.nii").write_bytes(b"")
    monkeypatch.setitem(__import__("sys").modules, "nibabel", None)
    with pytest.raises(ModuleNotFoundError, match=r"x\.nii: NIfTI wants nibabel"):
        volumes.read(tmp_path / "x.nii")
