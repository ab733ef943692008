# SPDX-License-Identifier: Apache-2.0
"""The limits that the operators' documents state and their first phase does not enforce.

A call that breaks one works here and would not be legal on the device. Source: the constraints in
the documents of the three backward operators.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from . import arguments
from .aclnn_checks import (
    INT32_MAX,
    OPERATORS,
    Call,
    input_size_length,
    output_size_length,
    read,
)
from .status import ParameterError

MOST_SIZE = 2**20
MOST_BYTES = 60 * 2**30


def documented_limit_violations(
    op: str,
    gradOut: Any,
    outputSize: Any,
    inputSize: Any,
    scales: tuple[Any, Any, Any],
    gradInput: Any,
) -> list[str]:
    """The documented limits that a call breaks and the first phase lets pass, in words and numbers.

    op: an operator's name in aclnn, or the Plan's op behind it. The rest as in the first phase; the
    numbers are those of outputSize and inputSize. Raises ParameterError or ParameterTypeError where
    the arguments cannot be read as sizes and tensors at all.
    """
    operator = OPERATORS[arguments.one_of("op", op, tuple(OPERATORS))]
    call = read(operator, gradOut, outputSize, inputSize, False, scales, gradInput)
    for fails in (output_size_length, input_size_length):
        wrong = fails(call)
        if wrong is not None:
            raise ParameterError(wrong)
    return list(_violations(call))


def _violations(call: Call) -> Iterator[str]:
    n, c, i_d, i_h, i_w = call.input_size
    o_d, o_h, o_w = call.output_size
    named = [
        *zip(("N", "C", "D", "H", "W"), call.input_size, ["inputSize"] * 5, strict=True),
        *zip(("D", "H", "W"), call.output_size, ["outputSize"] * 3, strict=True),
    ]
    for axis, size, name in named:
        if size <= 0 and name == "inputSize":
            yield f"{axis} of inputSize is {size}, documented: every element > 0"
        if size > INT32_MAX:
            yield f"{axis} of {name} is {size}, documented: at most 2^31 - 1 = {INT32_MAX}"
        if size > MOST_SIZE:
            yield f"{axis} of {name} is {size}, documented: at most 2^20 = {MOST_SIZE}"
    for name, tensor in (("gradOut", call.grad_out), ("gradInput", call.grad_input)):
        if 0 in tensor.view_shape:
            yield f"{name} has shape {tensor.view_shape}, documented: no empty tensors"
    elements = n * c * (o_d * o_h * o_w + i_d * i_h * i_w + o_d * o_h * i_w + o_d * i_h * i_w)
    size = elements * call.grad_out.view.itemsize
    if size >= MOST_BYTES:
        yield (
            "N * C * (oD * oH * oW + iD * iH * iW + oD * oH * iW + oD * iH * iW) elements take "
            f"{size} bytes ({size / 2**30:.2f} GiB), documented: less than 60 GiB = {MOST_BYTES}"
        )
    if n * c * o_d * o_h > INT32_MAX:
        yield f"N * C * oD * oH is {n * c * o_d * o_h}, documented: less than 2^31"
    if i_w * i_h > INT32_MAX:
        yield f"iW * iH is {i_w * i_h}, documented: less than 2^31"
    if all(scale > 0 for scale in call.scales):
        for scale, (axis, i, o) in zip(call.scales, call.sides, strict=True):
            wanted = math.floor(i * scale) if math.isfinite(i * scale) else math.inf
            if o != wanted:
                yield (
                    f"{axis} of outputSize is {o}, documented: floor({i} * scales{axis}) "
                    f"= floor({i} * {scale}) = {wanted}"
                )
