# SPDX-License-Identifier: Apache-2.0
"""`upsample3d forward` and `upsample3d backward`: volumes from file to file."""

from __future__ import annotations

import argparse
import math
import warnings
from pathlib import Path
from typing import Any

from ..files import volumes
from ..files.axes import ORDERS
from ..spec.arguments import MOST
from .check import reading

DTYPES = ("float32", "float16", "bfloat16", "float64")
FILES = ".npy, .npz, .nii or .nii.gz"


def forward_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `upsample3d forward` to its parser."""
    _file(parser, "the volume")
    _options(parser, "--output-size", "of the result, in FILE's axis order (NIfTI: x,y,z)")
    parser.add_argument(
        "--spacing", type=three_scales, metavar="S[,S,S]",
        help="instead of a size: the wanted voxel edges, one or three, in FILE's unit (NIfTI). The "
        "size is size * edge / S to nearest, halves up, at least 1. The box stays: the new edges "
        "are box / size",
    )  # fmt: skip
    _like(
        parser, "instead of a size: a NIfTI file whose size and grid the result takes. A NIfTI "
        "FILE must have the orientation and box of REF, or the centres of its corner voxels, "
        "within 0.001 voxel; .npy and .npz are taken to lie in its box",
    )  # fmt: skip
    parser.set_defaults(run=run_forward)


def backward_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `upsample3d backward` to its parser."""
    _file(parser, "the gradient at the output of --op, on the up-sampled grid")
    size = "of the result: the size of `forward`'s FILE, in FILE's axis order (NIfTI: x,y,z)"
    _options(parser, "--input-size", size)
    parser.add_argument("--spacing", help=argparse.SUPPRESS)
    _like(
        parser, "instead of a size: the NIfTI file that `forward` had as FILE. The grid of this "
        "FILE must be the one that `forward` made of it, within 0.001 voxel",
    )  # fmt: skip
    parser.set_defaults(run=run_backward)


def _file(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help=f"{what}: {FILES}")


def _like(parser: argparse.ArgumentParser, told: str) -> None:
    parser.add_argument("--like", type=Path, metavar="REF", help=told)


def _options(parser: argparse.ArgumentParser, size: str, told: str) -> None:
    add = parser.add_argument
    add("-o", "--output", type=Path, metavar="OUT", required=True,
        help=f"the file to write: {FILES}, of FILE's format or another")  # fmt: skip
    add("--op", choices=volumes.MODES, default="trilinear", metavar="OP",
        help="trilinear (the default), which interpolates integers as float32; or nearest_exact or "
        "nearest, for masks and labels: `forward` moves them as they are")  # fmt: skip
    add(size, type=three_sizes, metavar="D,H,W", dest="size", help=told)
    add("--scales", type=three_scales, metavar="S[,S,S]",
        help="output/input size, one number for all axes or three (default: from the sizes). It "
        "decides where voxels fall, even if it disagrees with the sizes. Without a size, `forward` "
        "makes floor(size * S) voxels, at least 1; a product within 1e-6 of an integer, "
        "relatively, counts as this integer (--rule torch: the plain floor)")  # fmt: skip
    add("--align-corners", action="store_true",
        help="the centres of the corner voxels coincide, not the edges of the volume "
        "(trilinear only)")  # fmt: skip
    add("--rule", choices=("aclnn", "torch"), default="aclnn",
        help="whose indices and weights: the CANN operators' (the default) or PyTorch's"
    )  # fmt: skip
    add("--dtype", choices=DTYPES,
        metavar="DTYPE",
        help="the type to compute in and to store: float32, float16, bfloat16, float64. NIfTI "
        "stores float16, and every file bfloat16, as float32. Default: the file's own floats, "
        "else float32; for forward nearest_exact and nearest the file's own type")  # fmt: skip
    add("--data-format", choices=("NCDHW", "NDHWC"), default="NCDHW",
        help="the axis order of .npy and .npz, in and out (default: NCDHW). 4-D arrays lack N, 3-D "
        "ones C, too. NIfTI's own order is x, y, z, channels")  # fmt: skip
    add("--axes", choices=ORDERS, default="xyz",
        help="the axes D, H, W of .npy and .npz in terms of x, y, z of the other file, or of REF "
        "(default: xyz). Sizes stay in FILE's axis order")  # fmt: skip
    add("--array", metavar="NAME", help="the array to take from an .npz of several")
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
    """Runs `upsample3d forward`; returns its exit status."""
    ways = (arguments.size, arguments.scales, arguments.spacing, arguments.like)
    if ways == (None,) * 4:
        raise ValueError(
            "forward wants --output-size, --scales, or both, or else --spacing or --like "
            "(--help says more)"
        )
    return _told(arguments, volumes.forward, output_size=arguments.size, spacing=arguments.spacing)


def run_backward(arguments: argparse.Namespace) -> int:
    """Runs `upsample3d backward`; returns its exit status."""
    if arguments.spacing is not None:
        raise ValueError(
            "--spacing is of forward: several sizes have one spacing; backward wants --input-size "
            "or --like, what forward had as FILE"
        )
    if arguments.size is None and arguments.like is None:
        raise ValueError("backward wants --input-size or --like (--help says more)")
    return _told(arguments, volumes.backward, input_size=arguments.size)


def _told(arguments: argparse.Namespace, function: Any, **size: Any) -> int:
    """Runs a function of volumes; prints what it wrote and its warnings."""
    if arguments.align_corners and arguments.op not in volumes.WITH_CORNERS:
        kinds = " and ".join(volumes.WITH_CORNERS)
        raise ValueError(f"--align-corners is for {kinds} only, --op is {arguments.op}")
    try:
        with warnings.catch_warnings(record=True) as remarks:  # of no interest where it fails
            written = function(
                arguments.file, arguments.output, arguments.op, scales=arguments.scales,
                like=arguments.like, align_corners=arguments.align_corners, rule=arguments.rule,
                dtype=arguments.dtype, array=arguments.array, axes=arguments.axes,
                data_format=arguments.data_format, force=arguments.force, progress=True, **size,
            )  # fmt: skip
    except FileExistsError:
        raise FileExistsError(f"{arguments.output} exists already; --force replaces it") from None
    print(f"{arguments.output}: {' x '.join(map(str, written.shape))}, {written.dtype}")
    for remark in remarks:
        warnings.showwarning(remark.message, remark.category, remark.filename, remark.lineno)
    return 0
