# SPDX-License-Identifier: Apache-2.0
"""The operators in two phases, by CANN's names: a first that checks and plans, a second that runs.

    status, size, executor = aclnnUpsampleNearestExact3dBackwardGetWorkspaceSize(
        gradOut, outputSize, inputSize, scalesD, scalesH, scalesW, gradInput)
    status = aclnnUpsampleNearestExact3dBackward(workspace, size, executor, stream)

The parameters are CANN's in order, but for those that C needs and Python does not: &workspaceSize
and &executor are returned, and aclCreateTensor has no viewDimsNum and storageDimsNum
(aclCreateIntArray has its size). None is the null pointer; int arrays are any sequence of ints.

A status is returned, never an exception (KeyboardInterrupt and its like pass through; a call with
the wrong number of arguments is Python's TypeError), and aclGetRecentErrMsg() says what was wrong
at the last failure: neither reading nor success clears it. After a failure gradInput is as it was.
Scales count only where all three are > 0.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

from ..kernel import cpu
from ..plan import buffers
from ..plan.buffers import Array
from ..plan.plan import Plan
from ..spec import arguments, layout
from ..spec.errors import ParameterError, ParameterTypeError, RuntimeStateError, Status
from ..spec.words import described
from . import acltypes, messages
from .acl import (
    AclTensor,
    Ints,
    Sizes,
    aclCreateIntArray,
    aclCreateTensor,
    aclDestroyIntArray,
    aclDestroyTensor,
)
from .acltypes import *  # noqa: F403 - every type and format of CANN's
from .call import Call, Operator, read
from .checks import check, check_memory
from .limits import documented_limit_violations
from .messages import aclGetRecentErrMsg, aclnnStatus, refuse
from .operators import EXACT, NEAREST, TRILINEAR

ACL_SUCCESS = ACLNN_SUCCESS = aclnnStatus.ACLNN_SUCCESS
ACLNN_ERR_PARAM_NULLPTR = aclnnStatus.ACLNN_ERR_PARAM_NULLPTR
ACLNN_ERR_PARAM_INVALID = aclnnStatus.ACLNN_ERR_PARAM_INVALID
ACLNN_ERR_RUNTIME_ERROR = aclnnStatus.ACLNN_ERR_RUNTIME_ERROR

Prepared = tuple[aclnnStatus, int, "AclOpExecutor | None"]
Work = tuple[Plan | None, Array, Array]


class AclOpExecutor:
    """A call, checked and planned, that can run once, in any thread. It holds its tensors.

    workspace_size: the bytes that a run needs. repeatable: whether a run leaves it ready.
    """

    __slots__ = ("_ended", "_held", "_lock", "operator", "repeatable", "workspace_size")

    def __init__(self, call: Call, grad_out: Array, grad_input: Array) -> None:
        plan = None if call.empty else plan_of(call, grad_out.strides, grad_input.strides)
        self.operator = call.operator
        self.workspace_size = plan.workspace_size if plan else 0
        self.repeatable = False
        self._held: Work | None = plan, grad_out, grad_input
        self._ended = ""
        self._lock = Lock()

    def work(self) -> Work:
        """What to run, unless the executor has ended."""
        with self._lock:
            return self._alive()

    def end(self, how: str) -> Work:
        """What would have run; the executor ends, for one caller only."""
        with self._lock:
            held, self._held, self._ended = self._alive(), None, how
            return held

    def _alive(self) -> Work:
        if self._held is None:
            raise RuntimeStateError(f"executor {self._ended}, wanted one that can run")
        return self._held


# ---- The first phase ----


def aclnnUpsampleNearestExact3dBackwardGetWorkspaceSize(
    gradOut: AclTensor | None,
    outputSize: Ints | None,
    inputSize: Ints | None,
    scalesD: float,
    scalesH: float,
    scalesW: float,
    gradInput: AclTensor | None,
) -> Prepared:
    """(status, workspaceSize, executor) for nearest-exact's gradient; (status, 0, None) if refused.

    gradOut, gradInput: tensors of one type, float32, float16 or bfloat16, and of inputSize's N, C
    with the sizes outputSize (D, H, W) and inputSize (N, C, D, H, W whatever the format). A tensor
    of format NDHWC has a view of N, D, H, W, C; any other is read as NCDHW. scales: output/input,
    at most 50.
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
    """The same for the gradient of plain nearest, which also takes float64, and any scales."""
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
    """The same for the gradient of trilinear: float64 too, any scales, NCDHW, NDHWC or ND."""
    scales = scalesD, scalesH, scalesW
    return _prepare(TRILINEAR, gradOut, outputSize, inputSize, alignCorners, scales, gradInput)


def _prepare(operator: Operator, *arguments: Any) -> Prepared:
    try:
        executor = cpu.in_default_mode(_executor, operator, *arguments)
    except Exception as error:
        return refuse(error, operator.name, Status.EXECUTOR_NOT_CREATED), 0, None
    return ACLNN_SUCCESS, executor.workspace_size, executor


