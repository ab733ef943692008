# SPDX-License-Identifier: Apache-2.0
"""Headers of new grids: each field of NIfTI is true in the result, or says nothing."""

from __future__ import annotations

import nibabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from upsample3d import volumes
from upsample3d.files import headers
from upsample3d.geometry.grids import placement

KINDS = [nibabel.Nifti1Header, nibabel.Nifti2Header]
SLICES = {"slice_code", "slice_start", "slice_end", "slice_duration"}
INTENT = {"intent_code", "intent_p1", "intent_p2", "intent_p3", "intent_name"}
LABEL, Z_SCORE, VECTOR = 1002, 5, 1007


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_has_every_field_once(kind):
    said = [headers.FALSIFIED.keys(), headers.OF_THE_ARRAY, headers.OF_THE_GRID,
            headers.OF_THE_FORMAT, headers.KEPT]  # fmt: skip
    assert set(kind().keys()) <= set().union(*said)
    assert sum(map(len, said)) == len(set().union(*said))


def test_the_table_has_no_field_more():
    fields = set(KINDS[0]().keys()) | set(KINDS[1]().keys())
    assert set(headers.FALSIFIED) | headers.KEPT <= fields


def full(kind=nibabel.Nifti1Header, intent=LABEL, slice_axis=2):
    """A header that says something in every field that NIfTI uses."""
    made = kind()
    made.set_data_shape((20, 20, 6, 30))
    made.set_data_dtype(np.int16)
    made.set_sform(np.diag([2, 2, 4, 1]), 1)
    made["intent_code"], made["intent_name"] = intent, b"what it is"
    made["intent_p1"], made["intent_p2"], made["intent_p3"] = 1, 2, 3
    made["cal_max"], made["cal_min"], made["toffset"] = 17, -3, 5
    made["descrip"], made["aux_file"] = b"a scan", b"colours"
    made["pixdim"][4:] = 1.5, 7, 8, 9
    made.set_xyzt_units("mm", "msec")
    made.set_dim_info(0, 1, slice_axis)
    made["slice_code"], made["slice_start"], made["slice_end"] = 3, 0, 5
    made["slice_duration"] = 0.36
    if kind is KINDS[0]:
        made["glmax"], made["glmin"], made["db_name"] = 9, 8, b"kept"
    return made


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("op", "size", "intent", "gone"),
    [
        ("trilinear", (40, 40, 6), LABEL, INTENT),
        ("trilinear", (40, 40, 12), LABEL, INTENT | SLICES),
        ("trilinear", (40, 40, 6), Z_SCORE, set()),
        ("nearest", (40, 10, 6), LABEL, set()),
        ("nearest_exact", (20, 20, 30), LABEL, SLICES),
        ("trilinear_backward", (10, 20, 6), LABEL, INTENT | {"cal_max", "cal_min"}),
        ("nearest_backward", (10, 20, 6), Z_SCORE, INTENT | {"cal_max", "cal_min"}),
        ("nearest_exact_backward", (20, 20, 3), VECTOR, SLICES | {"cal_max", "cal_min"}),
    ],
)
def test_fields_are_kept_or_cleared(kind, op, size, intent, gone):
    old = full(kind, intent)
    source, result = (20, 20, 6), size
    i, o = (result, source) if op.endswith("_backward") else (source, result)
    place = placement(op, i, o)
    place = np.linalg.inv(place) if op.endswith("_backward") else place
    new = headers.header_of(old, (*size, 30), np.dtype(np.float32), headers.Resampling(op, place))
    gone = gone | ({"glmax", "glmin"} & set(old.keys()))
    for field in gone:
        assert new[field].tobytes().strip(b"\0") == b"", field
    written = {"dim", "datatype", "bitpix", "pixdim", "srow_x", "srow_y", "srow_z"}
    for field in set(old.keys()) - gone - written:
        np.testing.assert_array_equal(new[field], old[field], field)
    np.testing.assert_array_equal(new["pixdim"][[0, 4, 5, 6, 7]], old["pixdim"][[0, 4, 5, 6, 7]])
    assert new.get_data_shape() == (*size, 30)


