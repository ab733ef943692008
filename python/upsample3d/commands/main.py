# SPDX-License-Identifier: Apache-2.0
"""The command line: `upsample3d forward`, `backward`, `demo`, `check` and `info`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import upsample3d as up

from ..files import process
from . import check, resample

MISTAKE = 2
MISTAKES = OSError, ValueError, up.ParameterTypeError, MemoryError, ModuleNotFoundError, Warning
"""What a user's mistake raises; a Warning does where Python was told to raise warnings."""

FAILED = 1
INTERRUPTED = 130


class Help(argparse.HelpFormatter):
    """Help whose examples keep their lines, to be copied."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("example") else super()._fill_text(text, width, indent)


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints fit one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=Help, **options)

    def error(self, message: str) -> NoReturn:
        said = " ".join(message.split())
        self.exit(MISTAKE, f"{self.prog}: {said} (--help says more)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; returns 0, 1 if the work failed, 2 for a mistake, 130 for Ctrl-C.

    argv: the arguments, if the command runs within another's process. None: this process is the
    command's own; a signal ends it once half-written files are removed.
    """
    if argv is not None:
        return status_of(argv)
    with process.owned():
        return status_of(sys.argv[1:])


def status_of(argv: Sequence[str]) -> int:
    """Runs a command; reports a mistake on one line."""
    unprinted = FAILED
    try:
        with process.plain_warnings():
            arguments = parser().parse_args(argv)
            unprinted = getattr(arguments, "unprinted", FAILED)
            status = int(arguments.run(arguments))
    except SystemExit as stop:  # --help or a complaint, printed already
        status = int(stop.code or 0)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except MISTAKES as mistake:
        process.say(told(mistake))
        status = MISTAKE
    if failure := process.unprinted():
        status = status or unprinted
        if not isinstance(failure, BrokenPipeError):  # nobody reads on, as in `demo | head`
            process.say(f"cannot print: {failure.strerror}")
    return status


def told(mistake: BaseException) -> str:
    """The line that reports a mistake; a system's error begins with the file's name."""
    if isinstance(mistake, OSError) and mistake.filename and mistake.strerror:
        return f"{mistake.filename}: {mistake.strerror}"
    return str(mistake)


def parser() -> Parser:
    """The parser of all commands; each stores the function that runs it as `run`."""
    top = Parser(
        prog="upsample3d",
        description="3-D up-sampling and its gradients on the CPU.",
        epilog="example, of which `upsample3d forward --help` says more:\n"
        "  upsample3d forward scan.nii.gz --scales 2 -o scan2.nii.gz",
    )
    top.add_argument("--version", action="version", version=f"upsample3d {up.__version__}")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")

    resample.forward_options(
        commands.add_parser(
            "forward",
            help="up-sample (or down-sample) the volume in a file",
            description="Writes the volume in FILE resampled to a new size. A NIfTI result has "
            "FILE's header and an affine that puts the new voxels where the old ones were.",
            epilog="examples, a scan and a mask:\n"
            "  upsample3d forward scan.nii.gz --scales 2 -o scan2.nii.gz\n"
            "  upsample3d forward mask.nii.gz --op nearest_exact --scales 2 -o mask2.nii.gz",
        )
    )
    resample.backward_options(
        commands.add_parser(
            "backward",
            help="bring a gradient back through up-sampling",
            description="FILE holds the gradient of a loss at the output of `forward`; writes the "
            "gradient at its input. Use the --op, --scales, --align-corners and --rule that "
            "`forward` had, and the size that its FILE had.",
            epilog="example:\n  upsample3d backward gradient.npy --input-size 64,64,32 -o back.npy",
        )
    )

    demo = commands.add_parser(
        "demo",
        help="recover a high-resolution volume from a low-resolution one",
        description="Observes a volume at half its resolution and recovers it by gradient descent "
        "with the exact adjoint of up-sampling; prints the checks and the throughput, and draws a "
        "picture. Without arguments it uses a built-in phantom.",
        epilog="example:\n  upsample3d demo --volume scan.nii.gz --output scan.png",
    )
    demo.add_argument(
        "--volume", type=Path, metavar="FILE",
        help="a .npy, .npz, .nii or .nii.gz file, 3-D or 4-D with channels first (NIfTI: last) "
        "(default: a built-in phantom)",
    )  # fmt: skip
    demo.add_argument(
        "--output", type=Path, metavar="PNG", default=Path("upsample3d-demo.png"),
        help="where the picture goes (default: %(default)s)",
    )  # fmt: skip
    demo.add_argument(
        "--size", type=int, metavar="N", default=128,
        help="voxels along each edge of the phantom (default: %(default)s)",
    )  # fmt: skip
    demo.add_argument(
        "--steps", type=int, metavar="N", default=60,
        help="steps of gradient descent (default: %(default)s)",
    )  # fmt: skip
    demo.set_defaults(run=run_demo)

    check.options(
        commands.add_parser(
            "check",
            help="say on which NPUs a call of an operator would be legal",
            description="Prints what the operator's first phase would answer, which documented "
            "limits the call breaks, and on which chips it would be legal; with --soc for one "
            "chip, and how its kernel would share the work among its cores, in the names of "
            "upsample3d.tiling. Both tensors are contiguous and alike in dtype and format. The "
            "exit status is 0 where the call is legal on a chip, 1 where it is on none, 2 where "
            "the command line is malformed. Needs no NPU, and no memory for the tensors.",
            epilog="example:\n  upsample3d check --op trilinear_backward --soc Ascend910B3 \\\n"
            "    --grad-output-shape 1,8,64,64,64 --input-size 1,8,32,32,32",
        )
    )

    info = commands.add_parser("info", help="print how this copy was built and what it uses here")
    info.set_defaults(run=run_info)
    return top


def run_demo(arguments: argparse.Namespace) -> int:
    """Runs `upsample3d demo`; returns its exit status."""
    from ..demo.story import run  # matplotlib's and the bar's imports, only for this command

    worked = run(arguments.volume, arguments.size, arguments.steps, arguments.output)
    return 0 if worked else 1


def run_info(arguments: argparse.Namespace) -> int:
    """Prints what `build_info` says; returns the exit status."""
    about: dict[str, Any] = up.build_info()
    lines = {
        "version": about["version"],
        "CPU level": f"{about['level']} (built and possible here: {', '.join(about['levels'])})",
        "threads": up.get_num_threads(),
        "OpenMP": about["openmp"] or "none: one thread",
        "compiler": about["compiler"],
    }
    for name, value in lines.items():
        print(f"{name:10} {value}")
    return 0
