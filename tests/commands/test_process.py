# SPDX-License-Identifier: Apache-2.0
"""The command line as a process: closed and full streams, names, warnings."""

from __future__ import annotations

import os
import shlex
import shutil
import struct
import subprocess
import sys
import warnings
from pathlib import Path

import nibabel
import numpy as np
import pytest

from upsample3d import volumes
from upsample3d.commands import main as command

COMMAND = [sys.executable, "-m", "upsample3d"]
TWICE = ["forward", "x.npy", "--scales", "2", "-o", "y.npy"]
CHECK = ["check", "--op", "nearest_exact_backward", "--grad-output-shape", "1,8,64,64,64",
         "--input-size", "1,8,32,32,32"]  # fmt: skip
X = np.random.default_rng(0).random((3, 4, 5), dtype=np.float32)


@pytest.fixture
def folder(tmp_path):
    """A folder with a small volume."""
    np.save(tmp_path / "x.npy", X)
    return tmp_path


def run(folder, *arguments, **environment):
    return subprocess.run(
        [*COMMAND, *arguments], cwd=folder, env=os.environ | environment, capture_output=True,
        text=True, timeout=120,
    )  # fmt: skip


def shell(folder, line, *arguments):
    """What `line` prints, in which "$@" is the command."""
    return subprocess.run(
        ["sh", "-c", line, "sh", *COMMAND, *arguments], cwd=folder, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    "closed", ["2>&-", ">&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full", "> /dev/full"]
)
def test_whatever_happens_to_streams_the_work_is_done(folder, closed):
    done = shell(folder, f'"$@" {closed}', *TWICE)
    assert done.returncode == 0
    assert done.stdout == (
        "" if closed.startswith((">", "<&- >")) else "y.npy: 6 x 8 x 10, float32\n"
    )
    assert done.stderr == ("upsample3d: cannot print: No space left on device\n"
                           if closed == "> /dev/full" else "")  # fmt: skip
    wanted = volumes.forward(folder / "x.npy", folder / "z.npy", scales=2)
    assert wanted.shape == (6, 8, 10)
    assert (folder / "y.npy").read_bytes() == (folder / "z.npy").read_bytes()


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["info"], 1), (["--help"], 1), (CHECK, 2)],
    ids=["info", "help", "check"],
)
def test_text_that_is_the_work_is_missed(folder, arguments, status):
    """A status of 1 would be an answer of `check`."""
    for environment in ("", "PYTHONUNBUFFERED=1 "):
        done = shell(folder, f'{environment}"$@" > /dev/full', *arguments)
        assert done.returncode == status
        assert done.stderr == "upsample3d: cannot print: No space left on device\n"
        assert shell(folder, f'{environment}"$@" > /dev/full 2>&1', *arguments).returncode == status


@pytest.mark.long
@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-", "2>/dev/full"])
def test_mistakes_keep_their_status(folder, closed):
    assert shell(folder, f'"$@" {closed}', "forward", "no.npy", *TWICE[2:]).returncode == 2
    assert shell(folder, f'"$@" {closed}', "forward").returncode == 2


@pytest.mark.parametrize(
    ("arguments", "status"), [(TWICE, 0), (CHECK, 2), (["--help"], 1), (["nonsense"], 2)]
)
@pytest.mark.parametrize("both", [False, True])
def test_closed_pipe(folder, arguments, status, both):
    """More in test_demo.py."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*COMMAND, *arguments], cwd=folder, stdout=write,
        stderr=write if both else subprocess.PIPE, text=True, timeout=60,
    )  # fmt: skip
    os.close(write)
    assert done.returncode == status
    if not both and status != 2:
        assert done.stderr == ""


def test_files_get_no_numbers_of_streams(tmp_path):
    """What the runtime of OpenMP says on descriptor 2 would go into such a file."""
    program = (
        "import os; from upsample3d.files import process; process._open_descriptors();"
        "open('number', 'w').write(str(os.open('number', os.O_RDONLY)))"
    )
    line = f"{sys.executable} -c {shlex.quote(program)} <&- >&- 2>&-"
    subprocess.run(["sh", "-c", line], cwd=tmp_path, check=True, timeout=60)
    assert int((tmp_path / "number").read_text()) > 2


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("ascii", "größe.npy"),
        ("ascii:strict", os.fsdecode(b"\xff.npy")),
        ("latin1", "\u6f22.npy"),
        ("utf-8", os.fsdecode(b"\xff.npy")),
    ],
)
def test_names_are_printed_somehow(folder, encoding, name):
    done = subprocess.run(
        [*COMMAND, *TWICE[:-1], name], cwd=folder, capture_output=True, timeout=60,
        env=os.environ | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "1"},
    )  # fmt: skip
    coded = name.encode(encoding.partition(":")[0], "backslashreplace")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == coded + b": 6 x 8 x 10, float32\n"
    assert os.fsencode(name) in os.listdir(os.fsencode(folder))


# Warnings and mistakes


def npy(described: bytes, held: bytes) -> bytes:
    header = described.ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + held


OF_PYTHON_2 = b"{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 4L, 5L), }"


def test_what_libraries_say_is_not_printed(folder):
    (folder / "x.npy").write_bytes(npy(OF_PYTHON_2, X.tobytes()))
    done = run(folder, *TWICE)
    assert (done.returncode, done.stderr) == (0, "")
    told = run(folder, *TWICE, "--force", PYTHONWARNINGS="default")
    assert told.returncode == 0
    assert "Python 2" in told.stderr, "asked for, it is"


def nifti(dims, extension=b"", scale=b""):
    """The bytes of a .nii file whose header says what the file does not hold."""
    header = nibabel.Nifti1Header()
    header["dim"], header["datatype"], header["bitpix"] = dims, 16, 32
    header["magic"], header["vox_offset"] = b"n+1", 352 + len(extension)
    return header.binaryblock + (b"\1\0\0\0" if extension else bytes(4)) + extension


HOSTILE = {
    "huge.npy": npy(
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 4, 5), }" % 2**62, b""
    ),
    "old.npy": npy(OF_PYTHON_2.replace(b"3L", b"3000L"), X.tobytes()),
    "broken.npy": npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 4L, }", b""),
    "huge.nii": nifti([5, *[32767] * 5, 1, 1]),
    "size.nii": nifti([3, 300, 400, 500, 1, 1, 1, 1], struct.pack("<ii", 24, 6) + bytes(16)),
    "uneven.nii": nifti([3, 300, 400, 500, 1, 1, 1, 1], struct.pack("<ii", 13, 6) + bytes(5)),
    "endless.nii": nifti([3, 3, 4, 5, 1, 1, 1, 1], struct.pack("<ii", 2**30, 6) + bytes(16)),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize(
    "arguments", [TWICE, ["demo", "--volume", "x.npy"]], ids=["forward", "demo"]
)
def test_mistakes_are_one_line_whatever_libraries_say(tmp_path, name, arguments):
    (tmp_path / name).write_bytes(HOSTILE[name])
    done = run(tmp_path, *(name if word == "x.npy" else word for word in arguments))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"upsample3d: {name}: ")
    assert done.stderr.count("\n") == 1
    assert names(tmp_path) == [name]


class Remark(UserWarning):
    """One as the package's own are."""


