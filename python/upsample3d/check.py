# SPDX-License-Identifier: Apache-2.0
"""`upsample3d check`: whether a call of an operator would be legal on a chip, and how it would run.

Nothing is computed, and no tensor has memory.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from contextlib import contextmanager

from . import aclnn_limits, layout
from .acl import Sizes, aclDataType, aclFormat
from .aclnn import plan_of
from .aclnn_checks import OPERATORS, Call, Scales, Tensor, check, sizes_in_int32
from .arguments import MOST
from .chips import CHIPS, KERNELS, Tiling
from .cores import MatrixTiling, Pass, SimtTiling
from .foreign import aclnnStatus
from .status import ParameterError, Status, TilingError
from .tiling import ITEMSIZES

MOST_PLANNED = 2**24
"""The largest D, H or W that is planned here: a plan has memory for every index."""

LONGEST = 8
"""Sizes that an option may list, more than any that is legal."""

FORMATS = ("NCDHW", "NDHWC", "ND", "NCHW", "NHWC")
DTYPES = {dtype.numpy.name: dtype for dtype in aclDataType if dtype is not aclDataType.ACL_STRING}
SHORT = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
DTYPES |= {short: DTYPES[name] for short, name in SHORT.items()}


def options(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options to its parser."""
    add = parser.add_argument
    add("--op", required=True, choices=OPERATORS, metavar="OP",
        help=f"the operator: {', '.join(KERNELS)}, or its name in aclnn")  # fmt: skip
    add("--grad-output-shape", required=True, type=sizes, metavar="SIZES",
        help="the shape of gradOut in the format's order, e.g. 1,8,64,64,64")  # fmt: skip
    add("--input-size", required=True, type=sizes, metavar="N,C,D,H,W",
        help="inputSize, in this order whatever the format; gradInput has these sizes")  # fmt: skip
    add("--output-size", type=sizes, metavar="D,H,W",
        help="outputSize (default: what gradOut has)")  # fmt: skip
    add("--scales", type=scales, default=(0.0, 0.0, 0.0), metavar="D,H,W",
        help="output/input, three numbers or one for all; negative ones want --scales=-1,2,2 "
        "(default: 0,0,0, not given)")  # fmt: skip
    add("--format", choices=FORMATS, default="NCDHW", help="of both tensors (default: NCDHW)")
    add("--dtype", choices=DTYPES, default="float32", metavar="DTYPE",
        help="of both tensors: float32 or fp32 (the default), float16 or fp16, bfloat16 or bf16, "
        "or another of aclDataType")  # fmt: skip
    add("--align-corners", action="store_true", help="alignCorners of trilinear_backward")
    add("--soc", type=str.lower, choices=CHIPS, default="ascend950",
        help="the chip: ascend910b is Atlas A2, ascend910_93 Atlas A3, ascend950 (the default) "
        "950PR and 950DT")  # fmt: skip
    add("--cores", type=cores, metavar="N",
        help="its cores: vector cores of ascend950 (default: 64), cube cores of the others "
        "(default: 48)")  # fmt: skip
    parser.set_defaults(run=run, unprinted=2)  # 1 would be an answer


def sizes(text: str) -> Sizes:
    """Up to 8 integers of 64 bits, >= 0, between commas."""
    with reading(text, f"up to {LONGEST} integers from 0 to 2^63 - 1 between commas"):
        numbers = tuple(map(int, text.split(",")))
        if len(numbers) > LONGEST or not 0 <= min(numbers) <= max(numbers) < 2**63:
            raise ValueError
    return numbers


def scales(text: str) -> Scales:
    """Three numbers between commas, or one for all."""
    with reading(text, "three numbers between commas, or one for all"):
        numbers = [float(number) for number in text.split(",")]
        d, h, w = numbers * 3 if len(numbers) == 1 else numbers
    return d, h, w


def cores(text: str) -> int:
    """An integer from 1 to 2^31 - 1."""
    with reading(text, "an integer from 1 to 2^31 - 1"):
        number = int(text)
        if not 1 <= number <= MOST:
            raise ValueError
    return number


@contextmanager
def reading(text: str, wanted: str) -> Iterator[None]:
    """Turns a ValueError into the parser's complaint: what was given and what is wanted."""
    try:
        yield
    except ValueError:
        raise argparse.ArgumentTypeError(f"is {text!r}, wanted {wanted}") from None


def run(arguments: argparse.Namespace) -> int:
    """Prints the answer; 0 where the call is legal on the chip, else 1."""
    call, chip = _call(arguments), arguments.soc
    legal = True
    for title, fine, lines in list(answer(call, chip, arguments.cores or CHIPS[chip])):
        legal &= fine
        for line in lines:
            print(f"{title:10} {line}")
            title = ""
    print(f"{'verdict':10} {'legal' if legal else 'not legal'} on {chip}")
    return 0 if legal else 1


