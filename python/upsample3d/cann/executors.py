# SPDX-License-Identifier: Apache-2.0
"""Executors: what a first phase prepares and a second runs."""

from __future__ import annotations

from threading import Lock
from typing import Any

from ..plan.buffers import Array
from ..plan.plan import Plan
from ..spec import layout
from ..spec.errors import ParameterTypeError, RuntimeStateError, Status
from ..spec.words import described
from .call import Call
from .messages import aclnnStatus, not_null, refuse
from .tensors import Sizes

Work = tuple[Plan | None, Array, Array]


class AclOpExecutor:
    """A call, checked and planned, that can run once, in any thread. It holds its tensors.

    Attributes
    ----------
    operator : Operator
        The operator whose first phase made it.
    workspace_size : int
        Bytes that a run needs.
    repeatable : bool
        Whether a run leaves it ready.
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
        """Return what to run, unless the executor has ended.

        Returns
        -------
        tuple
            The Plan, or None if there is nothing to compute, gradOut and gradInput.

        Raises
        ------
        RuntimeStateError
            The executor has ended.
        """
        with self._lock:
            return self._alive()

    def end(self, how: str) -> Work:
        """End the executor, for one caller only, and return what would have run.

        Parameters
        ----------
        how : str
            What later calls are told of the end, such as "has run".

        Returns
        -------
        tuple
            The Plan, or None if there is nothing to compute, gradOut and gradInput.

        Raises
        ------
        RuntimeStateError
            The executor has ended.
        """
        with self._lock:
            held, self._held, self._ended = self._alive(), None, how
            return held

    def _alive(self) -> Work:
        if self._held is None:
            raise RuntimeStateError(f"executor {self._ended}, wanted one that can run")
        return self._held


def plan_of(call: Call, strides: Sizes | None = None, out_strides: Sizes | None = None) -> Plan:
    """Return the Plan of a checked call: contiguous, transpose, compute and ViewCopy in one.

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


def aclSetAclOpExecutorRepeatable(executor: AclOpExecutor | None) -> aclnnStatus:
    """Let an executor run again and again, until it is destroyed.

    Parameters
    ----------
    executor : AclOpExecutor
        One that has not ended.

    Returns
    -------
    aclnnStatus
        ACLNN_SUCCESS; ACLNN_ERR_PARAM_NULLPTR (161001) for None; ACLNN_ERR_PARAM_INVALID (161002)
        for what is no executor; ACLNN_ERR_RUNTIME_ERROR (361001) for one that has ended.
    """
    try:
        alive = executor_of(executor)
        alive.work()
        alive.repeatable = True
    except Exception as error:
        return refuse(error, "aclSetAclOpExecutorRepeatable", Status.RUNTIME_ERROR)
    return aclnnStatus.ACLNN_SUCCESS


def aclDestroyAclOpExecutor(executor: AclOpExecutor | None) -> aclnnStatus:
    """End an executor that has not ended by running.

    Parameters
    ----------
    executor : AclOpExecutor
        One that has not ended.

    Returns
    -------
    aclnnStatus
        ACLNN_SUCCESS; ACLNN_ERR_PARAM_NULLPTR (161001) for None; ACLNN_ERR_PARAM_INVALID (161002)
        for what is no executor; ACLNN_ERR_RUNTIME_ERROR (361001) for one that has ended.
    """
    try:
        executor_of(executor).end("was destroyed")
    except Exception as error:
        return refuse(error, "aclDestroyAclOpExecutor", Status.RUNTIME_ERROR)
    return aclnnStatus.ACLNN_SUCCESS


def executor_of(given: Any) -> AclOpExecutor:
    """Return `given`, an executor."""
    not_null("executor", given)
    if type(given) is not AclOpExecutor:
        raise ParameterTypeError(f"executor is {described(given)}, wanted an AclOpExecutor")
    return given
