# SPDX-License-Identifier: Apache-2.0
"""The arrays of a call, checked: they must fit the plan, be writable and disjoint."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..spec import layout
from ..spec.errors import ParameterError, ParameterTypeError, Status
from ..spec.opspec import check_fit
from ..spec.words import described

Array = np.ndarray[Any, Any]

empty = np.empty
"""Allocates every result and workspace that the caller does not give, but for tensors."""


def check_array(name: str, array: Any) -> Array:
    """`array` as a plain np.ndarray, whatever a subclass overrides.

    A masked array is refused: the kernel reads no masks.
    """
    if array is None:
        raise ParameterTypeError(f"{name} is None, wanted a NumPy array", Status.NULL_POINTER)
    kind = type(array)  # an instance may claim another class
    if kind is np.ndarray:
        return array  # type: ignore[no-any-return]
    if not issubclass(kind, np.ndarray) or issubclass(kind, np.ma.MaskedArray):
        raise ParameterTypeError(
            f"{name} is {described(array)}, wanted a NumPy array{_way(name, kind)}"
        )
    return np.ndarray.view(array, np.ndarray)


def _way(name: str, kind: type) -> str:
    """Advice for the error: how to make an array of a type that people often pass."""
    home = type.__dict__["__dict__"].__get__(kind).get("__module__")
    home = home.partition(".")[0] if type(home) is str else ""
    if home == "torch":
        return f": {name}.numpy(), or upsample3d.torch, which takes tensors"
    if name == "out":
        return " to write into"
    if issubclass(kind, np.ma.MaskedArray):
        return f": {name}.filled(value) says what masked elements are"
    if home == "nibabel":
        return f": {name}.get_fdata(dtype='float32'), or upsample3d.volumes, which takes files"
    if issubclass(kind, str) or home == "pathlib":
        return ", or upsample3d.volumes, which takes files"
    return f": np.asarray({name}) makes one of what holds numbers"


def check_match(
    name: str, given: Any, shape: layout.Five, strides: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    """`given` as an array of this shape, dtype and strides (of axes longer than 1)."""
    array: Array = check_array(name, given)
    check_fit(name, array.shape, array.dtype, shape, dtype)
    for have, want, size in zip(array.strides, strides, shape, strict=True):
        if have != want and size > 1 and 0 not in shape:
            raise ParameterError(
                f"{name} has strides {array.strides}, wanted {strides}, for which the plan is made"
            )
    return array


def check_target(out: Array, source: Array) -> None:
    """Refuses an `out` that is read-only, misaligned, or overlaps the source."""
    flags = out.flags
    if not flags.writeable:
        raise ParameterError("out is read-only, wanted a writable array")
    if not flags.aligned:
        raise ParameterError(f"out is misaligned, wanted a multiple of {out.dtype.alignment} bytes")
    if share_memory(out, source):
        raise ParameterError("out overlaps the source in memory, wanted memory of its own")


def check_workspace(given: Any, size: int, source: Array, out: Array) -> Array:
    """`given` as bytes: writable, contiguous, large enough, disjoint from source and out."""
    try:
        array = bytes_of(given)
    except (TypeError, ValueError, BufferError, AttributeError):
        raise ParameterTypeError(
            f"workspace is {described(given)}, wanted a writable contiguous buffer, "
            "such as np.empty(plan.workspace_size, np.uint8)"
        ) from None
    if not array.flags.writeable:
        raise ParameterError("workspace is read-only, wanted a writable buffer")
    if array.nbytes < size:
        raise ParameterError(
            f"workspace has {array.nbytes} bytes, wanted at least {size}, the plan's workspace_size"
        )
    if share_memory(array, source) or share_memory(array, out):
        raise ParameterError("workspace overlaps the source or out, wanted memory of its own")
    return array


def bytes_of(given: Any) -> Array:
    """The bytes of a contiguous array or buffer; else TypeError, ValueError or BufferError.

    Objects are refused: the kernel would overwrite their references.
    """
    if issubclass(type(given), np.ndarray):  # bfloat16 has no buffer format
        array = np.ndarray.view(given, np.ndarray)
        if array.dtype.hasobject or not array.flags.c_contiguous:
            raise TypeError("the array has objects or gaps")
        return array.reshape(-1).view(np.uint8)
    memory = memoryview(given)
    if "O" in memory.format:
        raise TypeError("the buffer has objects")
    return np.frombuffer(memory, np.uint8)


def share_memory(a: Array, b: Array) -> bool:
    """Whether two arrays have a byte in common; True if that is too hard to compute."""
    if not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=10_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True