def answer(call: Call, chip: str, cores: int) -> Iterator[tuple[str, bool, list[str]]]:
    """(title, whether it is fine, lines) of each part."""
    tilings = KERNELS[call.operator.op].tilings
    supported = chip in tilings
    yield "operator", True, [call.operator.name]
    product = f"{chip} {'is' if supported else 'is not'} one of {', '.join(tilings)}"
    yield "product", supported, [product]
    if any(call.scales) and not call.scales_that_count:
        yield "scales", True, [f"{call.scales} not used to compute: not all are > 0"]

    status, said = _first_phase(call, chip)
    passed = status == Status.SUCCESS
    yield "phase 1", passed, [f"{status:d} {aclnnStatus(status).name}: {said}"]

    limits = _limits(call)
    yield "limits", not limits, limits or ["none broken" if passed else "none beyond phase 1"]
    if not passed or not supported:
        yield "tiling", True, ["none: the call does not reach a kernel"]
    elif call.empty:
        yield "tiling", True, ["none: nothing is computed"]
    else:
        yield "tiling", *_tiling(call, chip, cores)


def _call(arguments: argparse.Namespace) -> Call:
    """The call that the options describe."""
    operator = OPERATORS[arguments.op]
    shape, size = arguments.grad_output_shape, arguments.input_size
    if arguments.align_corners and not operator.align_corners:
        raise ParameterError(f"--align-corners is for trilinear only, --op is {arguments.op}")
    last = arguments.format == "NDHWC"
    dtype, form = DTYPES[arguments.dtype], aclFormat[f"ACL_FORMAT_{arguments.format}"]
    grad_input_shape = size
    if last and len(size) == 5:
        grad_input_shape = layout.pick(size, layout.AXES["NDHWC"])
    return Call(
        operator,
        Tensor(dtype, shape, form),
        arguments.output_size or (shape[1:4] if last else shape[2:5]),
        size,
        arguments.align_corners,
        arguments.scales,
        Tensor(dtype, grad_input_shape, form),
    )


def _first_phase(call: Call, chip: str) -> tuple[Status, str]:
    """The status, and what is said of the workspace or of what is wrong."""
    checks = call.operator.checks
    if chip == "ascend950":
        checks = tuple(fails for fails in checks if fails is not sizes_in_int32)
    try:
        check(call, checks)
    except ParameterError as error:
        return error.status, str(error)
    if not call.empty and not _plannable(call):
        return Status.SUCCESS, "checked, not planned: too large for this library"
    size = 0 if call.empty else plan_of(call).workspace_size
    return Status.SUCCESS, f"workspace {size} bytes, of this library"


def _plannable(call: Call) -> bool:
    """Whether no axis and no tensor is too large for a plan."""
    tensors = (call.grad_out, call.grad_input)
    most_bytes = max(math.prod(t.shape) * t.dtype.numpy.itemsize for t in tensors)
    return max(*call.input_size[2:], *call.output_size) <= MOST_PLANNED and most_bytes < 2**63


def _limits(call: Call) -> list[str]:
    """The documented limits that the call breaks."""
    try:
        if len(call.grad_out.shape) != 5 or len(call.grad_input.shape) != 5:
            return ["unknown of shapes that have no 5 dimensions"]
        return aclnn_limits.broken(call)
    except ParameterError as error:
        return [f"unknown: {error}"]


def _tiling(call: Call, chip: str, cores: int) -> tuple[bool, list[str]]:
    """Whether the kernel or the device's CPU takes the call, and how."""
    kernels, dtype = KERNELS[call.operator.op], call.grad_out.dtype.numpy.name
    try:
        if dtype not in ITEMSIZES:
            raise TilingError(f"dtype is {dtype}, wanted {' or '.join(ITEMSIZES)}")
        planned = kernels.tilings[chip](call, cores)
    except TilingError as error:
        if kernels.device_cpu:
            return True, [f"none: the kernel refuses it ({error}), so the device's CPU computes it"]
        return False, [f"{error.status:d}: {error}"]
    if isinstance(planned, SimtTiling):
        return True, list(_simt(planned))
    lines = list(_matrices(planned))
    if planned.skipped:
        lines.append(f"axes {planned.skipped} are skipped though their sizes differ")
    return not planned.skipped, lines


def _simt(planned: SimtTiling) -> Iterator[str]:
    yield _named(planned, "sch_id cores tiling_key workspace_size")
    yield _named(planned, "block_factor tail ub_factor uint32 threads")
    yield _named(planned, "len_n len_c grad_output_size grad_input_size scales")


def _matrices(planned: MatrixTiling) -> Iterator[str]:
    yield _named(planned, "cores tiling_key workspace_size")
    tables = " tensor_size mapping" if planned.tensor_size else ""
    yield _named(planned, "inter_w inter_h radio" + tables)
    for axis, done in zip("DHW", planned.passes, strict=True):
        yield f"{axis}: {_pass(done)}"


def _pass(done: Pass) -> str:
    if not done.active:
        return f"scale {done.scale}, not active"
    return _named(done, "scale k slide_size each remainder group rows tail_rows cores")


def _named(planned: Tiling | Pass, names: str) -> str:
    return ", ".join(f"{name} {getattr(planned, name)}" for name in names.split())
