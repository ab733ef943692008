# SPDX-License-Identifier: Apache-2.0
"""The command line as a user meets it: what the demo finds and draws, how mistakes are told."""

import os
import re
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import nibabel
import numpy as np
import pytest

import upsample3d as up
from upsample3d.commands import main as command
from upsample3d.demo import picture

SCAN = Path(nibabel.__file__).parent / "tests" / "data" / "example4d.nii.gz"


def run(folder, *arguments, **environment):
    """A finished `python -m upsample3d …`, run in a folder of its own."""
    return subprocess.run(
        [sys.executable, "-m", "upsample3d", *map(str, arguments)],
        cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=120,
        errors="surrogateescape",
    )  # fmt: skip


def numbers(pattern, text):
    """The floats in the groups of a pattern that the text has to hold."""
    return [float(group) for group in re.search(pattern, text).groups()]


def size_of_png(path):
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", content[16:24])


@pytest.mark.long
@pytest.mark.parametrize("size", [32, 27])
def test_phantom_is_recovered(tmp_path, size):
    done = run(tmp_path, "demo", "--size", size)
    assert done.returncode == 0, done.stderr
    assert numbers(r"relative difference (\S+),", done.stdout)[0] <= 1e-6
    first, last = numbers(r"misfit .* (\S+) -> (\S+), PSNR", done.stdout)
    assert last < first / 50
    before, after = numbers(r"PSNR (\S+) -> (\S+) dB", done.stdout)
    assert after > before + 1.5
    assert size_of_png(tmp_path / "upsample3d-demo.png") == picture.PIXELS
    assert done.stdout.splitlines()[-1].startswith("It worked: ")
    assert "Traceback" not in done.stderr

    bar = [float(text) for text in re.findall(r"misfit (\S+)\]", done.stderr)]
    assert bar[-1] < first / 50

    row = r"^ +(\w+) +(float32|bfloat16) +(\w+) +(\d+) +(\S+) +(\S+) +(\S+)"
    rates = re.findall(row, done.stdout, re.M)
    assert len(rates) == 9
    assert all(1 <= int(rate[3]) <= up.get_num_threads() for rate in rates)
    assert all(float(number) > 0 for rate in rates for number in rate[3:])


@pytest.mark.long
def test_real_scan_is_recovered(tmp_path):
    done = run(tmp_path, "demo", "--volume", SCAN, "--output", "scan.png", "--steps", 30)
    assert done.returncode == 0, done.stderr
    assert "1 x 2 x 128 x 96 x 24" in done.stdout
    assert "g 1 x 2 x 256 x 192 x 48" in done.stdout
    assert numbers(r"relative difference (\S+),", done.stdout)[0] <= 1e-6
    first, last = numbers(r"misfit .* (\S+) -> (\S+), PSNR", done.stdout)
    assert last < first / 100
    before, after = numbers(r"PSNR (\S+) -> (\S+) dB", done.stdout)
    assert after > before + 2
    assert size_of_png(tmp_path / "scan.png") == picture.PIXELS


@pytest.mark.long
@pytest.mark.parametrize("name", ["a$b.npy", "\u6f22.npy", os.fsdecode(b"\xff.npy")])
def test_npy_volume_works_whatever_its_name(tmp_path, name):
    with (tmp_path / name).open("wb") as file:
        np.save(file, np.arange(4 * 5 * 6, dtype=">i2").reshape(4, 5, 6) ** 2 % 101)
    done = run(tmp_path, "demo", "--volume", name, "--output", "b.png", "--steps", 5)
    assert done.returncode == 0, done.stderr
    # Matplotlib before 3.10.8 deplores today's pyparsing.
    told = [line for line in done.stderr.splitlines() if "classic.mplstyle" not in line]
    assert all("Recovering" in line for line in told if line), "only the bar"
    assert size_of_png(tmp_path / "b.png") == picture.PIXELS


@pytest.mark.long
def test_without_matplotlib_says_how_to_get_it(tmp_path):
    absent(tmp_path, "matplotlib")
    done = run(tmp_path, "demo", "--size", 16, "--steps", 5)
    assert done.returncode == 0, done.stderr
    assert "pip install matplotlib" in done.stdout
    assert not (tmp_path / "upsample3d-demo.png").exists()


