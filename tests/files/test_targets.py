# SPDX-License-Identifier: Apache-2.0
"""The size and grid of a result in a file: from scales, a voxel size, or a reference."""

from __future__ import annotations

import math

import nibabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import upsample3d as up
from upsample3d import volumes
from upsample3d.commands import main as command
from upsample3d.files import targets

RNG = np.random.default_rng(0)
AFFINE = np.array([[-2, 0.1, 0.2, 9], [0.3, 0.4, 3, -1], [0.2, -4, 0.1, 2], [0, 0, 0, 1.0]])


def run(*arguments):
    assert command.main([str(argument) for argument in arguments]) == 0


def nifti(path, size, affine=AFFINE, dtype=np.float32):
    """A file of random numbers on this grid."""
    x = (RNG.random(size) * 100).astype(dtype)
    nibabel.Nifti1Image(x, affine).to_filename(path)
    return x


def held(path):
    return np.asarray(nibabel.load(path).dataobj)


def box(affine, size):
    """The world coordinates of the eight corners of a grid's box."""
    ends = np.array(list(np.ndindex(2, 2, 2))) * np.array(size) - 0.5
    return ends @ affine[:3, :3].T + affine[:3, 3]


# Scales


def test_scales_with_the_digits_that_people_write(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((100, 100, 10), np.float32))
    run("forward", tmp_path / "x.npy", "--scales", "0.57,0.57,5", "-o", tmp_path / "y.npy")
    assert np.load(tmp_path / "y.npy").shape == (57, 57, 50)
    np.save(tmp_path / "x.npy", np.ones((30, 3, 4), np.float32))
    for scales, shape in [((0.7 / 0.1, 0.3333333, 1), (210, 1, 4)), (0.01, (1, 1, 1)),
                          ((1.33, 1.3, 1.2), (39, 3, 4))]:  # fmt: skip
        written = volumes.forward(tmp_path / "x.npy", tmp_path / "y.npy", scales=scales, force=True)
        assert written.shape == shape
    written = volumes.forward(tmp_path / "x.npy", tmp_path / "y.npy", scales=(0.7 / 0.1, 1, 1),
                              rule="torch", force=True)  # fmt: skip
    assert written.shape == (209, 3, 4)  # PyTorch's floor of 30 * 6.999999999999999


def test_a_single_voxel_of_less_than_half_is_the_whole_axis(tmp_path):
    """Its scale would place its centre beyond the last voxel, and its box beyond the volume's."""
    x = nifti(tmp_path / "x.nii", (6, 7, 8))
    volumes.forward(tmp_path / "x.nii", tmp_path / "y.nii", scales=(0.01, 0.07, 1))
    new = nibabel.load(tmp_path / "y.nii")
    np.testing.assert_array_equal(
        np.asarray(new.dataobj), up.trilinear(x[None, None], (1, 1, 8))[0, 0]
    )
    np.testing.assert_allclose(box(new.affine, new.shape), box(AFFINE, x.shape), atol=1e-5)


