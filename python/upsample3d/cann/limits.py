# SPDX-License-Identifier: Apache-2.0
"""The limits that the operators' documents state and their first phase does not enforce.

A call that breaks one works here and would not be legal on the device. Source: the constraints in
the documents of the three backward operators.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from ..kernel import cpu
from ..spec import arguments
from ..spec.arguments import MOST
from .call import Call, read
from .checks import check, input_size_length, output_size_length
from .operators import OPERATORS
from .tensors import AclTensor, Ints

MOST_SIZE = 2**20
MOST_BYTES = 60 * 2**30


OperatorName = Literal[
    "aclnnUpsampleNearestExact3dBackward", "nearest_exact_backward",
    "aclnnUpsampleNearest3dBackward", "nearest_backward",
    "aclnnUpsampleTrilinear3dBackward", "trilinear_backward",
]  # fmt: skip


def documented_limit_violations(
    op: OperatorName,
    gradOut: AclTensor,
    outputSize: Ints,
    inputSize: Ints,
    scales: Sequence[float],
    gradInput: AclTensor,
) -> list[str]:
    """List the documented limits that a call breaks and the first phase lets pass.

    Parameters
    ----------
    op : str
        An operator's name in aclnn, or the name of the function with its gradient.
    gradOut : AclTensor
        The gradient at the output, (N, C, D, H, W) or (N, D, H, W, C).
    outputSize : sequence of 3 ints
        D, H, W of gradOut.
    inputSize : sequence of 5 ints
        N, C, D, H, W of gradInput.
    scales : sequence of 3 floats
        Output/input of D, H, W; they count only where all three are > 0.
    gradInput : AclTensor
        The tensor to write.

    Returns
    -------
    list of str
        A limit each, in words with the numbers of outputSize and inputSize; empty where none is
        broken.

    Raises
    ------
    ParameterError, ParameterTypeError
        Where the arguments cannot be read as sizes, scales and tensors at all.

    Notes
    -----
    Source: the constraints in the documents of the three backward operators in ops-cv. A call that
    breaks one works here, and would not be legal on the device.
    """
    return cpu.in_default_mode(_violations, op, gradOut, outputSize, inputSize, scales, gradInput)


def _violations(
    op: str, gradOut: Any, outputSize: Any, inputSize: Any, scales: Any, gradInput: Any
) -> list[str]:
    operator = OPERATORS[arguments.one_of("op", op, tuple(OPERATORS))]
    d, h, w = arguments.elements("scales", scales, 3, "3 numbers, of D, H, W", sized=True)
    call, _, _ = read(operator, gradOut, outputSize, inputSize, False, (d, h, w), gradInput)
    return broken(call)


def broken(call: Call) -> list[str]:
    """List the same of a call that is read."""
    check(call, (output_size_length, input_size_length))
    return list(_broken(call))


def _broken(call: Call) -> Iterator[str]:
    n, c, i_d, i_h, i_w = call.input_size
    o_d, o_h, o_w = call.output_size
    named = [
        *zip(("N", "C", "D", "H", "W"), call.input_size, ["inputSize"] * 5, strict=True),
        *zip(("D", "H", "W"), call.output_size, ["outputSize"] * 3, strict=True),
    ]
    for axis, size, name in named:
        if size <= 0 and name == "inputSize":
            yield f"{axis} of inputSize is {size}, documented: every element > 0"
        if size > MOST:
            yield f"{axis} of {name} is {size}, documented: at most 2^31 - 1 = {MOST}"
        if size > MOST_SIZE:
            yield f"{axis} of {name} is {size}, documented: at most 2^20 = {MOST_SIZE}"
    for name, tensor in (("gradOut", call.grad_out), ("gradInput", call.grad_input)):
        if 0 in tensor.shape:
            yield f"{name} has shape {arguments.text(tensor.shape)}, documented: no empty tensors"
    elements = n * c * (o_d * o_h * o_w + i_d * i_h * i_w + o_d * o_h * i_w + o_d * i_h * i_w)
    size = elements * call.grad_out.dtype.numpy.itemsize
    if size >= MOST_BYTES:
        yield (
            "N * C * (oD * oH * oW + iD * iH * iW + oD * oH * iW + oD * iH * iW) elements take "
            f"{size} bytes ({size / 2**30:.2f} GiB), documented: less than 60 GiB = {MOST_BYTES}"
        )
    if n * c * o_d * o_h > MOST:
        yield f"N * C * oD * oH is {n * c * o_d * o_h}, documented: less than 2^31"
    if i_w * i_h > MOST:
        yield f"iW * iH is {i_w * i_h}, documented: less than 2^31"
    if call.scales_that_count:
        for scale, (axis, i, o) in zip(call.scales, call.sides, strict=True):
            wanted = math.floor(i * scale) if math.isfinite(i * scale) else math.inf
            if o != wanted:
                yield (
                    f"{axis} of outputSize is {o}, documented: floor({i} * scales{axis}) "
                    f"= floor({i} * {scale}) = {wanted}"
                )
