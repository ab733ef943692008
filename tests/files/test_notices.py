# SPDX-License-Identifier: Apache-2.0
"""What is said of a file that was written: labels interpolated, grids invented or dropped."""

from __future__ import annotations

import warnings

import nibabel
import numpy as np
import pytest

from upsample3d import volumes
from upsample3d.commands import main as command

LABEL, NEURONAME, Z_SCORE = 1002, 1003, 5


def saved(path, dtype, intent=0, slope=1):
    x = np.arange(60).reshape(3, 4, 5).astype(dtype)
    if path.suffix == ".npy":
        np.save(path, x)
        return
    image = nibabel.Nifti1Image(x, np.diag([2, 3, 4, 1]), dtype=x.dtype)
    image.header["intent_code"] = intent
    image.header.set_slope_inter(slope, 0)
    image.to_filename(path)


def told(function, *arguments, **options):
    """The warnings of a call, by category and text."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function(*arguments, **options)
    assert all(warning.filename == __file__ for warning in found)  # they point at the caller's line
    return [(warning.category, str(warning.message)) for warning in found]


@pytest.mark.parametrize("suffix", ["npy", "nii"])
@pytest.mark.parametrize("dtype", ["u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", ">i4"])
@pytest.mark.parametrize("op", ["trilinear", "nearest", "nearest_exact"])
def test_long_integers_that_are_interpolated(tmp_path, suffix, dtype, op):
    path, out = tmp_path / f"x.{suffix}", tmp_path / f"y.{suffix}"
    saved(path, dtype)
    said = told(volumes.forward, path, out, op, scales=2)
    if op != "trilinear" or dtype not in ("i4", "u4", "i8", "u8", ">i4"):
        assert said == []
        return
    [(category, text)] = said
    assert category is volumes.LabelWarning
    assert text.startswith(f"{path}: holds {np.dtype(dtype).name}, which trilinear interpolates")
    assert "--op nearest_exact" in text
    assert told(volumes.forward, path, out, op, scales=2, dtype="float64", force=True) == []
    assert told(volumes.backward, path, out, op, input_size=(2, 2, 2), force=True) == []


def test_scaled_integers_are_no_labels(tmp_path):
    saved(tmp_path / "x.nii", "i4")
    content = bytearray((tmp_path / "x.nii").read_bytes())
    content[112:116] = np.float32(0.5).tobytes()  # scl_slope
    (tmp_path / "x.nii").write_bytes(content)
    assert told(volumes.forward, tmp_path / "x.nii", tmp_path / "y.nii", scales=2) == []


@pytest.mark.parametrize("intent", [LABEL, NEURONAME, Z_SCORE, 0])
@pytest.mark.parametrize("op", ["trilinear", "nearest", "nearest_exact"])
@pytest.mark.parametrize("dtype", ["u1", "f4"])
def test_intents_of_labels(tmp_path, intent, op, dtype):
    saved(tmp_path / "x.nii", dtype, intent)
    names = intent in (LABEL, NEURONAME)
    said = told(volumes.forward, tmp_path / "x.nii", tmp_path / "y.nii", op, scales=2,
                dtype="float32" if dtype == "f4" else None)  # fmt: skip
    assert len(said) == (names and op == "trilinear")
    for category, text in said:
        assert category is volumes.LabelWarning
        assert f"its intent is {'label' if intent == LABEL else 'neuroname'};" in text
        assert "--op nearest_exact" in text
    new = nibabel.load(tmp_path / "y.nii").header
    assert new["intent_code"] == (0 if names and op == "trilinear" else intent)

    said = told(volumes.backward, tmp_path / "x.nii", tmp_path / "z.nii", op, input_size=(2, 2, 2))
    assert [category for category, _ in said] == [volumes.LabelWarning] * names
    assert nibabel.load(tmp_path / "z.nii").header["intent_code"] == 0


def test_grids_that_are_invented_or_dropped(tmp_path):
    saved(tmp_path / "x.npy", "f4")
    saved(tmp_path / "x.nii", "f4")
    for a, b, words in [
        ("x.npy", "y.npy", None),
        ("x.nii", "y.nii.gz", None),
        ("x.npy", "y.nii", "says nothing of a grid, so one is invented: voxels of 0.5 x 0.5 x 0.5"),
        ("x.nii", "y.npz", "orientation and the rest of the header of .*x.nii are dropped"),
    ]:
        if words is None:
            assert told(volumes.forward, tmp_path / a, tmp_path / b, scales=2) == []
            continue
        with pytest.warns(volumes.GridWarning, match=f"{b}: .*{words}"):
            volumes.forward(tmp_path / a, tmp_path / b, scales=2)
    new = nibabel.load(tmp_path / "y.nii")
    np.testing.assert_array_equal(np.diag(new.affine), [0.5, 0.5, 0.5, 1])
    assert new.header["sform_code"] == 2
    like = dict(like=tmp_path / "x.nii", force=True)
    assert told(volumes.forward, tmp_path / "x.npy", tmp_path / "y.nii", **like) == []


def test_a_warning_that_is_made_an_error_leaves_nothing(tmp_path):
    saved(tmp_path / "x.npy", "i8")
    with warnings.catch_warnings():
        warnings.simplefilter("error", volumes.VolumeWarning)
        with pytest.raises(volumes.LabelWarning):
            volumes.forward(tmp_path / "x.npy", tmp_path / "y.npy", scales=2)
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_commands_say_it_in_a_line_each_and_end_well(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved(tmp_path / "x.npy", "i8")
    saved(tmp_path / "x.nii", "i4", LABEL)
    for line, words in [
        ("forward x.npy --scales 2 -o a.npy", ["x.npy: holds int64"]),
        ("forward x.nii --scales 2 -o b.nii", ["x.nii: its intent is label"]),
        ("forward x.nii --op nearest --scales 2 -o c.npy", ["c.npy: holds an array alone"]),
        ("forward x.npy --scales 2 -o d.nii", ["x.npy: holds int64", "d.nii: x.npy says nothing"]),
        ("forward x.nii --op nearest --scales 11000,1,1 -o e.nii", ["e.nii: is NIfTI-2"]),
        ("forward x.nii --op nearest --scales 2 -o f.nii", []),
    ]:
        assert command.main(line.split()) == 0
        out, err = capsys.readouterr()
        assert out.count("\n") == 1
        assert len(err.splitlines()) == len(words)
        for text, begin in zip(err.splitlines(), words, strict=True):
            assert text.startswith(f"upsample3d: warning: {begin}")
