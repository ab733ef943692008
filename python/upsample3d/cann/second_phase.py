# SPDX-License-Identifier: Apache-2.0
"""The second phases: they run what a first one has prepared."""

from __future__ import annotations

from typing import Any

from ..plan import buffers
from ..plan.buffers import Array
from ..spec import arguments
from ..spec.errors import ParameterError, Status
from . import messages
from .call import Operator
from .executors import AclOpExecutor, executor_of
from .messages import aclnnStatus, refuse
from .operators import EXACT, NEAREST, TRILINEAR


def aclnnUpsampleNearestExact3dBackward(
    workspace: Any, workspaceSize: int, executor: AclOpExecutor | None, stream: object
) -> aclnnStatus:
    """Run the gradient of nearest_exact that the first phase prepared.

    Parameters
    ----------
    workspace : buffer or None
        Writable contiguous memory of workspaceSize bytes, of any content, apart from the tensors;
        None where the first phase said 0.
    workspaceSize : int
        At least what the first phase said.
    executor : AclOpExecutor
        Of this operator, from its first phase. It ends, unless it is repeatable.
    stream : object
        Not looked at: all runs are synchronous.

    Returns
    -------
    aclnnStatus
        ACLNN_SUCCESS: gradInput is written. ACLNN_ERR_PARAM_NULLPTR (161001): executor or workspace
        is None. ACLNN_ERR_PARAM_INVALID (161002): the workspace or the executor is a wrong one.
        ACLNN_ERR_RUNTIME_ERROR (361001): the executor has ended. ACLNN_ERR_INNER_NULLPTR (561103):
        memory does not suffice. In all of these gradInput is as it was.

    Notes
    -----
    Source: the second phase of aclnnUpsampleNearestExact3dBackward.
    Sums run along D, then H, then W in float32 (float64 for float64) and are rounded once.
    """
    return _run(EXACT, workspace, workspaceSize, executor)


def aclnnUpsampleNearest3dBackward(
    workspace: Any, workspaceSize: int, executor: AclOpExecutor | None, stream: object
) -> aclnnStatus:
    """Run the gradient of nearest that the first phase prepared.

    Parameters
    ----------
    workspace : buffer or None
        Writable contiguous memory of workspaceSize bytes, of any content, apart from the tensors;
        None where the first phase said 0.
    workspaceSize : int
        At least what the first phase said.
    executor : AclOpExecutor
        Of this operator, from its first phase. It ends, unless it is repeatable.
    stream : object
        Not looked at: all runs are synchronous.

    Returns
    -------
    aclnnStatus
        ACLNN_SUCCESS: gradInput is written. ACLNN_ERR_PARAM_NULLPTR (161001): executor or workspace
        is None. ACLNN_ERR_PARAM_INVALID (161002): the workspace or the executor is a wrong one.
        ACLNN_ERR_RUNTIME_ERROR (361001): the executor has ended. ACLNN_ERR_INNER_NULLPTR (561103):
        memory does not suffice. In all of these gradInput is as it was.

    Notes
    -----
    Source: the second phase of aclnnUpsampleNearest3dBackward.
    Sums run along D, then H, then W in float32 (float64 for float64) and are rounded once.
    """
    return _run(NEAREST, workspace, workspaceSize, executor)


def aclnnUpsampleTrilinear3dBackward(
    workspace: Any, workspaceSize: int, executor: AclOpExecutor | None, stream: object
) -> aclnnStatus:
    """Run the gradient of trilinear that the first phase prepared.

    Parameters
    ----------
    workspace : buffer or None
        Writable contiguous memory of workspaceSize bytes, of any content, apart from the tensors;
        None where the first phase said 0.
    workspaceSize : int
        At least what the first phase said.
    executor : AclOpExecutor
        Of this operator, from its first phase. It ends, unless it is repeatable.
    stream : object
        Not looked at: all runs are synchronous.

    Returns
    -------
    aclnnStatus
        ACLNN_SUCCESS: gradInput is written. ACLNN_ERR_PARAM_NULLPTR (161001): executor or workspace
        is None. ACLNN_ERR_PARAM_INVALID (161002): the workspace or the executor is a wrong one.
        ACLNN_ERR_RUNTIME_ERROR (361001): the executor has ended. ACLNN_ERR_INNER_NULLPTR (561103):
        memory does not suffice. In all of these gradInput is as it was.

    Notes
    -----
    Source: the second phase of aclnnUpsampleTrilinear3dBackward.
    Sums run along D, then H, then W in float32 (float64 for float64) and are rounded once.
    """
    return _run(TRILINEAR, workspace, workspaceSize, executor)


def _run(operator: Operator, workspace: Any, workspace_size: Any, executor: Any) -> aclnnStatus:
    try:
        ready = executor_of(executor)
        if ready.operator is not operator:
            raise ParameterError(f"executor is of {ready.operator.name}, wanted {operator.name}")
        _, *arrays = ready.work()
        memory = _memory(workspace, workspace_size, ready.workspace_size, *arrays)
        plan, grad_out, grad_input = ready.work() if ready.repeatable else ready.end("has run")
        if plan is not None:
            plan(grad_out, grad_input, memory if plan.workspace_size else None)
    except Exception as error:
        return refuse(error, operator.name, Status.RUNTIME_ERROR)
    return aclnnStatus.ACLNN_SUCCESS


def _memory(workspace: Any, given: Any, needed: int, source: Array, out: Array) -> Array | None:
    """The workspace's bytes, as many as needed and as workspaceSize says; None where it says 0."""
    size = arguments.int64("workspaceSize", given)
    if size < needed:
        raise ParameterError(f"workspaceSize is {size}, wanted at least {needed}")
    if size == 0:
        return None
    messages.not_null("workspace", workspace)
    with arguments.reading("workspace", workspace, "a writable contiguous buffer"):
        memory = buffers.bytes_of(workspace)
    return buffers.check_workspace(memory, size, source, out)