@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_slice_times_stay_where_the_slices_do(tmp_path, axis):
    """int16 (20, 20, 6, 30) of six slices to thirty: six times would be wrong for them."""
    header = full(slice_axis=axis)
    nibabel.Nifti1Image(np.zeros((20, 20, 6, 30), np.int16), None, header).to_filename(
        tmp_path / "x.nii"
    )
    acquired = 2 if axis is None else axis
    for resampled in range(3):
        size = [20, 20, 6]
        size[resampled] = 30
        volumes.forward(tmp_path / "x.nii", tmp_path / "y.nii", "nearest", output_size=size,
                        force=True)  # fmt: skip
        new = nibabel.load(tmp_path / "y.nii").header
        said = [float(new[field]) for field in ("slice_code", "slice_end", "slice_duration")]
        kept = [3, 5, float(np.float32(0.36))]
        assert said == ([0, 0, 0] if resampled == acquired else kept)
        assert new.get_dim_info() == (0, 1, axis)


def test_a_shift_alone_moves_slices_too(tmp_path):
    """As many slices, under a scale that says they are others."""
    header = full()
    nibabel.Nifti1Image(np.zeros((20, 20, 6, 2), np.int16), None, header).to_filename(
        tmp_path / "x.nii"
    )
    volumes.forward(tmp_path / "x.nii", tmp_path / "y.nii", "nearest", output_size=(20, 20, 6),
                    scales=(1, 1, 1.1))  # fmt: skip
    assert nibabel.load(tmp_path / "y.nii").header["slice_code"] == 0


@pytest.mark.parametrize("suffix", ["nii", "nii.gz"])
def test_axes_too_long_for_nifti_1_make_nifti_2(tmp_path, suffix):
    header = full(intent=Z_SCORE)
    header.extensions.append(nibabel.nifti1.Nifti1Extension("comment", b"kept"))
    x = np.random.default_rng(0).integers(0, 99, (128, 2, 2, 1), np.int16)
    path, out = tmp_path / "x.nii", tmp_path / f"y.{suffix}"
    nibabel.Nifti1Image(x, None, header).to_filename(path)
    with pytest.warns(volumes.VolumeWarning, match="y.* is NIfTI-2.* x has 38400.* 32767"):
        volumes.forward(path, out, "nearest", scales=(300, 1, 1))
    old, new = nibabel.load(path), nibabel.load(out)
    assert isinstance(new, nibabel.Nifti2Image)
    np.testing.assert_array_equal(np.asarray(new.dataobj), x.repeat(300, 0))
    for field in (*headers.KEPT, *INTENT, *SLICES):
        if field in set(old.header.keys()) & set(new.header.keys()):
            np.testing.assert_array_equal(new.header[field], old.header[field], field)
    assert new.header.extensions[0].get_content().rstrip(b"\0") == b"kept"
    place = placement("nearest", (128, 2, 2), (38400, 2, 2))
    np.testing.assert_allclose(new.affine, old.affine @ place, rtol=1e-14)


def test_arrays_too_long_for_nifti_1_make_nifti_2(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((4, 1, 1), np.float32))
    with pytest.warns(volumes.VolumeWarning) as told:
        volumes.forward(tmp_path / "x.npy", tmp_path / "y.nii", output_size=(40000, 1, 1))
    assert {warning.category for warning in told} == {volumes.VolumeWarning, volumes.GridWarning}
    new = nibabel.load(tmp_path / "y.nii")
    assert isinstance(new, nibabel.Nifti2Image)
    assert new.affine[0, 0] == 4 / 40000


units = st.integers(-9, 6).map(lambda k: 10.0**k)
factors = st.tuples(*[st.floats(0.3, 3)] * 3)
angles = st.tuples(*[st.floats(-3.1, 3.1)] * 3)
sizes = st.tuples(*[st.integers(1, 300)] * 3)


def rotation(a, b, c):
    (ca, cb, cc), (sa, sb, sc) = np.cos([a, b, c]), np.sin([a, b, c])
    about_x = np.array([[1, 0, 0], [0, ca, -sa], [0, sa, ca]])
    about_y = np.array([[cb, 0, sb], [0, 1, 0], [-sb, 0, cb]])
    about_z = np.array([[cc, -sc, 0], [sc, cc, 0], [0, 0, 1]])
    return about_x @ about_y @ about_z