Remark.__module__ = "upsample3d.somewhere"


@pytest.mark.parametrize("options", [[], ["default"], ["error"]])
def test_our_warnings_are_one_line_each(monkeypatch, capsys, options):
    def warn(_):
        for text in ("a map of labels\nis interpolated", "another"):
            warnings.warn(text, Remark, stacklevel=2)
        warnings.warn("of a library", RuntimeWarning, stacklevel=2)
        return 0

    monkeypatch.setattr(sys, "warnoptions", options)
    monkeypatch.setattr(command, "run_info", warn)
    shown = []
    with warnings.catch_warnings():
        warnings.simplefilter(options[0] if options else "error")
        warnings.showwarning = python = lambda *told: shown.append(told[0])
        status = command.main(["info"])
        assert warnings.showwarning is python
    told = capsys.readouterr().err.splitlines()
    if options == ["error"]:  # asked for: a warning is a mistake
        assert (status, told) == (2, ["upsample3d: a map of labels is interpolated"])
        return
    assert status == 0
    assert told == [
        "upsample3d: warning: a map of labels is interpolated",
        "upsample3d: warning: another",
    ]
    assert [str(warning) for warning in shown] == (["of a library"] if options else [])


@pytest.mark.parametrize("start", [COMMAND, [str(Path(sys.executable).with_name("upsample3d"))]])
def test_a_wrong_level_is_one_line(tmp_path, start):
    """A traceback in Python: test_levels.py."""
    done = subprocess.run(
        [*start, "info"], cwd=tmp_path, env=os.environ | {"UPSAMPLE3D_LEVEL": "v9"},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "upsample3d: UPSAMPLE3D_LEVEL='v9' cannot be had here; possible: "
    )
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("file", "out", "told"),
    [
        ("pipe.npy", "y.npy", "pipe.npy: is not a regular file"),
        ("/dev/null", "y.npy", "/dev/null: is not a regular file"),
        ("x.npy", "pipe.npy", "pipe.npy: is not a regular file"),
        ("x.npy", "null.npy", "null.npy: is not a regular file"),
        ("x.npy", "/dev/stdout", "/dev/stdout: has an unknown suffix"),
        ("x.npy", "a" * 300 + ".npy", "a" * 300 + ".npy: File name too long"),
        ("a" * 300 + ".npy", "y.npy", "a" * 300 + ".npy: File name too long"),
        ("x.npy", "x.npy/y.npy", "x.npy/y.npy: there is no folder x.npy"),
    ],
)
def test_files_that_are_none_are_named(folder, file, out, told):
    os.mkfifo(folder / "pipe.npy")  # nobody writes: to open it would wait for ever
    (folder / "null.npy").symlink_to(os.devnull)
    done = run(folder, "forward", file, "--scales", "2", "-o", out, "--force")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"upsample3d: {told}")
    assert done.stderr.count("\n") == 1


def test_a_read_only_file_system_is_named(folder):
    script = "mkdir disk; mount -t tmpfs none disk; mount -o remount,ro disk && "
    tool = shutil.which("unshare")
    if (
        tool is None
        or subprocess.run(
            [tool, "-rm", "sh", "-c", f"{script} true"], cwd=folder, capture_output=True
        ).returncode
    ):
        pytest.skip("no file system may be mounted here")
    done = subprocess.run(
        [tool, "-rm", "sh", "-c", script + '"$@"', "sh", *COMMAND, *TWICE[:-1], "disk/y.npy"],
        cwd=folder, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 2
    told = "upsample3d: disk/y.npy: cannot be written, its file system is read-only"
    assert [line for line in done.stderr.splitlines() if "mkdir" not in line] == [told]
