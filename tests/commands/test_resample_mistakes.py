# SPDX-License-Identifier: Apache-2.0
"""`upsample3d forward` and `backward` going wrong: one line, a status, and no file left."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import nibabel
import numpy as np
import pytest

COMMAND = [sys.executable, "-m", "upsample3d"]
TWICE = ("--scales", "2", "-o", "y.npy")


def run(folder, *arguments, **options):
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=120,
        **options,
    )  # fmt: skip


def refused(folder, *arguments, **options):
    """The one line on stderr of a command that ends with status 2 and leaves no new file."""
    before = content(folder)
    done = run(folder, *arguments, **options)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("upsample3d")
    assert content(folder) == before
    return done.stderr


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def folder(tmp_path):
    """A folder with a volume, whole and not, in every kind of file, and more that is none."""
    x = np.random.default_rng(0).random((6, 7, 8), dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "x.npz", x)
    np.savez(tmp_path / "two.npz", x, x)
    for suffix in ("nii", "nii.gz"):
        nibabel.Nifti1Image(x, np.eye(4)).to_filename(tmp_path / f"x.{suffix}")
    for suffix in ("npy", "npz", "nii", "nii.gz"):
        whole = (tmp_path / f"x.{suffix}").read_bytes()
        (tmp_path / f"cut.{suffix}").write_bytes(whole[: len(whole) * 3 // 4])
        (tmp_path / f"head.{suffix}").write_bytes(whole[:9])
        (tmp_path / f"void.{suffix}").touch()
    np.save(tmp_path / "flat.npy", x[0])
    np.save(tmp_path / "deep.npy", x[None, None, None])
    np.save(tmp_path / "empty.npy", x[:0])
    np.save(tmp_path / "complex.npy", x.astype(complex))
    np.save(tmp_path / "objects.npy", x.astype(object), allow_pickle=True)
    np.save(tmp_path / "records.npy", np.zeros((3, 4, 5), [("r", "u1"), ("g", "u1")]))
    np.save(tmp_path / "text.npy", np.full((3, 4, 5), "label"))
    nibabel.Nifti1Image(x[0], np.eye(4)).to_filename(tmp_path / "flat.nii")
    rgb = np.zeros((3, 4, 5), [("R", "u1"), ("G", "u1"), ("B", "u1")])
    nibabel.Nifti1Image(rgb, np.eye(4)).to_filename(tmp_path / "rgb.nii")
    (tmp_path / "notes.txt").write_text("not a volume")
    (tmp_path / "folder.npy").mkdir()
    return tmp_path


MISTAKES = {
    "missing": (("forward", "no.npy", *TWICE), "no.npy: No such file"),
    "missing nifti": (("forward", "no.nii.gz", *TWICE), "no.nii.gz: No such file"),
    "a folder": (("forward", "folder.npy", *TWICE), "folder.npy: Is a directory"),
    "unknown suffix": (("forward", "notes.txt", *TWICE), "notes.txt: has an unknown suffix"),
    "two arrays": (("forward", "two.npz", *TWICE), "holds 2 arrays"),
    "2-D": (("forward", "flat.npy", *TWICE), "flat.npy: holds 2 axes (7, 8)"),
    "2-D nifti": (("forward", "flat.nii", *TWICE), "flat.nii: holds 2 axes (7, 8)"),
    "6-D": (("forward", "deep.npy", *TWICE), "deep.npy: holds 6 axes"),
    "no voxels": (("forward", "empty.npy", *TWICE), "empty.npy: "),
    "complex": (("forward", "complex.npy", *TWICE), "complex128"),
    "complex back": (
        ("backward", "complex.npy", "--op", "nearest", "--input-size", "3,3,3", "-o", "y.npy"),
        "complex128",
    ),
    "objects": (("forward", "objects.npy", "--op", "nearest", *TWICE), "objects.npy: "),
    "records": (("forward", "records.npy", "--op", "nearest", *TWICE), "wanted plain elements"),
    "text": (("forward", "text.npy", "--op", "nearest", *TWICE), "wanted plain elements"),
    "colours": (("forward", "rgb.nii", "--op", "nearest", *TWICE), "wanted plain elements"),
    "NaN sizes": (
        ("forward", "x.npy", "--output-size", "nan,4,4", "-o", "y.npy"),
        "--output-size: is 'nan,4,4', wanted three integers",
    ),
    "a zero size": (("forward", "x.npy", "--output-size", "0,4,4", "-o", "y.npy"), "from 1"),
    "two sizes": (("forward", "x.npy", "--output-size", "4,4", "-o", "y.npy"), "three integers"),
    "a huge size": (
        ("forward", "x.npy", "--output-size", "9" * 30 + ",4,4", "-o", "y.npy"), "2^31",
    ),
    "too many voxels": (
        ("forward", "x.npy", "--output-size", ",".join(3 * ["2147483647"]), "-o", "y.npy"), "2^63",
    ),
    "NaN scales": (("forward", "x.npy", "--scales", "nan", "-o", "y.npy"), "a positive number"),
    "one NaN": (("forward", "x.npy", "--scales", "2,nan,2", "-o", "y.npy"), "a positive number"),
    "infinite": (("forward", "x.npy", "--scales", "inf", "-o", "y.npy"), "a positive number"),
    "no scale": (("forward", "x.npy", "--scales", "0", "-o", "y.npy"), "a positive number"),
    "to nothing": (
        ("forward", "x.npy", "--scales", "0.01", "--rule", "torch", "-o", "y.npy"), "output_size",
    ),
    "no size": (("forward", "x.npy", "-o", "y.npy"), "--output-size, --scales, or both"),
    "no input size": (("backward", "x.npy", "-o", "y.npy"), "--input-size"),
    "no output": (("forward", "x.npy", "--scales", "2"), "-o"),
    "no such op": (("forward", "x.npy", "--op", "cubic", *TWICE), "trilinear"),
    "corners of nearest": (
        ("forward", "x.npy", "--op", "nearest", "--align-corners", *TWICE), "--align-corners",
    ),
    "no such dtype": (("forward", "x.npy", "--dtype", "int8", *TWICE), "int8"),
    "output suffix": (("forward", "x.npy", "--scales", "2", "-o", "y.tif"), "y.tif: has an unk"),
    "output folder": (("forward", "x.npy", "--scales", "2", "-o", "folder.npy"), "is a folder"),
    "no folder": (("forward", "x.npy", "--scales", "2", "-o", "no/y.npy"), "no folder no"),
    "exists": (
        ("forward", "x.npy", "--scales", "2", "-o", "x.nii"),
        "upsample3d: x.nii exists already; --force replaces it\n",
    ),
    "type for nifti": (
        ("forward", "dates.npy", "--op", "nearest", "--scales", "2", "-o", "y.nii"),
        "NIfTI does not know elements of type datetime64[s]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_one_line_and_status_2(folder, mistake):
    np.save(folder / "dates.npy", np.zeros((3, 4, 5), "M8[s]"))
    arguments, told = MISTAKES[mistake]
    assert told in refused(folder, *arguments)


@pytest.mark.parametrize("damage", ["cut", "head", "void"])
@pytest.mark.parametrize("suffix", ["npy", "npz", "nii", "nii.gz"])
def test_truncated_files(folder, damage, suffix):
    name = f"{damage}.{suffix}"
    assert refused(folder, "forward", name, *TWICE).startswith(f"upsample3d: {name}: ")


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="no /sys here")
def test_no_permission_to_write(folder):
    """Not even root may make files there."""
    line = refused(folder, "forward", "x.npy", "--scales", "2", "-o", "/sys/kernel/y.npy")
    assert "/sys/kernel/y.npy: " in line


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission_to_read(folder):
    (folder / "x.npy").chmod(0)
    assert "Permission denied" in run(folder, "forward", "x.npy", *TWICE).stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_devices_are_not_replaced(folder):
    (folder / "y.npy").symlink_to("/dev/full")
    line = refused(folder, "forward", "x.npy", *TWICE, "--force")
    assert "not a regular file" in line
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize("suffix", ["npy", "npz", "nii", "nii.gz"])
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_file_beyond_the_limit_leaves_nothing(folder, suffix, force):
    """The system refuses to write on, after the first part of the file: as a full disk does."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))

    name = f"x.{suffix}" if force else f"y.{suffix}"
    line = refused(folder, "forward", "x.npy", "--scales", 4, "-o", name, *force, preexec_fn=limit)
    assert line == f"upsample3d: {name}: File too large\n"


