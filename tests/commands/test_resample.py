# SPDX-License-Identifier: Apache-2.0
"""`upsample3d forward` and `backward` on files: values, types, headers, orders of axes."""

from __future__ import annotations

import gzip
import itertools
import warnings
from pathlib import Path

import nibabel
import numpy as np
import pytest
from nibabel.testing import data_path

import upsample3d as up
from upsample3d import volumes
from upsample3d.commands import main as command

RNG = np.random.default_rng(0)
SCANS = ["example4d.nii.gz", "anatomical.nii", "functional.nii"]
OPS = ["trilinear", "nearest", "nearest_exact"]
SHAPES = {3: (3, 4, 5), 4: (3, 4, 5, 2), 5: (3, 4, 5, 2, 3)}
"""Of NIfTI, by the number of axes."""


def run(*arguments):
    assert command.main([str(argument) for argument in arguments]) == 0


def five(x):
    """A NIfTI's array as N, C, D, H, W."""
    return x.reshape(*x.shape, *(1,) * (5 - x.ndim)).transpose(4, 3, 0, 1, 2)


def unfive(x, ndim):
    return x.transpose(2, 3, 4, 1, 0).reshape(*x.shape[2:], *x.shape[1::-1][: ndim - 3])


def same(got, wanted):
    """Equal to the bit, and of one type; a NIfTI's may be big-endian only as it is read."""
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    assert got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("scan", SCANS)
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_scans_go_by_two_and_back(tmp_path, scan, op, dtype):
    old = nibabel.load(Path(data_path) / scan)
    x = five(np.asarray(old.get_fdata(), dtype))
    doubled = tuple(2 * size for size in x.shape[2:])
    for corners in [(), ("--align-corners",)][: 2 if op == "trilinear" else 1]:
        options = dict(align_corners=True) if corners else {}
        forward, back = tmp_path / f"y{len(corners)}.nii", tmp_path / f"z{len(corners)}.nii.gz"
        run("forward", Path(data_path) / scan, "--op", op, "--scales", 2, "--dtype", dtype,
            *corners, "-o", forward)  # fmt: skip
        y = getattr(up, op)(x, doubled, 2, **options)
        new = nibabel.load(forward)
        stored = "float32" if dtype == "float16" else dtype
        same(np.asarray(new.dataobj), unfive(y, old.ndim).astype(stored))

        # Voxel v lies half way between 2 v and 2 v + 1, or corners lie on corners.
        voxel = np.array([7, 11, 1])
        found = new.affine @ [*(2 * voxel + 0.5), 1]
        if corners:
            voxel = np.array(old.shape[:3]) - 1
            found = new.affine @ [*(2 * voxel + 1), 1]
            np.testing.assert_array_equal(new.affine[:3, 3], old.affine[:3, 3])
        np.testing.assert_allclose(found, old.affine @ [*voxel, 1], rtol=1e-6, atol=1e-5)

        sizes = ",".join(map(str, x.shape[2:]))
        run("backward", forward, "--op", op, "--input-size", sizes, "--dtype", dtype,
            *corners, "--scales", 2, "-o", back)  # fmt: skip
        again = nibabel.load(back)
        wanted = getattr(up, f"{op}_backward")(y, x.shape, 2, **options)
        same(np.asarray(again.dataobj), unfive(wanted, old.ndim).astype(stored))
        np.testing.assert_allclose(again.affine, old.affine, rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("scan", SCANS)
def test_other_fields_of_the_header_survive(tmp_path, scan):
    old = nibabel.load(Path(data_path) / scan)
    run("forward", Path(data_path) / scan, "--scales", "2,1,2", "-o", tmp_path / "y.nii.gz")
    new = nibabel.load(tmp_path / "y.nii.gz")
    changed = {
        "dim", "datatype", "bitpix", "vox_offset", "pixdim", "scl_slope", "scl_inter",
        "srow_x", "srow_y", "srow_z", "qoffset_x", "qoffset_y", "qoffset_z",
        "slice_code", "slice_start", "slice_end", "slice_duration",  # z is resampled
    }  # fmt: skip
    for field in set(old.header.keys()) - changed:
        np.testing.assert_array_equal(new.header[field], old.header[field], field)
    np.testing.assert_array_equal(new.header["pixdim"][4:], old.header["pixdim"][4:])
    assert new.header.get_xyzt_units() == old.header.get_xyzt_units()
    assert [e.get_content() for e in new.header.extensions] == [
        e.get_content() for e in old.header.extensions
    ]
    assert (new.dataobj.slope, new.dataobj.inter) == (1, 0)


def test_descriptions_intents_and_units_survive(tmp_path):
    old = nibabel.Nifti1Image(np.zeros((4, 4, 4), np.int16), np.diag([2, 3, 4, 1]))
    old.header["descrip"], old.header["aux_file"] = b"a cube", b"none"
    old.header.set_intent("f test", (2, 10), name="F")
    old.header.set_xyzt_units("micron", "msec")
    old.header["cal_max"], old.header["toffset"] = 17, 3
    old.header.extensions.append(nibabel.nifti1.Nifti1Extension("comment", b"kept"))
    old.to_filename(tmp_path / "x.nii")
    run("forward", tmp_path / "x.nii", "--op", "nearest", "--scales", 2, "-o", tmp_path / "y.nii")
    new = nibabel.load(tmp_path / "y.nii").header
    assert bytes(new["descrip"]).rstrip(b"\0") == b"a cube"
    assert new.get_intent() == ("f test", (2, 10), "F")
    assert new.get_xyzt_units() == ("micron", "msec")
    assert (new["cal_max"], new["toffset"]) == (17, 3)
    assert new.extensions[0].get_content().rstrip(b"\0") == b"kept"
    assert new.get_zooms() == (1, 1.5, 2)


@pytest.mark.parametrize("suffix", ["nii", "nii.gz"])
@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i2", ">i4"])
@pytest.mark.parametrize("op", ["nearest", "nearest_exact"])
def test_masks_keep_labels_bits_and_type(tmp_path, suffix, dtype, op):
    ends = np.iinfo(dtype)
    labels = np.array([ends.min, ends.min + 1, 0, 1, ends.max - 1, ends.max], dtype)
    x = RNG.choice(labels, (5, 6, 7)).astype(dtype)
    header = nibabel.Nifti1Header(endianness=">" if ">" in dtype else "<")
    nibabel.Nifti1Image(x, np.eye(4), header, dtype=x.dtype).to_filename(tmp_path / f"x.{suffix}")
    run("forward", tmp_path / f"x.{suffix}", "--op", op, "--scales", 2, "-o",
        tmp_path / f"y.{suffix}")  # fmt: skip
    got = np.asarray(nibabel.load(tmp_path / f"y.{suffix}").dataobj)
    native = x.astype(x.dtype.newbyteorder("="))
    same(got, native.repeat(2, 0).repeat(2, 1).repeat(2, 2))
    same(np.unique(got), np.unique(native))


@pytest.mark.parametrize("suffix", ["npy", "npz"])
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", ">u2", "i8", "c8", "c16", "f2", ">f8", "M8[s]"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_any_type_keep_it(tmp_path, suffix, dtype, order):
    x = np.asarray(RNG.integers(0, 2, (5, 6, 7)), order=order).astype(dtype)
    path = tmp_path / f"x.{suffix}"
    np.save(path, x) if suffix == "npy" else np.savez(path, x)
    run("forward", path, "--op", "nearest", "--scales", 2, "-o", tmp_path / f"y.{suffix}")
    got = np.load(tmp_path / f"y.{suffix}")
    got = got["arr_0"] if suffix == "npz" else got
    assert got.flags.f_contiguous == (order == "F")
    native = x.astype(x.dtype.newbyteorder("="))
    same(got, native.repeat(2, 0).repeat(2, 1).repeat(2, 2))


def saved(path, x):
    """A file that holds a NIfTI's array x: of .npy and .npz with the channels first."""
    first = five(x)[(0,) * (5 - x.ndim)]
    if path.suffix == ".npy":
        np.save(path, first)
    elif path.suffix == ".npz":
        np.savez_compressed(path, volume=first)
    else:
        nibabel.Nifti1Image(x, np.diag([2, 3, 4, 1])).to_filename(path)
    return path


def loaded(path):
    """The file's array as N, C, D, H, W."""
    if "nii" in path.name:
        return five(np.asarray(nibabel.load(path).dataobj))
    x = np.load(path)
    x = x["arr_0"] if path.suffix == ".npz" else x
    return x[(None,) * (5 - x.ndim)]


@pytest.mark.parametrize("ndim", [3, 4, 5])
@pytest.mark.parametrize("part", [1, 200, 8 << 20])
def test_every_suffix_to_every_other(tmp_path, ndim, part, monkeypatch):
    """Also in parts as small as one row or voxel."""
    monkeypatch.setattr("upsample3d.files.stream.PART", part)
    x = RNG.standard_normal(SHAPES[ndim]).astype(np.float32)
    y = up.trilinear(five(x), (6, 5, 11))
    gradient = up.trilinear_backward(y, five(x).shape)
    for a, b in itertools.product(["npy", "npz", "nii", "nii.gz"], repeat=2):
        source = saved(tmp_path / f"x.{a}", x)
        run("forward", source, "--output-size", "6,5,11", "-o", tmp_path / f"y.{b}", "--force")
        same(loaded(tmp_path / f"y.{b}"), y)
        run("backward", tmp_path / f"y.{b}", "--input-size", "3,4,5", "-o", tmp_path / f"z.{a}",
            "--force")  # fmt: skip
        same(loaded(tmp_path / f"z.{a}"), gradient)


@pytest.mark.parametrize("ndim", [3, 4, 5])
def test_channels_last_arrays(tmp_path, ndim):
    x = RNG.standard_normal((2, 3, 4, 5, 6)[-ndim:] if ndim != 4 else (3, 4, 5, 6))
    np.save(tmp_path / "x.npy", x)
    whole = x.reshape(*(1,) * (ndim < 5), *x.shape, *(1,) * (ndim == 3))
    y = up.trilinear(whole, (7, 8, 9), data_format="NDHWC")
    run("forward", tmp_path / "x.npy", "--output-size", "7,8,9", "--data-format", "NDHWC",
        "-o", tmp_path / "y.npy")  # fmt: skip
    same(np.load(tmp_path / "y.npy"), y.reshape(y.shape[ndim < 5 : 5 - (ndim == 3)]))


def test_bfloat16_is_stored_as_float32(tmp_path):
    import ml_dtypes

    x = RNG.standard_normal((3, 4, 5)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    run("forward", tmp_path / "x.npy", "--scales", 2, "--dtype", "bfloat16", "-o",
        tmp_path / "y.npy")  # fmt: skip
    wanted = up.trilinear(x.astype(ml_dtypes.bfloat16)[None, None], scales=2)[0, 0]
    same(np.load(tmp_path / "y.npy"), wanted.astype(np.float32))


def test_integers_are_computed_in_float32_and_long_floats_as_they_are(tmp_path):
    for dtype, wanted in [("u1", "f4"), ("i8", "f4"), ("?", "f4"), (">f8", "f8"), ("f2", "f2")]:
        np.save(tmp_path / "x.npy", RNG.integers(0, 2, (3, 4, 5)).astype(dtype))
        with warnings.catch_warnings():  # of long integers, see test_notices.py
            warnings.simplefilter("ignore", volumes.LabelWarning)
            written = volumes.forward(tmp_path / "x.npy", tmp_path / "y.npy", scales=2, force=True)
        assert np.load(tmp_path / "y.npy").dtype == np.dtype(wanted) == written.dtype
        assert written.shape == (6, 8, 10)


def test_scaled_labels_are_values(tmp_path):
    """What a header scales is no label: nearest moves its values, float32."""
    run("forward", Path(data_path) / "functional.nii", "--op", "nearest", "--scales", 2,
        "-o", tmp_path / "y.nii")  # fmt: skip
    x = nibabel.load(Path(data_path) / "functional.nii").get_fdata().astype(np.float32)
    got = np.asarray(nibabel.load(tmp_path / "y.nii").dataobj)
    same(got, x.repeat(2, 0).repeat(2, 1).repeat(2, 2))


def test_options_reach_the_ops(tmp_path):
    x = RNG.standard_normal((5, 6, 7)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    options = ["--scales", "2.5,1.7,2", "--output-size", "9,9,9", "--rule", "torch"]
    run("forward", tmp_path / "x.npy", *options, "-o", tmp_path / "y.npy")
    wanted = up.trilinear(x[None, None], (9, 9, 9), (2.5, 1.7, 2), rule="torch")
    same(np.load(tmp_path / "y.npy"), wanted[0, 0])


def test_same_input_same_bytes(tmp_path):
    np.save(tmp_path / "x.npy", RNG.random((5, 6, 7)))
    for name in ("a.nii.gz", "b.nii.gz"):
        run("forward", tmp_path / "x.npy", "--scales", 2, "-o", tmp_path / name)
    assert (tmp_path / "a.nii.gz").read_bytes() == (tmp_path / "b.nii.gz").read_bytes()
    assert len(gzip.decompress((tmp_path / "a.nii.gz").read_bytes())) == 352 + 8 * 8 * 5 * 6 * 7


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (
            lambda x, y: volumes.forward(np.ones(9), y, scales=2),
            up.ParameterTypeError,
            "path is array",
        ),
        (lambda x, y: volumes.forward(x, None, scales=2), up.ParameterTypeError, "out is None"),
        (lambda x, y: volumes.read(3.5), up.ParameterTypeError, "path is 3.5, wanted the path"),
        (
            lambda x, y: volumes.forward(x, x, scales=2),
            FileExistsError,
            "exists already; force=True",
        ),
        (
            lambda x, y: volumes.forward(x, y, "trilinear_backward", scales=2),
            up.ParameterError,
            "op is 'trilinear_backward', wanted one of nearest, nearest_exact, trilinear$",
        ),
        (
            lambda x, y: volumes.backward(x, y, "bilinear", input_size=(2, 2, 2)),
            up.ParameterError,
            "op is 'bilinear', wanted one of nearest, nearest_exact, trilinear$",
        ),
        (
            lambda x, y: volumes.backward(x, y, input_size=(1, 8, 4, 4, 4)),
            up.ParameterError,
            r"input_size is \(1, 8, 4, 4, 4\), wanted 3 integers \(D, H, W\)",
        ),
    ],
)
def test_functions_name_the_argument(tmp_path, call, error, said):
    np.save(tmp_path / "x.npy", np.ones((4, 4, 4), np.float32))
    with pytest.raises(error, match=said):
        call(tmp_path / "x.npy", tmp_path / "y.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_input_may_be_replaced_by_force(tmp_path):
    x = RNG.random((5, 6, 7))
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "link.npy").symlink_to("x.npy")
    run("forward", tmp_path / "x.npy", "--scales", 2, "-o", tmp_path / "link.npy", "--force")
    assert (tmp_path / "link.npy").is_symlink()
    same(np.load(tmp_path / "x.npy"), up.trilinear(x[None, None], scales=2)[0, 0])
    assert len(list(tmp_path.iterdir())) == 2
