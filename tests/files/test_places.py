# SPDX-License-Identifier: Apache-2.0
"""Places of new files: who takes them, what of the replaced file stays, what is left on the way."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import threading
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from upsample3d import volumes
from upsample3d.files import formats, places

X = np.random.default_rng(0).random((6, 7, 8), dtype=np.float32)


def put(path: Path, content: bytes, force: bool = False) -> None:
    with places.replacing(path, force) as file:
        file.write(content)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o022, 0o077])
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.parametrize("was", [0o600, 0o640, 0o664, 0o755])
def test_permissions_stay(folder, umask, was):
    put(folder / "x", b"old")
    assert mode(folder / "x") == 0o666 & ~umask
    (folder / "x").chmod(was)
    with places.replacing(folder / "x", True) as file:
        (growing,) = folder.glob(".*")
        assert mode(growing) & 0o077 & ~was == 0, "what grows is open to no more than the old file"
        file.write(b"new")
    assert (folder / "x").read_bytes() == b"new"
    assert mode(folder / "x") == was


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_stays(folder):
    put(folder / "x", b"old")
    os.chown(folder / "x", 1234, 4321)
    put(folder / "x", b"new", force=True)
    found = (folder / "x").stat()
    assert (found.st_uid, found.st_gid) == (1234, 4321)


@pytest.mark.parametrize(("was", "kept"), [(0o660, 0o600), (0o674, 0o644), (0o644, 0o644)])
def test_a_group_that_cannot_be_kept_gives_nothing_to_another(folder, monkeypatch, was, kept):
    put(folder / "x", b"old")
    (folder / "x").chmod(was)

    def refuse(*_):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "chown", refuse)
    put(folder / "x", b"new", force=True)
    assert mode(folder / "x") == kept


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes here")
def test_attributes_stay(folder):
    put(folder / "x", b"old")
    try:
        os.setxattr(folder / "x", "user.study", b"7")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    put(folder / "x", b"new", force=True)
    assert os.getxattr(folder / "x", "user.study") == b"7"


def test_links_lead_to_what_is_replaced(folder):
    put(folder / "x", b"old")
    (folder / "x").chmod(0o600)
    (folder / "soft").symlink_to("x")
    with pytest.raises(FileExistsError, match=r"soft exists already; force=True replaces it$"):
        put(folder / "soft", b"new")
    put(folder / "soft", b"new", force=True)
    assert (folder / "soft").readlink() == Path("x")
    assert ((folder / "x").read_bytes(), mode(folder / "x")) == (b"new", 0o600)

    (folder / "hard").hardlink_to(folder / "x")
    put(folder / "x", b"newer", force=True)
    assert ((folder / "hard").read_bytes(), (folder / "x").read_bytes()) == (b"new", b"newer")

    (folder / "dangling").symlink_to("later")
    with pytest.raises(FileExistsError, match="dangling exists already"):
        put(folder / "dangling", b"new")
    put(folder / "dangling", b"new", force=True)
    assert (folder / "later").read_bytes() == b"new"


def without_links(source, target):
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


@pytest.mark.parametrize("link", [os.link, without_links], ids=["links", "no-links"])
def test_a_place_that_is_taken_at_the_last_moment_is_left_alone(folder, monkeypatch, link):
    """The moment is that of the first call which would give the file its name."""

    def late(source, target):
        Path(target).write_bytes(b"theirs")
        return link(source, target)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(FileExistsError, match=r"x exists already; force=True replaces it$"):
        put(folder / "x", b"ours")
    assert (folder / "x").read_bytes() == b"theirs"


@pytest.mark.parametrize("link", [os.link, without_links], ids=["links", "no-links"])
def test_of_many_at_once_one_wins(folder, monkeypatch, link):
    monkeypatch.setattr(os, "link", link)
    rounds, count = 50, 4
    start, won = threading.Barrier(count), []

    def run(who: int) -> None:
        for number in range(rounds):
            start.wait()
            try:
                put(folder / f"x{number}", b"%d" % who)
                won.append((number, b"%d" % who))
            except FileExistsError:
                pass

    threads = [threading.Thread(target=run, args=(who,)) for who in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(number for number, _ in won) == Counter(range(rounds))
    assert all((folder / f"x{number}").read_bytes() == who for number, who in won)


def test_without_links_a_failure_leaves_nothing(folder, monkeypatch):
    def broken(source, target):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "link", without_links)
    monkeypatch.setattr(Path, "replace", broken)
    with pytest.raises(OSError, match="x: Input/output error"):
        put(folder / "x", b"new")
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    "name",
    [b"a" * 251, ("\u6f22" * 83).encode(), b"\xff" * 251, "\U0001f9e0".encode() * 62],
    ids=["ascii", "three-bytes", "no-text", "four-bytes"],
)
@pytest.mark.parametrize("force", [False, True])
def test_every_name_that_the_system_takes(folder, name, force):
    """255 bytes with the suffix, the most on Linux, but for the last."""
    path = folder / os.fsdecode(name + b".npy")
    np.save(folder / "x.npy", X)
    if force:
        path.touch()
    volumes.forward(folder / "x.npy", path, scales=1, force=force)
    with path.open("rb") as file:
        assert np.array_equal(np.load(file), X)


def test_a_folder_that_may_not_be_changed_is_named(folder, monkeypatch):
    put(folder / "x", b"old")
    for denied, told in ((folder, f"to change the folder {folder}"), (folder / "x", "change it")):
        monkeypatch.setattr(os, "access", lambda path, how, denied=denied: path != denied)
        with pytest.raises(PermissionError, match=f"x: cannot be written, .*{told}"):
            put(folder / "x", b"new", force=True)
    assert (folder / "x").read_bytes() == b"old"


def interrupted(path: Path, at: int) -> tuple[bool, int, list[str]]:
    """Writes a file and is interrupted at a call: whether, all calls, what Python had to ignore."""
    ignored, calls = [], 0
    ours = (formats.__file__, places.__file__, zipfile.__file__, contextlib.__file__)

    def spared(frame):
        """Objects of zipfile that are half made or are being collected are not ours to mend."""
        while frame and frame.f_code.co_name not in ("__init__", "__del__"):
            frame = frame.f_back
        return frame is not None and frame.f_code.co_filename in ours

    def hook(frame, event, argument):
        nonlocal calls
        if event != "return" and frame.f_code.co_filename in ours and not spared(frame):
            calls += 1
            if calls == at:
                raise KeyboardInterrupt

    was, sys.unraisablehook = sys.unraisablehook, lambda told: ignored.append(repr(told.object))
    try:
        sys.setprofile(hook)
        with formats.writing(path, X.shape, X.dtype, False, None, False) as write:
            write(X)
        sys.setprofile(None)
        return False, calls, ignored
    except KeyboardInterrupt:
        return True, calls, ignored
    finally:
        sys.setprofile(None)
        sys.unraisablehook = was


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # between open() and what keeps its file
@pytest.mark.parametrize("suffix", ["npy", "npz", "nii.gz"])
def test_an_interrupt_at_any_moment_is_heard_and_leaves_nothing(tmp_path, suffix):
    """In a script: it stays a KeyboardInterrupt, and nothing of a half-closed file is printed."""
    path = tmp_path / f"x.{suffix}"
    _, total, _ = interrupted(path, -1)
    assert total > 50
    path.unlink()
    for at in range(1, total):
        was, _, ignored = interrupted(path, at)
        assert was, at
        assert ignored == [], at
        left = [found.name for found in tmp_path.iterdir()]
        assert left in ([], [path.name]), at  # the name is taken in one step
        path.unlink(missing_ok=True)
