# SPDX-License-Identifier: Apache-2.0
"""Places for new files, which are seen when they are whole.

A new file grows beside its place, hidden, and takes it when it is whole: nothing half-written is
ever seen under its name, and of two that want the same place at once one is refused.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO

from .process import undone_at_end


def check_place(path: Path, force: bool = True) -> None:
    """Refuses a place where no file can be written, before any work is done for it.

    force: whether a file that is there already may be replaced.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder, wanted a file")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}")
    if not force and os.path.lexists(path):
        raise FileExistsError(_taken(path))
    _check_writable(path, path if path.exists() else path.parent)


def _check_writable(path: Path, needed: Path) -> None:
    if os.access(needed, os.W_OK):
        return
    if hasattr(os, "statvfs") and os.statvfs(needed).f_flag & os.ST_RDONLY:
        raise PermissionError(f"{path}: cannot be written, its file system is read-only")
    what = "it" if needed == path else f"the folder {needed}"
    raise PermissionError(f"{path}: cannot be written, there is no permission to change {what}")


def _taken(path: Path) -> str:
    return f"{path} exists already; force=True replaces it"


@contextmanager
def replacing(path: Path, force: bool) -> Iterator[IO[bytes]]:
    """A new file that takes the place `path` when the block ends well, and else is gone.

    force: whether it may replace a file, whose owner, permissions and attributes it then gets;
    other hard links keep the old one. OSError: the system cannot write.
    """
    check_place(path, force)
    place = Path(os.path.realpath(path))  # not a link is replaced, but what it points to
    replaced = place.exists()
    if replaced and not place.is_file():
        raise OSError(f"{path}: is not a regular file, wanted one")
    _check_writable(path, place.parent)
    beside = place.with_name(f".upsample3d.{secrets.token_hex(8)}")  # fits, whatever the name
    # What replaces a file that others may not read must not be read by them while it grows.
    opener = partial(os.open, mode=0o600 if replaced else 0o666)
    with undone_at_end(remove := partial(beside.unlink, missing_ok=True)):
        try:
            with open(beside, "xb", opener=opener) as file:
                if replaced:
                    _liken(beside, place)
                yield file
            beside.replace(place) if force else _move(beside, place)
        except FileExistsError:
            raise FileExistsError(_taken(path)) from None
        except OSError as failure:
            if failure.errno is None:  # it has a name already
                raise
            raise type(failure)(f"{path}: {failure.strerror}") from failure
        finally:
            remove()


def _liken(new: Path, old: Path) -> None:
    """Gives a file what another has around its content, as far as the system lets us.

    Who could not open the old one cannot open the new one: where the group stays another, it gets
    what others have.
    """
    was = old.stat()
    mode = stat.S_IMODE(was.st_mode) & 0o777
    if hasattr(os, "chown"):
        for owner in (was.st_uid, -1):
            with suppress(OSError):
                os.chown(new, owner, was.st_gid)
                break
        else:
            mode = mode & 0o707 | (mode & 0o007) << 3
    with suppress(OSError):
        shutil.copystat(old, new)
        new.chmod(mode)


def _move(beside: Path, place: Path) -> None:
    """Renames a file where nothing has that name; FileExistsError where something has."""
    try:
        os.link(beside, place)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: an empty file takes the name first
        place.open("xb").close()
        try:
            beside.replace(place)
        except BaseException:
            place.unlink()
            raise
