# SPDX-License-Identifier: Apache-2.0
"""The status numbers of the operators, and the exceptions that carry them."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """Status numbers of the operators: what a call answers."""

    SUCCESS = 0
    NULL_POINTER = 161001
    INVALID_PARAMETER = 161002
    RUNTIME_ERROR = 361001
    INFERSHAPE_ERROR = 561001
    TILING_ERROR = 561002
    KERNEL_NOT_FOUND = 561003
    EXECUTOR_NOT_CREATED = 561101
    INTERNAL_NULL_POINTER = 561103


class ParameterError(ValueError):
    """An argument has an impossible value. The text names it, what was given and what was wanted.

    Attributes
    ----------
    status : Status
        INVALID_PARAMETER, 161002; other numbers in subclasses.
    """

    status = Status.INVALID_PARAMETER


class ParameterTypeError(TypeError):
    """An argument has a wrong type. The text names it, what was given and what was wanted.

    Parameters
    ----------
    message : str
        The text.
    status : Status, optional
        NULL_POINTER, 161001, if a required argument is None; else INVALID_PARAMETER, 161002.
    """

    def __init__(self, message: str, status: Status = Status.INVALID_PARAMETER) -> None:
        super().__init__(message)
        self.status = status


class RuntimeStateError(ParameterError):
    """A call came at a wrong time. The text says what was called and what came before."""

    status = Status.RUNTIME_ERROR


class InferShapeError(ParameterError):
    """No shape follows from the attributes (status 561001). The text says what was wanted."""

    status = Status.INFERSHAPE_ERROR


class TilingError(ParameterError):
    """The device's tiling refuses the arguments (status 561002). The text says what was wanted."""

    status = Status.TILING_ERROR


class KernelNotFoundError(ParameterError):
    """No kernel computes a type that the operator's IR admits (status 561003)."""

    status = Status.KERNEL_NOT_FOUND