def test_without_nibabel_says_how_to_get_it(tmp_path):
    absent(tmp_path, "nibabel")
    assert "pip install nibabel" in refused(tmp_path, "demo", "--volume", SCAN)


def absent(folder, module):
    """Hides an installed module from the commands that run in the folder."""
    (folder / f"{module}.py").write_text(f"raise ModuleNotFoundError(name={module!r})\n")


def refused(folder, *arguments):
    """The one line on stderr of a command that ends with status 2."""
    done = run(folder, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("upsample3d")
    return done.stderr


def nan_volume():
    volume = np.ones((6, 6, 6), np.float32)
    volume[1, 2, 3] = np.nan
    return volume


@pytest.mark.parametrize(
    ("volume", "told"),
    [
        (nan_volume(), "NaN or infinite"),
        (np.full((6, 6, 6), 1e300), "NaN or infinite"),
        (np.full((6, 6, 6), 7), "the value 7 only"),
        (np.ones((6, 3, 6)), "6 x 3 x 6 voxels, wanted 4 or more"),
        (np.ones((6, 6)), "2 axes (6, 6)"),
        (np.ones((6, 6, 6), complex), "complex128"),
    ],
    ids=["nan", "beyond-float32", "constant", "small", "flat", "complex"],
)
def test_volumes_of_no_use_are_refused(tmp_path, volume, told):
    np.save(tmp_path / "x.npy", volume)
    line = refused(tmp_path, "demo", "--volume", "x.npy")
    assert "x.npy" in line
    assert told in line


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "COMMAND"),
        (("dmeo",), "dmeo"),
        (("demo", "--size", "3"), "wanted 4 to 512"),
        (("demo", "--size", "many"), "many"),
        (("demo", "--size", "513"), "wanted 4 to 512"),
        (("demo", "--steps", "0"), "wanted 1 or more"),
        (("demo", "--volume", "missing.npy"), "missing.npy: No such file"),
        (("demo", "--volume", "."), "directory"),
        (("demo", "--volume", "notes.txt"), "wanted one of .npy, .npz, .nii, .nii.gz"),
        (("demo", "--output", "nowhere/x.png"), "nowhere"),
        (("demo", "--output", "."), "folder"),
    ],
)
def test_mistakes_are_one_line_and_status_2(tmp_path, arguments, told):
    (tmp_path / "notes.txt").write_text("not a volume")
    assert told in refused(tmp_path, *arguments)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_full_disk_is_told(tmp_path):
    done = run(tmp_path, "demo", "--size", 16, "--steps", 3, "--output", "/dev/full")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "upsample3d: /dev/full: No space left on device"


def test_interrupt_ends_the_process_as_the_shell_expects(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "upsample3d", "demo", "--size", "32", "--steps", "1000000"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.stderr.read(200)  # the bar has begun
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT
    assert "Traceback" not in told
    assert told.splitlines()[-1] == "interrupted"


@pytest.mark.parametrize("arguments", [["info"], ["demo", "--size", "8", "--steps", "2"]])
def test_closed_pipe_is_quiet(tmp_path, arguments):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "upsample3d", *arguments],
        cwd=tmp_path, stdout=write, stderr=subprocess.PIPE, text=True, timeout=60,
    )  # fmt: skip
    os.close(write)
    assert done.returncode == 1
    assert "pipe" not in done.stderr.lower()


def test_info_tells_what_build_info_knows(capsys):
    assert command.main(["info"]) == 0
    told, about = capsys.readouterr().out, up.build_info()
    for known in (about["version"], about["level"], about["compiler"], *about["levels"]):
        assert known in told
    assert re.search(rf"^threads +{up.get_num_threads()}$", told, re.M)
    assert re.search(r"^OpenMP +\w+", told, re.M)


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"], ["--version"]])
def test_help_is_status_0(capsys, arguments):
    assert command.main(arguments) == 0
    assert "upsample3d" in capsys.readouterr().out
