# SPDX-License-Identifier: Apache-2.0
"""The affine of a resampled grid: world coordinates resampled as data lie where it says."""

from __future__ import annotations

import nibabel
import numpy as np
import pytest

import upsample3d as up
from upsample3d import volumes
from upsample3d.geometry.grids import placement

AFFINE = np.array([[-2, 0.1, 0.2, 9], [0.3, 0.4, 3, -1], [0.2, -4, 0.1, 2], [0, 0, 0, 1.0]])


def worlds(affine, shape):
    """[3, *shape]: each voxel's world coordinates."""
    index = np.indices(shape).reshape(3, -1)
    return (affine[:3, :3] @ index + affine[:3, 3:]).reshape(3, *shape)


@pytest.mark.parametrize("sizes", [((5, 6, 8), (10, 12, 16)), ((5, 6, 8), (7, 13, 9)),
                                   ((9, 16, 20), (5, 8, 12))])  # fmt: skip
@pytest.mark.parametrize("options", [{}, {"align_corners": True}, {"scales": (1.1, 1.9, 1.3)}])
def test_interpolated_world_coordinates_lie_where_the_affine_says(sizes, options):
    """A linear ramp is interpolated exactly, but beyond the outermost input centres."""
    i, o = sizes
    got = up.trilinear(worlds(AFFINE, i)[None], o, **options)[0]
    place = placement("trilinear", i, o, **options)
    where = (place[:3, :3] @ np.indices(o).reshape(3, -1) + place[:3, 3:]).reshape(3, *o)
    last = np.array(i).reshape(3, 1, 1, 1) - 1
    inside = ((where >= 0) & (where <= last)).all(axis=0)
    assert inside.sum() > inside.size / 8
    wanted = worlds(AFFINE @ place, o)
    # A given scale is a float32 to the operators, good to 6e-8 of some 20 voxels.
    np.testing.assert_allclose(got[:, inside], wanted[:, inside], atol=1e-5)


@pytest.mark.parametrize("op", ["nearest", "nearest_exact"])
def test_volumes_cover_the_same_box(op):
    """Edges, half a voxel beyond the outermost centres, stay where they were."""
    i, o = (5, 6, 8), (10, 9, 3)
    found = placement(op, i, o)
    first, last = np.full(3, -0.5), (np.array(i) - 0.5, np.array(o) - 0.5)
    for edge_i, edge_o in ((first, first), last):
        np.testing.assert_allclose((found @ [*edge_o, 1])[:3], edge_i, atol=1e-12)


def test_axes_of_one_voxel():
    corners = dict(align_corners=True)
    np.testing.assert_array_equal(
        placement("trilinear", (5, 1, 1), (1, 1, 1), **corners), np.eye(4)
    )
    found = placement("trilinear", (1, 4, 4), (2, 4, 7), **corners)
    np.testing.assert_allclose(found @ [0, 0, 6, 1], [-0.25, 0, 3, 1])
    assert np.linalg.det(found) > 0
    same = placement("trilinear", (4, 4, 4), (4, 4, 4), (2.0, None, 3.0))
    np.testing.assert_array_equal(same, np.eye(4))  # as the op: a copy, whatever the scale


def image(qform, sform, kind=nibabel.Nifti1Image):
    made = kind(np.zeros((4, 5, 6), np.int16), None)
    rotation = np.array([[0, -2.0, 0, 3], [1.5, 0, 0, 4], [0, 0, -3, 5], [0, 0, 0, 1]])
    made.set_qform(rotation, qform)
    made.set_sform(AFFINE, sform)
    return made


@pytest.mark.parametrize("kind", [nibabel.Nifti1Image, nibabel.Nifti2Image])
@pytest.mark.parametrize("codes", [(0, 0), (1, 0), (0, 2), (3, 4)])
@pytest.mark.parametrize("options", [{}, {"scales": (2.5, 1.5, 1.0)}, {"align_corners": True}])
def test_both_forms_move_and_keep_their_codes(tmp_path, kind, codes, options):
    old = image(*codes, kind)
    old.to_filename(tmp_path / "x.nii")
    old = nibabel.load(tmp_path / "x.nii")
    volumes.forward(tmp_path / "x.nii", tmp_path / "y.nii", output_size=(8, 15, 5), **options)
    new = nibabel.load(tmp_path / "y.nii")
    place = placement("trilinear", (4, 5, 6), (8, 15, 5), **options)
    assert isinstance(new, kind)
    near = dict(rtol=1e-6, atol=1e-5)  # NIfTI-1 holds float32
    np.testing.assert_allclose(new.affine, old.affine @ place, **near)
    if codes != (0, 0):
        assert (int(new.header["qform_code"]), int(new.header["sform_code"])) == codes
    if codes[0]:
        np.testing.assert_allclose(new.get_qform(), old.get_qform() @ place, **near)
        np.testing.assert_array_equal(new.header["quatern_b"], old.header["quatern_b"])
    if codes[1]:
        np.testing.assert_allclose(new.get_sform(), old.get_sform() @ place, **near)
    np.testing.assert_allclose(
        new.header.get_zooms(), np.array(old.header.get_zooms()) * np.diag(place)[:3], rtol=1e-6
    )


def test_gradients_come_back_to_the_grid(tmp_path):
    old = image(1, 1)
    old.to_filename(tmp_path / "x.nii")
    for k, options in enumerate(({}, {"scales": (2.1, 3.0, 1.5)}, {"align_corners": True})):
        up_file, back = tmp_path / f"up{k}.nii", tmp_path / f"back{k}.nii.gz"
        volumes.forward(tmp_path / "x.nii", up_file, output_size=(8, 15, 9), **options)
        volumes.backward(up_file, back, input_size=(4, 5, 6), **options)
        new = nibabel.load(back)
        assert new.shape == old.shape
        np.testing.assert_allclose(new.affine, old.affine, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(new.get_qform(), old.get_qform(), rtol=1e-5, atol=1e-5)