def _executor(operator: Operator, *arguments: Any) -> AclOpExecutor:
    call, *arrays = read(operator, *arguments)
    check(call, operator.checks)
    check_memory(call, *arrays)
    return AclOpExecutor(call, *arrays)


def plan_of(call: Call, strides: Sizes | None = None, out_strides: Sizes | None = None) -> Plan:
    """The Plan of a checked call: what contiguous, transpose, compute and ViewCopy come to.

    strides, out_strides: of gradOut and gradInput, in bytes; None means contiguous.
    """
    dtype = call.grad_out.dtype.numpy
    return Plan(
        call.operator.op,
        call.grad_out.shape,
        dtype,
        input_size=call.input_size,
        output_size=call.output_size,
        scales=call.kernel_scales,
        align_corners=call.align_corners,
        data_format=call.data_format,
        strides=strides,
        out_strides=out_strides or layout.contiguous(call.grad_input.shape, dtype.itemsize),
    )


# ---- The second phase ----


def aclnnUpsampleNearestExact3dBackward(
    workspace: Any, workspaceSize: int, executor: AclOpExecutor | None, stream: object
) -> aclnnStatus:
    """Runs what the first phase prepared: gradInput is written when it returns success.

    workspace: a writable contiguous buffer of workspaceSize bytes, of any content, and apart from
    the tensors; None where the first phase said 0. stream: not looked at, all runs are synchronous.
    """
    return _run(EXACT, workspace, workspaceSize, executor)


def aclnnUpsampleNearest3dBackward(
    workspace: Any, workspaceSize: int, executor: AclOpExecutor | None, stream: object
) -> aclnnStatus:
    """The same for the gradient of plain nearest."""
    return _run(NEAREST, workspace, workspaceSize, executor)


def aclnnUpsampleTrilinear3dBackward(
    workspace: Any, workspaceSize: int, executor: AclOpExecutor | None, stream: object
) -> aclnnStatus:
    """The same for the gradient of trilinear."""
    return _run(TRILINEAR, workspace, workspaceSize, executor)


def aclSetAclOpExecutorRepeatable(executor: AclOpExecutor | None) -> aclnnStatus:
    """Lets an executor run again and again, until it is destroyed."""
    try:
        alive = _executor_of(executor)
        alive.work()
        alive.repeatable = True
    except Exception as error:
        return refuse(error, "aclSetAclOpExecutorRepeatable", Status.RUNTIME_ERROR)
    return ACLNN_SUCCESS


def aclDestroyAclOpExecutor(executor: AclOpExecutor | None) -> aclnnStatus:
    """Ends an executor that has not ended by running."""
    try:
        _executor_of(executor).end("was destroyed")
    except Exception as error:
        return refuse(error, "aclDestroyAclOpExecutor", Status.RUNTIME_ERROR)
    return ACLNN_SUCCESS


def _run(operator: Operator, workspace: Any, workspace_size: Any, executor: Any) -> aclnnStatus:
    try:
        ready = _executor_of(executor)
        if ready.operator is not operator:
            raise ParameterError(f"executor is of {ready.operator.name}, wanted {operator.name}")
        _, *arrays = ready.work()
        memory = _memory(workspace, workspace_size, ready.workspace_size, *arrays)
        plan, grad_out, grad_input = ready.work() if ready.repeatable else ready.end("has run")
        if plan is not None:
            plan(grad_out, grad_input, memory if plan.workspace_size else None)
    except Exception as error:
        return refuse(error, operator.name, Status.RUNTIME_ERROR)
    return ACLNN_SUCCESS


def _executor_of(given: Any) -> AclOpExecutor:
    messages.not_null("executor", given)
    if type(given) is not AclOpExecutor:
        raise ParameterTypeError(f"executor is {described(given)}, wanted an AclOpExecutor")
    return given


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


__all__ = [
    "ACLNN_ERR_PARAM_INVALID",
    "ACLNN_ERR_PARAM_NULLPTR",
    "ACLNN_ERR_RUNTIME_ERROR",
    "ACLNN_SUCCESS",
    "ACL_SUCCESS",
    "AclOpExecutor",
    "AclTensor",
    "aclCreateIntArray",
    "aclCreateTensor",
    "aclDestroyAclOpExecutor",
    "aclDestroyIntArray",
    "aclDestroyTensor",
    "aclGetRecentErrMsg",
    "aclSetAclOpExecutorRepeatable",
    "aclnnStatus",
    "aclnnUpsampleNearest3dBackward",
    "aclnnUpsampleNearest3dBackwardGetWorkspaceSize",
    "aclnnUpsampleNearestExact3dBackward",
    "aclnnUpsampleNearestExact3dBackwardGetWorkspaceSize",
    "aclnnUpsampleTrilinear3dBackward",
    "aclnnUpsampleTrilinear3dBackwardGetWorkspaceSize",
    "documented_limit_violations",
]
__all__ += acltypes.__all__