def test_the_scale_that_gives_a_size_still_drives_the_arithmetic(tmp_path):
    x = RNG.random((10, 10, 10), dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    scales = (1.2999999, 1.55, 0.57)
    volumes.forward(tmp_path / "x.npy", tmp_path / "y.npy", scales=scales)
    got = np.load(tmp_path / "y.npy")
    assert got.shape == (13, 15, 5)
    np.testing.assert_array_equal(got, up.trilinear(x[None, None], (13, 15, 5), scales)[0, 0])
    assert not np.array_equal(got, up.trilinear(x[None, None], (13, 15, 5))[0, 0])


@given(st.integers(1, 300), st.integers(1, 300), st.integers(7, 12))
@settings(max_examples=500, deadline=None)
def test_a_ratio_of_seven_digits_gives_back_its_size(i, o, digits):
    """%.7g errs by 5e-7 of the ratio at most."""
    asked = targets.asked(
        "trilinear", None, float(f"{o / i:.{digits}g}"), None, None, False, "aclnn"
    )
    assert targets.target(asked, None, (i, i, i), None, False).size == (o, o, o)


# Voxel sizes


@pytest.mark.parametrize("size", [(258, 18, 12)])
def test_a_cord_to_two_tenths(tmp_path, size):
    """spinalcordtoolbox#4077: halves up, 107.4996 to 107, and the box and qfac stay."""
    edges = np.array([0.083333, 0.083333, 0.5])
    affine = np.diag([*-edges[:1], *edges[1:], 1])
    affine[:3, 3] = 7, -8, 9
    made = nibabel.Nifti1Image((RNG.random(size) * 9).astype(np.float32), None)
    made.header.set_zooms(edges)
    made.set_qform(affine, 1)
    assert made.header["pixdim"][0] == -1
    made.to_filename(tmp_path / "x.nii.gz")
    old = nibabel.load(tmp_path / "x.nii.gz")
    run("forward", tmp_path / "x.nii.gz", "--spacing", "0.2,0.2,0.5", "-o", tmp_path / "y.nii.gz")
    new = nibabel.load(tmp_path / "y.nii.gz")
    assert new.shape == (107, 7, 12)
    assert new.header["pixdim"][0] == -1
    np.testing.assert_allclose(
        new.header.get_zooms(), edges * size / np.array(new.shape), rtol=1e-6
    )
    np.testing.assert_allclose(box(new.affine, new.shape), box(old.affine, size), atol=1e-5)
    wanted = up.trilinear(np.asarray(old.dataobj)[None, None], new.shape)[0, 0]
    np.testing.assert_array_equal(np.asarray(new.dataobj), wanted)


@pytest.mark.parametrize(
    ("size", "edge", "spacing", "wanted"),
    [
        (10, 1, 1, 10), (10, 1, 2, 5), (10, 1, 4, 3), (10, 3, 4, 8), (1, 1, 100, 1), (3, 1, 2, 2),
        (5, float(np.float32(0.7)), 1.4, 3),  # 2.49999996: a half, but for float32
        (5, 0.69999, 1.4, 2), (100, 0.083333, 0.2, 42),
    ],
)  # fmt: skip
def test_sizes_go_to_the_nearest_and_halves_up(size, edge, spacing, wanted):
    assert targets.spaced_size(size, edge, spacing) == wanted


@given(st.integers(1, 10_000), st.floats(1e-7, 1e5), st.floats(0.01, 100), st.booleans())
@settings(max_examples=500, deadline=None)
def test_no_size_is_nearer_to_the_spacing_that_is_wanted(size, edge, factor, corners):
    got = targets.spaced_size(size, edge, edge * factor, corners)
    ends = corners and size > 1
    asked_for = (size - ends) / factor
    assert got >= 1
    if got > 1:
        assert abs(got - ends - asked_for) <= 0.5 + 1e-6 * asked_for + 1e-9
    else:
        assert asked_for <= 1.5


@pytest.mark.parametrize("unit", [1e-6, 1, 1e3])
@pytest.mark.parametrize("corners", [False, True])
def test_spacing_is_of_the_voxels_edges_whatever_the_axes(tmp_path, unit, corners):
    """Of a sheared grid: each axis by the length of its column; then up-sampled by sizes alone."""
    size, affine = (9, 11, 6), np.diag([unit, unit, unit, 1]) @ AFFINE
    x = nifti(tmp_path / "x.nii", size, affine)
    edges = np.sqrt((affine[:3, :3] ** 2).sum(axis=0))
    wanted = tuple(float(f"{v:.8g}") for v in edges / np.array([2, 0.7, 1.3]))
    volumes.forward(tmp_path / "x.nii", tmp_path / "y.nii", spacing=wanted, align_corners=corners)
    new, ends = nibabel.load(tmp_path / "y.nii"), int(corners)
    grown = (np.array(size) - ends) * np.array([2, 0.7, 1.3])
    assert new.shape == tuple(math.floor(g + 0.5) + ends for g in grown)
    y = up.trilinear(x[None, None], new.shape, align_corners=corners)[0, 0]
    np.testing.assert_array_equal(np.asarray(new.dataobj), y)
    real = np.sqrt((new.affine[:3, :3] ** 2).sum(axis=0))
    kept = np.array(size) - ends, np.array(new.shape) - ends
    np.testing.assert_allclose(real, edges * kept[0] / kept[1], rtol=1e-6)
    if not corners:
        old = nibabel.load(tmp_path / "x.nii").affine
        np.testing.assert_allclose(
            box(new.affine, new.shape) / unit, box(old, size) / unit, atol=1e-4
        )


# References


@pytest.mark.parametrize("suffix", ["nii", "nii.gz"])
@pytest.mark.parametrize("op", ["trilinear", "nearest", "nearest_exact"])
@pytest.mark.parametrize("corners", [False, True])
def test_results_lie_on_the_grid_of_a_reference(tmp_path, suffix, op, corners):
    """To the bit, codes and unit too; trilinear aligns corners where the reference does."""
    x = RNG.random((5, 6, 8), dtype=np.float32)
    image = nibabel.Nifti1Image(x, AFFINE)
    image.header.set_xyzt_units("mm", "msec")
    image.to_filename(tmp_path / "x.nii")
    volumes.forward(tmp_path / "x.nii", tmp_path / f"ref.{suffix}", output_size=(11, 4, 16),
                    align_corners=corners)  # fmt: skip
    ref = nibabel.load(tmp_path / f"ref.{suffix}")
    shifted = ref.affine.copy()
    shifted[:3, 3] += 1e-4  # a few 1e-5 of a voxel
    ref = nibabel.Nifti1Image(np.zeros((11, 4, 16, 2), np.uint8), shifted)
    ref.set_sform(shifted, 4)
    ref.set_qform(shifted, 3)
    ref.header.set_xyzt_units("mm", "sec")
    ref.to_filename(tmp_path / f"ref.{suffix}")
    ref = nibabel.load(tmp_path / f"ref.{suffix}")
    arguments = ("forward", tmp_path / "x.nii", "--op", op, "--like", tmp_path / f"ref.{suffix}",
                 "-o", tmp_path / "y.nii")  # fmt: skip
    if corners and op != "trilinear":
        assert command.main([str(argument) for argument in arguments]) == 2
        return
    run(*arguments)
    new = nibabel.load(tmp_path / "y.nii")
    options = dict(align_corners=True) if corners else {}
    y = getattr(up, op)(x[None, None], (11, 4, 16), **options)[0, 0]
    np.testing.assert_array_equal(np.asarray(new.dataobj), y)
    np.testing.assert_array_equal(new.affine, ref.affine)
    assert new.header.get_xyzt_units() == ("mm", "msec")
    for field in ("qform_code", "sform_code", "quatern_b", "qoffset_x", "srow_y"):
        np.testing.assert_array_equal(new.header[field], ref.header[field])
    np.testing.assert_array_equal(new.header["pixdim"][:4], ref.header["pixdim"][:4])

    # And back, onto the grid of the first file.
    run("backward", tmp_path / "y.nii", "--op", op, "--like", tmp_path / "x.nii", "-o",
        tmp_path / "z.nii")  # fmt: skip
    back = nibabel.load(tmp_path / "z.nii")
    z = getattr(up, f"{op}_backward")(y[None, None], (1, 1, 5, 6, 8), **options)[0, 0]
    np.testing.assert_array_equal(np.asarray(back.dataobj), z)
    np.testing.assert_array_equal(back.affine, nibabel.load(tmp_path / "x.nii").affine)


def test_scales_of_forward_place_the_reference_of_backward(tmp_path):
    nifti(tmp_path / "x.nii", (5, 6, 8))
    volumes.forward(tmp_path / "x.nii", tmp_path / "y.nii", scales=(2.1, 1.5, 1.7))
    options = dict(like=tmp_path / "x.nii", scales=(2.1, 1.5, 1.7))
    volumes.backward(tmp_path / "y.nii", tmp_path / "z.nii", **options)
    volumes.backward(tmp_path / "y.nii", tmp_path / "w.nii", input_size=(5, 6, 8),
                     scales=(2.1, 1.5, 1.7))  # fmt: skip
    np.testing.assert_array_equal(held(tmp_path / "z.nii"), held(tmp_path / "w.nii"))
    with pytest.raises(up.ParameterError, match=r"its box is 0\.\d+ voxels off"):
        volumes.backward(tmp_path / "y.nii", tmp_path / "v.nii", like=tmp_path / "x.nii")


def test_units_are_converted(tmp_path):
    x = nibabel.Nifti1Image(np.ones((4, 4, 4), np.float32), np.diag([2, 2, 2, 1]))
    x.header.set_xyzt_units("mm")
    x.to_filename(tmp_path / "x.nii")
    micron = np.diag([1000, 1000, 1000, 1.0])
    micron[:3, 3] = -500
    ref = nibabel.Nifti1Image(np.ones((8, 8, 8), np.uint8), micron)
    ref.header.set_xyzt_units("micron")
    ref.to_filename(tmp_path / "ref.nii")
    volumes.forward(tmp_path / "x.nii", tmp_path / "y.nii", like=tmp_path / "ref.nii")
    new = nibabel.load(tmp_path / "y.nii")
    np.testing.assert_array_equal(new.affine, micron)
    assert new.header.get_xyzt_units()[0] == "micron"


@pytest.mark.parametrize("order", ["xyz", "zyx"])
@pytest.mark.parametrize("suffix", ["nii.gz", "npy"])
def test_probabilities_onto_the_scan_that_they_are_of(tmp_path, order, suffix):
    """nnUNet#620: the array of a name in an .npz of two, (4, z, y, x), on the scan's grid."""
    shape = (10, 15, 20) if order == "zyx" else (20, 15, 10)
    p = RNG.random((4, *shape), dtype=np.float32)
    np.savez(tmp_path / "p.npz", probabilities=p, other=np.ones(3))
    nifti(tmp_path / "ref.nii.gz", (40, 30, 20))
    run("forward", tmp_path / "p.npz", "--array", "probabilities", "--axes", order, "--like",
        tmp_path / "ref.nii.gz", "-o", tmp_path / f"y.{suffix}")  # fmt: skip
    y = up.trilinear(p[None], tuple(2 * size for size in shape))[0]
    if suffix == "npy":
        np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), y)
        return
    new = nibabel.load(tmp_path / "y.nii.gz")
    assert new.shape == (40, 30, 20, 4)
    np.testing.assert_array_equal(
        np.asarray(new.dataobj), y.T if order == "zyx" else y.transpose(1, 2, 3, 0)
    )
    np.testing.assert_array_equal(new.affine, nibabel.load(tmp_path / "ref.nii.gz").affine)


