# SPDX-License-Identifier: Apache-2.0
"""The first phases: they check a call and plan it, and write nothing."""

from __future__ import annotations

from typing import Any

from ..kernel import cpu
from ..spec.errors import Status
from .call import Operator, read
from .checks import check, check_memory
from .executors import AclOpExecutor
from .messages import aclnnStatus, refuse
from .operators import EXACT, NEAREST, TRILINEAR
from .tensors import AclTensor, Ints

Prepared = tuple[aclnnStatus, int, AclOpExecutor | None]


def aclnnUpsampleNearestExact3dBackwardGetWorkspaceSize(
    gradOut: AclTensor | None,
    outputSize: Ints | None,
    inputSize: Ints | None,
    scalesD: float,
    scalesH: float,
    scalesW: float,
    gradInput: AclTensor | None,
) -> Prepared:
    """Check and plan the gradient of nearest_exact.

    Parameters
    ----------
    gradOut : AclTensor
        The gradient at the output, float32, float16 or bfloat16: N and C of inputSize
        with outputSize, as (N, C, D, H, W), or as (N, D, H, W, C) where its format is NDHWC.
    outputSize : sequence of 3 ints
        D, H, W of gradOut.
    inputSize : sequence of 5 ints
        N, C, D, H, W of gradInput, in this order whatever the format.
    scalesD, scalesH, scalesW : float
        Output/input, at most 50 each, as the sizes' ratios are. They count only where all three
        are > 0.
    gradInput : AclTensor
        The tensor to write, of inputSize in its own format's order, of gradOut's type and of memory
        apart from it. NDHWC in both tensors or in none.

    Returns
    -------
    status : aclnnStatus
        ACLNN_SUCCESS; ACLNN_ERR_PARAM_NULLPTR (161001) where a tensor or a size is None;
        ACLNN_ERR_PARAM_INVALID (161002) where the call breaks a rule, also a
        scale or ratio above 50;
        ACLNN_ERR_INNER_NULLPTR (561103) where memory does not suffice.
    workspaceSize : int
        Bytes that the second phase needs; 0 if refused.
    executor : AclOpExecutor or None
        What the second phase runs, once; None if refused.

    Notes
    -----
    Source: the first phase of aclnnUpsampleNearestExact3dBackward in ops-cv.
    N = 0 or C = 0 succeeds and computes nothing. aclGetRecentErrMsg() says why a call was refused.
    """
    scales = scalesD, scalesH, scalesW
    return _prepare(EXACT, gradOut, outputSize, inputSize, False, scales, gradInput)


def aclnnUpsampleNearest3dBackwardGetWorkspaceSize(
    gradOut: AclTensor | None,
    outputSize: Ints | None,
    inputSize: Ints | None,
    scalesD: float,
    scalesH: float,
    scalesW: float,
    gradInput: AclTensor | None,
) -> Prepared:
    """Check and plan the gradient of nearest.

    Parameters
    ----------
    gradOut : AclTensor
        The gradient at the output, float32, float16, bfloat16 or float64: N and C of inputSize
        with outputSize, as (N, C, D, H, W), or as (N, D, H, W, C) where its format is NDHWC.
    outputSize : sequence of 3 ints
        D, H, W of gradOut.
    inputSize : sequence of 5 ints
        N, C, D, H, W of gradInput, in this order whatever the format.
    scalesD, scalesH, scalesW : float
        Output/input, of any size. They count only where all three are > 0.
    gradInput : AclTensor
        The tensor to write, of inputSize in its own format's order, of gradOut's type and of memory
        apart from it. NDHWC in both tensors or in none.

    Returns
    -------
    status : aclnnStatus
        ACLNN_SUCCESS; ACLNN_ERR_PARAM_NULLPTR (161001) where a tensor or a size is None;
        ACLNN_ERR_PARAM_INVALID (161002) where the call breaks a rule;
        ACLNN_ERR_INNER_NULLPTR (561103) where memory does not suffice.
    workspaceSize : int
        Bytes that the second phase needs; 0 if refused.
    executor : AclOpExecutor or None
        What the second phase runs, once; None if refused.

    Notes
    -----
    Source: the first phase of aclnnUpsampleNearest3dBackward in ops-cv.
    N = 0 or C = 0 succeeds and computes nothing. aclGetRecentErrMsg() says why a call was refused.
    """
    scales = scalesD, scalesH, scalesW
    return _prepare(NEAREST, gradOut, outputSize, inputSize, False, scales, gradInput)


def aclnnUpsampleTrilinear3dBackwardGetWorkspaceSize(
    gradOut: AclTensor | None,
    outputSize: Ints | None,
    inputSize: Ints | None,
    alignCorners: bool,
    scalesD: float,
    scalesH: float,
    scalesW: float,
    gradInput: AclTensor | None,
) -> Prepared:
    """Check and plan the gradient of trilinear.

    Parameters
    ----------
    gradOut : AclTensor
        The gradient at the output, float32, float16, bfloat16 or float64: N and C of inputSize
        with outputSize, as (N, C, D, H, W), or as (N, D, H, W, C) where its format is NDHWC.
        The format is NCDHW, NDHWC or ND.
    outputSize : sequence of 3 ints
        D, H, W of gradOut.
    inputSize : sequence of 5 ints
        N, C, D, H, W of gradInput, in this order whatever the format.
    alignCorners : bool
        Whether the corner elements' centres coincide; scales then do not matter.
    scalesD, scalesH, scalesW : float
        Output/input, of any size. They count only where all three are > 0.
    gradInput : AclTensor
        The tensor to write, of inputSize in its own format's order, of gradOut's type and of memory
        apart from it. NDHWC in both tensors or in none.

    Returns
    -------
    status : aclnnStatus
        ACLNN_SUCCESS; ACLNN_ERR_PARAM_NULLPTR (161001) where a tensor or a size is None;
        ACLNN_ERR_PARAM_INVALID (161002) where the call breaks a rule;
        ACLNN_ERR_INNER_NULLPTR (561103) where memory does not suffice.
    workspaceSize : int
        Bytes that the second phase needs; 0 if refused.
    executor : AclOpExecutor or None
        What the second phase runs, once; None if refused.

    Notes
    -----
    Source: the first phase of aclnnUpsampleTrilinear3dBackward in ops-cv.
    N = 0 or C = 0 succeeds and computes nothing. aclGetRecentErrMsg() says why a call was refused.
    """
    scales = scalesD, scalesH, scalesW
    return _prepare(TRILINEAR, gradOut, outputSize, inputSize, alignCorners, scales, gradInput)


def _prepare(operator: Operator, *arguments: Any) -> Prepared:
    try:
        executor = cpu.in_default_mode(_executor, operator, *arguments)
    except Exception as error:
        return refuse(error, operator.name, Status.EXECUTOR_NOT_CREATED), 0, None
    return aclnnStatus.ACLNN_SUCCESS, executor.workspace_size, executor


def _executor(operator: Operator, *arguments: Any) -> AclOpExecutor:
    call, *arrays = read(operator, *arguments)
    check(call, operator.checks)
    check_memory(call, *arrays)
    return AclOpExecutor(call, *arrays)
