# SPDX-License-Identifier: Apache-2.0
"""`upsample3d forward` and `upsample3d backward`: volumes from file to file."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from . import volumes
from .arguments import MOST
from .check import reading

DTYPES = ("float32", "float16", "bfloat16", "float64")
FILES = ".npy, .npz, .nii or .nii.gz"


def forward_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `upsample3d forward` to its parser."""
    _file(parser, "the volume")
    size = "of the result, in the file's axis order (NIfTI: x,y,z; default: floor(size * scale))"
    _options(parser, "--output-size", size, required=False)
    parser.set_defaults(run=run_forward)


def backward_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `upsample3d backward` to its parser."""
    _file(parser, "the gradient at the output of --op, on the up-sampled grid")
    size = "of the result: what `forward` had as FILE, in the file's axis order (NIfTI: x,y,z)"
    _options(parser, "--input-size", size, required=True)
    parser.set_defaults(run=run_backward)


def _file(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help=f"{what}: {FILES}")


def _options(parser: argparse.ArgumentParser, size: str, told: str, *, required: bool) -> None:
    add = parser.add_argument
    add("-o", "--output", type=Path, metavar="OUT", required=True,
        help=f"the file to write: {FILES}, not necessarily as FILE")  # fmt: skip
    add("--op", choices=volumes.MODES, default="trilinear", metavar="OP",
        help="trilinear (the default; integers are interpolated as float32), nearest_exact or "
        "nearest: for masks and labels, which `forward` then moves as they are")  # fmt: skip
    add(size, type=three_sizes, required=required, metavar="D,H,W", dest="size", help=told)
    add("--scales", type=three_scales, metavar="S[,S,S]",
        help="output/input size, one number for all axes or three; decides where voxels fall even "
        "where it disagrees with the sizes (default: from the sizes)")  # fmt: skip
    add("--align-corners", action="store_true",
        help="the centres of the corner voxels coincide, not the edges of the volume "
        "(trilinear only)")  # fmt: skip
    add("--rule", choices=("aclnn", "torch"), default="aclnn",
        help="whose indices and weights: the CANN operators' (the default) or PyTorch's"
    )  # fmt: skip
    add("--dtype", choices=DTYPES,
        metavar="DTYPE",
        help="what is computed in and stored: float32, float16, bfloat16, float64 (NIfTI stores "
        "float16, and every file bfloat16, as float32); default: the file's own floats, else "
        "float32; forward nearest_exact and nearest: the file's own type")  # fmt: skip
    add("--data-format", choices=("NCDHW", "NDHWC"), default="NCDHW",
        help="the axis order of .npy and .npz, in and out, of which 4-D ones lack N and 3-D ones C "
        "(default: NCDHW); NIfTI's own is x, y, z, channels")  # fmt: skip
    add("--force", action="store_true",
        help="replace OUT if it exists: its permissions stay, a link still leads to it, and other "
        "hard links keep the old file")  # fmt: skip
    parser.set_defaults(unprinted=0)  # the file is there by then


def three_sizes(text: str) -> tuple[int, ...]:
    """Three sizes of axes between commas."""
    with reading(text, "three integers from 1 to 2^31 - 1 between commas, e.g. 64,64,32"):
        d, h, w = map(int, text.split(","))
        if not 1 <= min(d, h, w) <= max(d, h, w) <= MOST:
            raise ValueError
    return d, h, w


def three_scales(text: str) -> tuple[float, ...]:
    """Three positive numbers between commas, or one for all."""
    with reading(text, "a positive number, or three between commas, e.g. 2 or 2,2,1.5"):
        numbers = [float(number) for number in text.split(",")]
        d, h, w = numbers * 3 if len(numbers) == 1 else numbers
        if not 0 < min(numbers) <= max(numbers) < math.inf or math.isnan(d + h + w):
            raise ValueError
    return d, h, w


def run_forward(arguments: argparse.Namespace) -> int:
    if arguments.size is None and arguments.scales is None:
        raise ValueError("forward wants --output-size, --scales, or both (--help says more)")
    return _told(arguments, volumes.forward, output_size=arguments.size)


def run_backward(arguments: argparse.Namespace) -> int:
    return _told(arguments, volumes.backward, input_size=arguments.size)


def _told(arguments: argparse.Namespace, function: Any, **size: Any) -> int:
    """Runs one of the functions of volumes, and prints what came of it."""
    if arguments.align_corners and arguments.op != "trilinear":
        raise ValueError(f"--align-corners is for trilinear only, --op is {arguments.op}")
    try:
        written = function(
            arguments.file, arguments.output, arguments.op, scales=arguments.scales,
            align_corners=arguments.align_corners, rule=arguments.rule, dtype=arguments.dtype,
            data_format=arguments.data_format, force=arguments.force, progress=True, **size,
        )  # fmt: skip
    except FileExistsError:
        raise FileExistsError(f"{arguments.output} exists already; --force replaces it") from None
    print(f"{arguments.output}: {' x '.join(map(str, written.shape))}, {written.dtype}")
    return 0
