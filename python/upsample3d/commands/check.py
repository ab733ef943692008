# SPDX-License-Identifier: Apache-2.0
"""`upsample3d check`: on which chips a call of an operator would be legal, and how it would run.

Nothing is computed, and no tensor has memory.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from ..cann.acltypes import aclDataType, aclFormat
from ..cann.call import Call, Tensor
from ..cann.legality import Report
from ..cann.operators import OPERATORS, TABLE
from ..cann.soc import CHIPS, Chip, find
from ..cann.tensors import Sizes
from ..cann.tiling_data import Scales
from ..kernel import cpu
from ..spec import layout
from ..spec.arguments import MOST
from ..spec.errors import ParameterError

LONGEST = 8
"""Sizes that an option may list, more than any that is legal."""

OPS = ", ".join(row.op for row in TABLE)
KNOWN = "; ".join(f"{chip.models}, {chip.product} or {chip.name}" for chip in CHIPS)

FORMATS = ("NCDHW", "NDHWC", "ND", "NCHW", "NHWC")
DTYPES = {dtype.title: dtype for dtype in aclDataType}
SHORT = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
DTYPES |= {short: DTYPES[name] for short, name in SHORT.items()}


def options(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options to its parser."""
    add = parser.add_argument
    add("--op", required=True, choices=OPERATORS, metavar="OP",
        help=f"the operator: {OPS}, or its name in aclnn")  # fmt: skip
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
    add("--soc", type=soc, metavar="CHIP",
        help=f"the chip, in capitals or not: {KNOWN} (default: all, without how they share the "
        "work)")  # fmt: skip
    add("--cores", type=cores, metavar="N",
        help="its cores: cube cores of Atlas A2 and A3 (default: the model's, else 48), vector "
        "cores of Ascend 950 (default: 64)")  # fmt: skip
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


def soc(text: str) -> tuple[Chip, int]:
    """A chip and its cores, by the name of a model, a family or a product."""
    with reading(text, KNOWN):
        found = find(text)
        if found is None:
            raise ValueError
    return found


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
    """Prints the answer; 0 where the call is legal on a chip that is asked about, else 1."""
    return cpu.in_default_mode(_run, arguments)


def _run(arguments: argparse.Namespace) -> int:
    call, named = _call(arguments), arguments.soc
    chips = [named] if named else [(chip, chip.cores) for chip in CHIPS]
    report = Report(call)
    answers = [report.answer(chip, arguments.cores or cores) for chip, cores in chips]
    for title, lines in report.lines(answers, numbers=bool(named)):
        for line in lines:
            print(f"{title:13} {line}")
            title = ""
    return 0 if any(answer.legal for answer in answers) else 1


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
        grad_input_shape = layout.permute(size, layout.AXES["NDHWC"])
    return Call(
        operator,
        Tensor(dtype, shape, form),
        arguments.output_size or (shape[1:4] if last else shape[2:5]),
        size,
        arguments.align_corners,
        arguments.scales,
        Tensor(dtype, grad_input_shape, form),
    )