@given(
    unit=units, edges=factors, angles=angles, shear=st.floats(-0.5, 0.5), flip=st.booleans(),
    middle=st.tuples(*[st.floats(-1000, 1000)] * 3), i=sizes, o=sizes,
    form=st.sampled_from(["sform", "qform", "neither"]),
    op=st.sampled_from(["trilinear", "nearest", "nearest_exact"]), corners=st.booleans(),
    scaled=st.booleans(), kind=st.sampled_from(KINDS),
)  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_grids_stay_in_their_place(
    unit, edges, angles, shear, flip, middle, i, o, form, op, corners, scaled, kind
):
    """Whatever the unit and the form: the new affine is the old one times the placement, and so
    edges, or corner voxels' centres, are in the world where they were, but for the rounding of
    the numbers that a header has: float32, or float64 in NIfTI-2."""
    linear = rotation(*angles) @ np.diag([*edges[:2], -edges[2] if flip else edges[2]]) * unit
    old = kind()
    old.set_data_shape(i)
    old.set_data_dtype(np.float32)
    affine = np.eye(4)
    affine[:3, 3] = np.multiply(middle, unit)
    if form == "sform":
        linear = linear @ np.array([[1, shear, 0], [0, 1, shear], [0, 0, 1]])
        affine[:3, :3] = linear
        old.set_sform(affine, 2)
    elif form == "qform":
        affine[:3, :3] = linear
        old.set_qform(affine, 1)
    else:
        old.set_zooms(np.multiply(edges, unit))
    affine = old.get_best_affine()
    scales = (
        tuple(np.divide(o, i))
        if not scaled
        else tuple(1.01 * b / a for a, b in zip(i, o, strict=True))
    )
    place = placement(op, i, o, scales, corners)
    new = headers.header_of(old, o, np.dtype(np.float32), headers.Resampling(op, place))
    found, wanted = new.get_best_affine(), affine @ place

    rounding = 8 * np.finfo(old["pixdim"].dtype).eps
    far = np.abs(affine) @ [*np.max([i, np.multiply(o, np.diag(place)[:3])], axis=0), 1]
    for corner in np.ndindex(2, 2, 2):
        ends = np.where(corner, np.array(o) - 0.5, -0.5)
        apart = (found - wanted) @ [*ends, 1]
        assert (np.abs(apart) <= rounding * (far + np.abs(affine) @ [1, 1, 1, 1])).all()
        if not scaled and not (corners and op == "trilinear"):
            first = wanted @ [*ends, 1]
            second = affine @ [*np.where(corner, np.array(i) - 0.5, -0.5), 1]
            assert (np.abs(first - second) <= 1e-12 * far).all()
    assert new["pixdim"][0] == old["pixdim"][0]
    np.testing.assert_allclose(
        new["pixdim"][1:4], old["pixdim"][1:4] * np.diag(place)[:3], rtol=1e-6
    )


@pytest.mark.parametrize(
    ("edge", "size", "scale", "result"),
    [
        (4e-6, (20, 20, 20), 4, (16, 16, 16)),
        (5e-5, (11, 9, 7), 1.55, None),
        (1.5e-4, (101, 101, 33), 1.5, None),
    ],
)
def test_voxels_small_in_the_unit_of_the_file(tmp_path, edge, size, scale, result):
    """100 nm in millimetres, 0.15 mm in metres: differences count in voxels, not in the unit."""
    old = nibabel.Nifti1Image(np.zeros(size, np.float32), None)
    old.header["pixdim"][1:4] = edge
    old.to_filename(tmp_path / "x.nii")
    before = nibabel.load(tmp_path / "x.nii")
    assert (before.header["qform_code"], before.header["sform_code"]) == (0, 0)
    volumes.forward(tmp_path / "x.nii", tmp_path / "y.nii", scales=scale, output_size=result)
    place = np.diag([1 / scale] * 3 + [1])
    place[:3, 3] = (1 / scale - 1) / 2
    if scale == 4:
        assert place[0, 0] == 0.25
        assert place[0, 3] == -0.375
    found = nibabel.load(tmp_path / "y.nii").affine
    # In voxels, of which one float32 has 2^-24 for each on the way from the middle.
    np.testing.assert_allclose(found / edge, before.affine @ place / edge, atol=2**-22 * max(size))
