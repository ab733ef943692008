# SPDX-License-Identifier: Apache-2.0
"""The status numbers of the operators, and the exceptions that carry them."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """What a call answers, in the operators' numbers."""

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
    """An argument with a value that cannot be: the text says which, what it was, what is wanted."""

    status = Status.INVALID_PARAMETER


class ParameterTypeError(TypeError):
    """An argument of a type that cannot be; NULL_POINTER where an array or size is None."""

    def __init__(self, message: str, status: Status = Status.INVALID_PARAMETER) -> None:
        super().__init__(message)
        self.status = status


class RuntimeStateError(ParameterError):
    """A call at a time that cannot be: the text says what was called, and what came before."""

    status = Status.RUNTIME_ERROR


class InferShapeError(ParameterError):
    """Attributes from which no shape follows; the text says what was given and what is wanted."""

    status = Status.INFERSHAPE_ERROR


class TilingError(ParameterError):
    """What the device's tiling refuses; the text says what was given and what is wanted."""

    status = Status.TILING_ERROR


class KernelNotFoundError(ParameterError):
    """A type that an operator's IR admits and no kernel computes."""

    status = Status.KERNEL_NOT_FOUND