@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("data_format", ["NCDHW", "NDHWC"])
def test_axes_turn_between_arrays_and_nifti_alone(tmp_path, layout, data_format, recwarn):
    """.npy (z, y, x) to NIfTI (x, y, z) and back; sizes are in the order of the file that is read,
    and the sums of the functions run in it, too."""
    x = np.asarray(RNG.random((3, 4, 5, 2)), np.float32, order=layout)
    np.save(tmp_path / "x.npy", x)
    options = dict(axes="zyx", data_format=data_format)
    whole = x[None] if data_format == "NDHWC" else x[None].transpose(0, 2, 3, 4, 1)
    sizes = (6, 5, 7)
    y = up.trilinear(whole, sizes, data_format="NDHWC")[0]
    for suffix in ("npy", "nii"):
        volumes.forward(tmp_path / "x.npy", tmp_path / f"y.{suffix}", output_size=sizes, **options)
    np.testing.assert_array_equal(held(tmp_path / "y.nii"), y.transpose(2, 1, 0, 3))
    first = y if data_format == "NDHWC" else y.transpose(3, 0, 1, 2)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), first)
    place = nibabel.load(tmp_path / "y.nii").affine
    before = np.array(whole.shape[1:4])
    np.testing.assert_allclose(np.diag(place)[:3], (before / sizes)[::-1], rtol=1e-6)
    np.testing.assert_allclose(place[:3, 3], (before / sizes / 2 - 0.5)[::-1], rtol=1e-6)

    volumes.backward(tmp_path / "y.nii", tmp_path / "z.npy", input_size=before[::-1], **options)
    z = up.trilinear_backward(y.transpose(2, 1, 0, 3)[None], (1, whole.shape[4], *before[::-1]),
                              data_format="NDHWC")[0].transpose(2, 1, 0, 3)  # fmt: skip
    got = np.load(tmp_path / "z.npy")
    assert got.flags.c_contiguous  # as NIfTI's memory, x fastest
    np.testing.assert_array_equal(got if data_format == "NDHWC" else got.transpose(1, 2, 3, 0), z)
