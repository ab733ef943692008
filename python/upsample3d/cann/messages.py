# SPDX-License-Identifier: Apache-2.0
"""Statuses and messages: what the operators answer, never with an exception.

What is raised below them ends in refuse().
"""

from __future__ import annotations

import threading
from enum import IntEnum
from typing import Any, TypeVar

from ..spec import arguments
from ..spec.errors import ParameterError, ParameterTypeError, RuntimeStateError, Status
from ..spec.words import type_name

_E = TypeVar("_E", bound=IntEnum)

_OURS = (ParameterError, ParameterTypeError, RuntimeStateError)


class aclnnStatus(IntEnum):
    """What the operators return, by CANN's names."""

    ACLNN_SUCCESS = Status.SUCCESS
    ACLNN_ERR_PARAM_NULLPTR = Status.NULL_POINTER
    ACLNN_ERR_PARAM_INVALID = Status.INVALID_PARAMETER
    ACLNN_ERR_RUNTIME_ERROR = Status.RUNTIME_ERROR
    ACLNN_ERR_INNER_INFERSHAPE_ERROR = Status.INFERSHAPE_ERROR
    ACLNN_ERR_INNER_TILING_ERROR = Status.TILING_ERROR
    ACLNN_ERR_INNER_FIND_KERNEL_ERROR = Status.KERNEL_NOT_FOUND
    ACLNN_ERR_INNER_CREATE_EXECUTOR = Status.EXECUTOR_NOT_CREATED
    ACLNN_ERR_INNER_NULLPTR = Status.INTERNAL_NULL_POINTER


_recent = threading.local()  # CANN keeps one message per thread


def aclGetRecentErrMsg() -> str | None:
    """Return the message of this thread's last failure: parameter, given, wanted.

    Returns
    -------
    str or None
        At most 1,000 characters; None without a failure.

    Notes
    -----
    Neither reading it nor a later success clears it. Source: aclGetRecentErrMsg of CANN's acl.h.
    """
    message: str | None = getattr(_recent, "message", None)
    return message


def refuse(
    error: Exception, who: str, unforeseen: Status = Status.INVALID_PARAMETER
) -> aclnnStatus:
    """Return the status of an error that `who` met; its message becomes the recent one."""
    if any(type(error) is ours for ours in _OURS):
        status, _recent.message = error.status, str(error)  # type: ignore[attr-defined]
    elif isinstance(error, MemoryError):
        status, _recent.message = Status.INTERNAL_NULL_POINTER, "memory does not suffice"
    else:
        status = unforeseen
        _recent.message = f"{who} raises {type_name(error)}, which is unforeseen"
    return aclnnStatus(status)


def not_null(name: str, given: object) -> None:
    """Refuse None, the null pointer."""
    if given is None:
        raise ParameterTypeError(f"{name} is None, a null pointer", Status.NULL_POINTER)


def member(name: str, given: Any, enum: type[_E]) -> _E:
    """Return a number of an enum as its member."""
    wanted = f"an {enum.__name__}"
    number = arguments.int64(name, given, wanted)
    if number not in [int(e) for e in enum]:
        raise ParameterError(f"{name} is {number}, wanted {wanted}")
    return enum(number)
