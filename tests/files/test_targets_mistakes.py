# SPDX-License-Identifier: Apache-2.0
"""Sizes and grids of results in files that cannot be: by name, what it was and what is wanted."""

from __future__ import annotations

import math

import nibabel
import numpy as np
import pytest

import upsample3d as up
from upsample3d import volumes
from upsample3d.commands import main as command

AFFINE = np.array([[-2, 0.1, 0.2, 9], [0.3, 0.4, 3, -1], [0.2, -4, 0.1, 2], [0, 0, 0, 1.0]])
TURN = np.array([[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


def nifti(path, size, affine=AFFINE):
    nibabel.Nifti1Image(np.ones(size, np.float32), affine).to_filename(path)


def shifted(by):
    moved = AFFINE.copy()
    moved[:3, 3] += AFFINE[:3, :3] @ by
    return moved


ELSEWHERE = {
    "two thousandths of a voxel": (shifted([0, 0.002, 0]), "its box is 0.002 voxels off"),
    "ten voxels": (shifted([0, 0, 10]), "its box is 10 voxels off"),
    "flipped": (AFFINE @ np.diag([-1, 1, 1, 1]), "its x, y, z run .* wanted one orientation"),
    "turned": (AFFINE @ TURN, "wanted one orient"),
    "larger": (AFFINE @ np.diag([1.01, 1, 1, 1]), "its box is .* voxels off"),
    "of no voxels": (np.zeros((4, 4)), "its (x, y, z run|box)"),
}


@pytest.mark.parametrize("case", ELSEWHERE)
@pytest.mark.parametrize("back", [False, True])
def test_references_that_lie_elsewhere(tmp_path, case, back):
    affine, said = ELSEWHERE[case]
    nifti(tmp_path / "x.nii", (5, 6, 8))
    ref = nibabel.Nifti1Image(np.zeros((5, 6, 8), np.uint8), None)
    ref.set_sform(affine, 1)
    ref.to_filename(tmp_path / "ref.nii")
    function = volumes.backward if back else volumes.forward
    with pytest.raises(up.ParameterError, match=f"like is .*ref.nii, whose grid .*{said}"):
        function(tmp_path / "x.nii", tmp_path / "y.nii", like=tmp_path / "ref.nii")
    near = nibabel.Nifti1Image(np.zeros((5, 6, 8), np.uint8), shifted([0, 0.0005, 0]))
    near.to_filename(tmp_path / "ref.nii")
    function(tmp_path / "x.nii", tmp_path / "y.nii", like=tmp_path / "ref.nii")


def one_of_each(folder):
    nifti(folder / "x.nii", (5, 6, 8))
    nifti(folder / "flat.nii", (5, 6))
    np.save(folder / "x.npy", np.ones((5, 6, 8), np.float32))
    np.savez(folder / "two.npz", a=np.ones((5, 6, 8)), b=np.ones((5, 6, 8)))
    none = nibabel.Nifti1Image(np.ones((5, 6, 8), np.float32), None)
    none.set_sform(np.diag([1, 0, 1, 1]), 1)
    none.to_filename(folder / "none.nii")


WRONG = {
    "no size": ("x.npy", {}, up.ParameterTypeError, "output_size, scales, spacing, like are all"),
    "two sizes": ("x.nii", dict(output_size=(2, 2, 2), spacing=1), up.ParameterError,
                  "output_size and spacing each say the size of the result, wanted one"),
    "scales and spacing": ("x.nii", dict(scales=2, spacing=1), up.ParameterError,
                           "scales and spacing each"),
    "all": ("x.nii", dict(output_size=(2, 2, 2), scales=2, spacing=1, like="x.nii"),
            up.ParameterError, "output_size and scales and spacing and like each"),
    "spacing of an array": ("x.npy", dict(spacing=1), up.ParameterError,
                            r"spacing is \(1.0, 1.0, 1.0\), and .*x.npy has no voxel size"),
    "no edge": ("none.nii", dict(spacing=1), up.ParameterError, "has voxels of"),
    "zero": ("x.nii", dict(spacing=(1, 0, 1)), up.ParameterError, "wanted positive lengths"),
    "NaN": ("x.nii", dict(spacing=math.nan), up.ParameterError, "wanted positive lengths"),
    "two": ("x.nii", dict(spacing=(1, 1)), up.ParameterTypeError, "wanted a number or three"),
    "text": ("x.nii", dict(spacing="1,1,1"), up.ParameterTypeError, "wanted a number or three"),
    "too fine": ("x.nii", dict(spacing=1e-12), up.ParameterError, "wanted fewer"),
    "array for reference": ("x.nii", dict(like="x.npy"), ValueError, "x.npy: is no NIfTI file"),
    "flat reference": ("x.nii", dict(like="flat.nii"), ValueError, "flat.nii: has the sizes"),
    "no reference": ("x.nii", dict(like="no.nii"), FileNotFoundError, "no.nii: No such file"),
    "like 3": ("x.nii", dict(like=3), up.ParameterTypeError, "like is 3, wanted the path"),
    "dtype": ("x.nii", dict(scales=2, dtype="int8"), up.ParameterTypeError, "dtype is int8"),
    "format": ("x.nii", dict(scales=2, data_format="NHWC"), up.ParameterError,
               "data_format is 'NHWC', wanted one of NCDHW, NDHWC"),
    "format 5": ("x.nii", dict(scales=2, data_format=5), up.ParameterTypeError, "data_format is"),
    "axes": ("x.nii", dict(scales=2, axes="zxy"), up.ParameterError, "axes is 'zxy', wanted one"),
    "rule": ("x.nii", dict(scales=2, rule="scipy"), up.ParameterError, "rule is 'scipy'"),
    "corners": ("x.nii", dict(scales=2, align_corners=1), up.ParameterTypeError, "align_corners"),
    "array of .npy": ("x.npy", dict(scales=2, array="a"), up.ParameterError,
                      "x.npy: array is 'a', wanted None: only .npz"),
    "another array": ("two.npz", dict(scales=2, array="c"), up.ParameterError,
                      "two.npz: array is 'c', wanted one of a, b"),
    "which array": ("two.npz", dict(scales=2), ValueError,
                    r"two.npz: holds 2 arrays \['a', 'b'\], wanted one, or array .*--array"),
    "array 0": ("two.npz", dict(scales=2, array=0), up.ParameterTypeError, "array is 0, wanted"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused_by_name(tmp_path, case, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one_of_each(tmp_path)
    name, options, error, said = WRONG[case]
    before = sorted(tmp_path.iterdir())
    with pytest.raises(error, match=said):
        volumes.forward(name, "y.npy", **options)
    assert sorted(tmp_path.iterdir()) == before


def test_backward_wants_one_size(tmp_path):
    nifti(tmp_path / "x.nii", (5, 6, 8))
    for options, error, said in [
        ({}, up.ParameterTypeError, "input_size and like are None, wanted one of them"),
        (dict(scales=2), up.ParameterTypeError, "input_size and like are None"),
        (dict(input_size=(2, 2, 2), like=tmp_path / "x.nii"), up.ParameterError,
         "input_size and like each say"),
    ]:  # fmt: skip
        with pytest.raises(error, match=said):
            volumes.backward(tmp_path / "x.nii", tmp_path / "y.npy", **options)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("forward",), "forward wants --output-size, --scales, or both, or else --spacing"),
        (("forward", "--spacing", "1", "--like", "x.nii"), "spacing and like each say the size"),
        (("forward", "--spacing", "-1"), "--spacing: is '-1', wanted a positive number"),
        (("backward",), "backward wants --input-size or --like"),
        (("backward", "--spacing", "1", "--input-size", "2,2,2"), "--spacing is of forward"),
        (("forward", "--axes", "yxz", "--scales", "2"), "--axes: invalid choice"),
    ],
)
def test_commands_that_cannot_be(tmp_path, capsys, arguments, said):
    nifti(tmp_path / "x.nii", (5, 6, 8))
    command_, *options = arguments
    line = [command_, tmp_path / "x.nii", *options, "-o", tmp_path / "y.nii"]
    assert command.main([str(argument) for argument in line]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_read_chooses_an_array(tmp_path):
    one_of_each(tmp_path)
    np.savez(tmp_path / "two.npz", a=np.ones((5, 6, 8)), b=np.zeros((2, 2, 2)))
    assert volumes.read(tmp_path / "two.npz", array="b").data.shape == (2, 2, 2)
    with pytest.raises(up.ParameterError, match="data_format is 'NHWC'"):
        volumes.read(tmp_path / "x.npy", "NHWC")