def mounts() -> bool:
    """Whether a small disk can be had for a test."""
    tool = shutil.which("unshare")
    made = tool and subprocess.run(
        [tool, "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True
    )
    return bool(made) and made.returncode == 0


@pytest.mark.skipif(not mounts(), reason="no file system may be mounted here")
@pytest.mark.parametrize("suffix", ["npy", "npz", "nii", "nii.gz"])
def test_full_disk_leaves_nothing(folder, suffix):
    (folder / "disk").mkdir()
    script = (
        "mount -t tmpfs -o size=64k none disk && "
        f'"$@" forward x.npy --scales 8 -o disk/y.{suffix}; status=$?; ls -A disk; exit $status'
    )
    done = subprocess.run(
        [shutil.which("unshare"), "-rm", "sh", "-c", script, "sh", *COMMAND],
        cwd=folder, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == f"upsample3d: disk/y.{suffix}: No space left on device\n"


def test_console_script_is_installed(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((2, 2, 2), np.float32))
    script = Path(sys.executable).with_name("upsample3d")
    done = subprocess.run(
        [script, "forward", "x.npy", *TWICE], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "y.npy: 4 x 4 x 4, float32\n"
    assert np.array_equal(np.load(tmp_path / "y.npy"), np.ones((4, 4, 4), np.float32))


@pytest.mark.parametrize("command", ["forward", "backward", "demo", "check"])
def test_examples_of_the_help_work(tmp_path, command):
    """Each command that a help shows, on files of those names."""
    shown = run(tmp_path, command, "--help").stdout.split("\nexample", 1)[1]
    lines = shown.replace("\\\n", " ").splitlines()[1:]
    assert lines
    scan = nibabel.Nifti1Image(np.random.default_rng(0).random((8, 8, 8), np.float32), np.eye(4))
    mask = nibabel.Nifti1Image(np.ones((8, 8, 8), np.uint8), np.eye(4))
    scan.to_filename(tmp_path / "scan.nii.gz")
    mask.to_filename(tmp_path / "mask.nii.gz")
    np.save(tmp_path / "gradient.npy", np.ones((128, 128, 64), np.float32))
    for line in lines:
        program, *arguments = line.split()
        assert program == "upsample3d"
        done = run(tmp_path, *arguments)
        assert done.returncode == 0, (line, done.stderr)
