# SPDX-License-Identifier: Apache-2.0
"""The process of the command line: its signals, its standard streams, its warnings."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn, TextIO

NAMES = (
    "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGTERM", "SIGSTKFLT",
    "SIGXCPU", "SIGVTALRM", "SIGPROF", "SIGPOLL", "SIGPWR",
)  # fmt: skip
"""Signals that end a process by default, without those that say that the process itself failed."""

ENDING = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
if hasattr(signal, "SIGRTMIN"):
    ENDING += range(signal.SIGRTMIN, signal.SIGRTMAX + 1)

WORDS: dict[int, str] = {signal.SIGINT: "interrupted"}
"""What is said of a signal where the system's word will not do."""

_undoing: list[Callable[[], object]] = []


@contextmanager
def undone_at_end(undo: Callable[[], object]) -> Iterator[None]:
    """Where a signal ends the command line meanwhile, `undo` is called first; it may be twice."""
    _undoing.append(undo)
    try:
        yield
    finally:
        _undoing.remove(undo)


@contextmanager
def owned() -> Iterator[None]:
    """The process is the command line's meanwhile, until its end.

    Signals that end a process by default still do, once what is half-done is undone. Standard
    streams that are closed lead nowhere, others never fail, whatever they are to print.
    """
    _open_descriptors()
    sys.stdout, sys.stderr = _unfailing(sys.stdout), _unfailing(sys.stderr)
    heard = [number for number in ENDING if _is_ours(number)]
    for number in heard:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, signal.SIG_DFL)


def _is_ours(number: int) -> bool:
    """Whether nobody handles or ignores the signal, as `nohup` does, and this thread may."""
    mine = threading.current_thread() is threading.main_thread()
    return mine and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """Dies of a signal, as those who wait for the process expect it to."""
    for other in ENDING:
        if signal.getsignal(other) is _end:
            signal.signal(other, signal.SIG_IGN)
    for undo in reversed(_undoing):
        with suppress(Exception):
            undo()
    with suppress(Exception):  # a stream that was busy when the signal came
        print(WORDS.get(number) or name_of(number), file=sys.stderr, flush=True)
        sys.stdout.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)  # where the system spares it: the first process of a container


def name_of(number: int) -> str:
    """The system's word for a signal, such as "terminated"."""
    return (signal.strsignal(number) or f"signal {number}").lower()


def _open_descriptors() -> None:
    """Opens 0, 1 and 2 where the shell closed them: a file with such a number is written to."""
    for wanted in range(3):
        try:
            os.fstat(wanted)
        except OSError:
            found = os.open(os.devnull, os.O_RDWR)
            if found != wanted:
                os.dup2(found, wanted)
                os.close(found)


class Unfailing(io.TextIOWrapper):
    """A standard stream; what it cannot write goes nowhere, and `failure` says why."""

    failure: OSError | None = None

    def write(self, text: str) -> int:
        """Writes; never raises an OSError."""
        with self._failing():
            super().write(text)
        return len(text)

    def flush(self) -> None:
        """Flushes; never raises an OSError."""
        with self._failing():
            super().flush()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except OSError as failure:
            self.failure = self.failure or failure
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)


def _unfailing(stream: TextIO | None) -> TextIO:
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    return Unfailing(
        stream.buffer,
        stream.encoding,
        "backslashreplace" if stream.errors == "strict" else stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def unprinted() -> OSError | None:
    """Why what was printed did not arrive, if so."""
    if sys.stdout is not None:
        sys.stdout.flush()
    return getattr(sys.stdout, "failure", None)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """The package's warnings are one line each, and those of libraries are not printed.

    Where Python was told what to do with warnings (-W, -X dev), it does that instead, but for how
    the package's are printed.
    """
    with warnings.catch_warnings():
        shown = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if category.__module__.partition(".")[0] == __package__.partition(".")[0]:
                say(f"warning: {message}")
            elif sys.warnoptions:
                shown(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        if not sys.warnoptions:
            warnings.simplefilter("always")
        yield


def say(text: object) -> None:
    """One line on stderr, where there is one."""
    if sys.stderr is not None:  # else print() would take stdout
        print(f"upsample3d: {' '.join(str(text).split())}", file=sys.stderr)
