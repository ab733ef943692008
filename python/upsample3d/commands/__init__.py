# SPDX-License-Identifier: Apache-2.0
"""The command line. Ctrl-C while it starts ends its process at once, as there is nothing to undo.

Python's own way is an exception, which is lost where it meets a callback of the import system: the
command would run on. Imported before all else, so it imports no more than Python has already:
`_signal` is what `signal` is made of.
"""

import _signal  # type: ignore[import-not-found]
import sys

_PACKAGE = __name__.partition(".")[0]


def is_command() -> bool:
    """Whether `python -m upsample3d` or the script `upsample3d` started this process."""
    if sys.argv[:1] == ["-m"]:  # until the module is found, which comes after its package
        return sys.orig_argv[-len(sys.argv)].removeprefix("-m") == _PACKAGE
    name = sys.argv[0].replace("\\", "/").rpartition("/")[2] if sys.argv else ""
    return name.removesuffix(".exe") == _PACKAGE


def refuse(failure: ImportError) -> None:
    """Ends the command line with one line on stderr; returns where the process is another's."""
    if is_command():
        if sys.stderr is not None:
            print(f"upsample3d: {failure}", file=sys.stderr)
        sys.exit(2)


def _let_end() -> None:
    if is_command() and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        try:
            _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        except ValueError:  # not the main thread
            return


_let_end()
