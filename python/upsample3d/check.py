# SPDX-License-Identifier: Apache-2.0
"""`upsample3d check`: whether a call of an operator would be legal on a chip, and how it would run.

Nothing is computed, and no tensor has memory.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import aclnn
from .chips import CHIPS, OPERATORS, Operator, Question, Sizes, Tiling
from .cores import MatrixTiling, Pass, SimtTiling
from .status import ParameterError, ParameterTypeError
from .tiling import TilingError

MOST_PLANNED, MOST_SIZE = 2**24, 2**31 - 1
"""Sizes that are planned here, for a plan has memory for every index; and an operator's largest."""

FORMATS = ("NCDHW", "NDHWC", "ND", "NCHW", "NHWC")
DTYPES = (
    "float32", "float16", "bfloat16", "float64", "int8", "int16", "int32", "int64", "uint8", "bool",
    "complex64", "complex128",
)  # fmt: skip


def options(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options to its parser."""
    add = parser.add_argument
    add("--op", required=True, choices=OPERATORS, help="the operator")
    add("--grad-output-shape", required=True, type=sizes, metavar="N,C,D,H,W",
        help="the shape of gradOut in its format, e.g. 1,8,64,64,64")  # fmt: skip
    add("--input-size", required=True, type=sizes, metavar="N,C,D,H,W",
        help="inputSize; gradInput has these sizes in its format")  # fmt: skip
    add("--output-size", type=sizes, metavar="D,H,W",
        help="outputSize (default: what gradOut has)")  # fmt: skip
    add("--scales", type=scales, default=(0.0, 0.0, 0.0), metavar="D,H,W",
        help="output/input, three numbers or one for all (default: 0,0,0, not given)")  # fmt: skip
    add("--format", choices=FORMATS, default="NCDHW", help="of both tensors (default: NCDHW)")
    add("--dtype", choices=DTYPES, default="float32", help="of both tensors (default: float32)")
    add("--align-corners", action="store_true", help="alignCorners of trilinear_backward")
    add("--soc", choices=CHIPS, default="ascend950", help="the chip (default: ascend950)")
    add("--cores", type=int, metavar="N",
        help="its cores: vector cores of ascend950 (default: 64), cube cores of the others "
        "(default: 48)")  # fmt: skip
    parser.set_defaults(run=run)


def sizes(text: str) -> Sizes:
    """Integers >= 0 between commas."""
    numbers = tuple(map(int, text.split(",")))
    if min(numbers) < 0:
        raise ValueError(text)
    return numbers


def scales(text: str) -> tuple[float, float, float]:
    """Three numbers between commas, or one for all."""
    numbers = [float(number) for number in text.split(",")]
    d, h, w = numbers * 3 if len(numbers) == 1 else numbers
    return d, h, w


def run(arguments: argparse.Namespace) -> int:
    """Prints the answer; 0 where the call is legal on the chip, else 1."""
    if arguments.align_corners and not OPERATORS[arguments.op].corners:
        raise ParameterError(
            f"--align-corners is given, wanted only with trilinear, not {arguments.op}"
        )
    shape = arguments.grad_output_shape
    spatial = shape[1:4] if arguments.format == "NDHWC" else shape[2:5]
    output_size = arguments.output_size or spatial
    for size in (*arguments.input_size[2:], *output_size):
        if MOST_PLANNED < size <= MOST_SIZE:  # a larger one is refused before it is planned
            raise ParameterError(
                f"a size is {size}, wanted at most {MOST_PLANNED} along D, H and W"
            )
    asked = Question(
        op=arguments.op,
        grad_output_shape=shape,
        input_size=arguments.input_size,
        output_size=output_size,
        scales=arguments.scales,
        data_format=arguments.format,
        dtype=arguments.dtype,
        align_corners=arguments.align_corners,
        chip=arguments.soc,
        cores=CHIPS[arguments.soc] if arguments.cores is None else arguments.cores,
    )
    legal = True
    for title, fine, lines in list(answer(asked)):
        legal &= fine
        for line in lines:
            print(f"{title:10} {line}")
            title = ""
    print(f"{'verdict':10} {'legal' if legal else 'not legal'} on {asked.chip}")
    return 0 if legal else 1


def answer(asked: Question) -> Iterator[tuple[str, bool, list[str]]]:
    """(title, whether it is fine, lines) of each part."""
    operator = OPERATORS[asked.op]
    supported = asked.chip in operator.tilings
    chips = ", ".join(operator.tilings)
    yield "operator", True, [operator.name]
    yield "product", supported, [f"{asked.chip} {'is' if supported else 'is not'} one of {chips}"]

    call = _arguments(asked, operator)
    first_phase = getattr(aclnn, f"{operator.name}GetWorkspaceSize")
    status, size, executor = first_phase(*call)
    fine = status == aclnn.ACLNN_SUCCESS
    said = f"workspace {size} bytes, of this library" if fine else aclnn.aclGetRecentErrMsg()
    yield "phase 1", fine, [f"{status:d} {status.name}: {said}"]
    if executor is not None:
        aclnn.aclDestroyAclOpExecutor(executor)

    broken = _broken(asked, call)
    yield "limits", not broken, broken or ["none broken"]
    if not fine or not supported:
        yield "tiling", True, ["none: the call does not reach a kernel"]
    elif 0 in asked.grad_output_shape:
        yield "tiling", True, ["none: nothing is computed"]
    else:
        yield "tiling", *_tiling(asked, operator)


def _arguments(asked: Question, operator: Operator) -> list[Any]:
    """What the first phase is given: contiguous tensors, of which only place and shape exist."""
    dtype, shapes = np.dtype(asked.dtype), (asked.grad_output_shape, asked.grad_input_shape)
    first, second = map(math.prod, shapes)
    if (first + second) * dtype.itemsize >= 2**63:
        raise ParameterError(f"the tensors have shapes {shapes}, wanted fewer than 2^63 bytes")
    one = np.zeros(1, dtype)  # all that exists of the memory of both; the rest is never touched
    flat = np.lib.stride_tricks.as_strided(one, (first + second,), one.strides)
    grad_output, grad_input = flat[:first].reshape(shapes[0]), flat[first:].reshape(shapes[1])
    form = aclnn.aclFormat[f"ACL_FORMAT_{asked.data_format}"]
    return [
        aclnn.AclTensor.from_array(grad_output, form),
        asked.output_size,
        asked.input_size,
        *([asked.align_corners] if operator.corners else []),
        *asked.scales,
        aclnn.AclTensor.from_array(grad_input, form),
    ]


def _broken(asked: Question, call: list[Any]) -> list[str]:
    """The documented limits that the call breaks."""
    try:
        return aclnn.documented_limit_violations(
            asked.op, call[0], asked.output_size, asked.input_size, asked.scales, call[-1]
        )
    except (ParameterError, ParameterTypeError) as error:
        return [f"unknown: {error}"]


def _tiling(asked: Question, operator: Operator) -> tuple[bool, list[str]]:
    """Whether the kernel or the device's CPU takes the call, and how."""
    try:
        planned = operator.tilings[asked.chip](asked)
    except TilingError as error:
        if operator.device_cpu:
            return True, [f"none: the device's CPU computes it, for {error}"]
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
    tables = " index mapping" if planned.index else ""
    yield _named(planned, "inter_w inter_h radio" + tables)
    for axis, done in zip("DHW", planned.passes, strict=True):
        yield f"{axis}: {_pass(done)}"


def _pass(done: Pass) -> str:
    if not done.active:
        return f"scale {done.scale}, not active"
    return _named(done, "scale k slide_size each remainder group rows tail_rows cores")


def _named(planned: Tiling | Pass, names: str) -> str:
    return ", ".join(f"{name} {getattr(planned, name)}" for name in names.split())
