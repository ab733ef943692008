# SPDX-License-Identifier: Apache-2.0
"""What a caller of the operators holds: tensors and int arrays, by CANN's names.

Source: aclCreateTensor and its companions of CANN's headers. A creator returns None where it
refuses, a destroyer a status; aclGetRecentErrMsg() says why.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..plan import buffers
from ..plan.buffers import Array
from ..spec import layout
from ..spec.arguments import int64, int64s, reading, text
from ..spec.errors import ParameterError
from .acltypes import aclDataType, aclFormat
from .messages import aclnnStatus, member, not_null, refuse
from .tensors import AclTensor, Ints, Sizes, tensor_of


def aclCreateTensor(
    view_dims: Ints,
    data_type: int,
    strides: Ints | None,
    offset: int,
    format: int,
    storage_dims: Ints,
    data: Any,
) -> AclTensor | None:
    """Make the tensor whose element k lies at data[offset + sum(k * strides)].

    Parameters
    ----------
    view_dims : sequence of ints
        The sizes of the view, up to 64. CANN's viewDimsNum is its length.
    data_type : int
        A member of aclDataType, or its number.
    strides : sequence of ints or None
        In elements, one for each size; None means contiguous. Those of sizes of 1 do not matter.
    offset : int
        Of the view's first element in the storage, in elements.
    format : int
        A member of aclFormat, or its number.
    storage_dims : sequence of ints
        The sizes of the storage, up to 64. CANN's storageDimsNum is its length.
    data : buffer or None
        Contiguous, at least as long as the storage, and if it is a NumPy array, of data_type's
        itemsize or of bytes; None where there are no elements. Of types that NumPy has not, such as
        ACL_INT4, it is not looked at: no operator takes them.

    Returns
    -------
    AclTensor or None
        None for a view that leaves its storage, a storage larger than its buffer, memory that is
        misaligned for its elements, and arguments of wrong types; aclGetRecentErrMsg() says which.

    Notes
    -----
    Source: aclCreateTensor of CANN's aclnn/acl_meta.h.
    """
    try:
        shape, storage = _sizes("viewDims", view_dims), _sizes("storageDims", storage_dims)
        dtype = member("dataType", data_type, aclDataType).numpy
        if strides is None:
            strides = layout.contiguous(shape, 1)
        given = int64s("strides", strides, whole=True)
        if len(given) != len(shape):
            raise ParameterError(f"strides has {len(given)} elements, wanted {len(shape)}")
        steps = tuple(s if size > 1 else 1 for s, size in zip(given, shape, strict=True))
        first = int64("offset", offset)
        _check_inside(shape, steps, first, math.prod(storage))
        memory = _memory(data, math.prod(storage), dtype)
        with reading("viewDims", shape, f"sizes that NumPy can hold, not {text(shape)}"):
            view: Array = np.ndarray(
                shape, dtype, memory, first * dtype.itemsize, [s * dtype.itemsize for s in steps]
            )
        if view.flags.writeable != memory.flags.writeable:  # what NumPy makes of a MemoryError here
            raise MemoryError
        if not view.flags.aligned:
            raise ParameterError(f"tensorData is misaligned, wanted {dtype.alignment} bytes")
        return AclTensor(data, view, member("format", format, aclFormat), first, storage)
    except Exception as error:
        refuse(error, "aclCreateTensor")
        return None


def aclDestroyTensor(tensor: AclTensor) -> aclnnStatus:
    """End a tensor. Executors made with it can run: they hold what they need.

    Parameters
    ----------
    tensor : AclTensor
        One that has not ended.

    Returns
    -------
    aclnnStatus
        ACLNN_SUCCESS; ACLNN_ERR_PARAM_NULLPTR (161001) for None; ACLNN_ERR_PARAM_INVALID (161002)
        for what is no tensor, or a destroyed one.
    """
    try:
        tensor_of("tensor", tensor)
        tensor.data = None
        tensor.view = None  # type: ignore[assignment]  # no operator takes it any more
    except Exception as error:
        return refuse(error, "aclDestroyTensor")
    return aclnnStatus.ACLNN_SUCCESS


def aclCreateIntArray(value: Ints | None, size: int) -> Sizes | None:
    """Make an int array. The operators take any other sequence of ints as well.

    Parameters
    ----------
    value : sequence of ints
        Of 64 bits; the first 64 are read.
    size : int
        How many of them.

    Returns
    -------
    tuple of ints or None
        None where it is refused; aclGetRecentErrMsg() says why.
    """
    try:
        not_null("value", value)
        numbers, count = int64s("value", value), int64("size", size)
        if not 0 <= count <= len(numbers):
            raise ParameterError(f"size is {count}, wanted 0 to {len(numbers)} for this value")
        return numbers[:count]
    except Exception as error:
        refuse(error, "aclCreateIntArray")
        return None


def aclDestroyIntArray(array: Ints | None) -> aclnnStatus:
    """End an int array: nothing to do but to refuse what is none.

    Parameters
    ----------
    array : sequence of ints
        Of 64 bits.

    Returns
    -------
    aclnnStatus
        ACLNN_SUCCESS; ACLNN_ERR_PARAM_NULLPTR (161001) for None; ACLNN_ERR_PARAM_INVALID (161002)
        for what is no sequence of ints.
    """
    try:
        not_null("array", array)
        int64s("array", array)
    except Exception as error:
        return refuse(error, "aclDestroyIntArray")
    return aclnnStatus.ACLNN_SUCCESS


def _sizes(name: str, given: Any) -> Sizes:
    sizes = int64s(name, given, whole=True)
    if min(sizes, default=0) < 0:
        raise ParameterError(f"{name} is {text(sizes)}, wanted sizes >= 0")
    return sizes


def _check_inside(shape: Sizes, steps: Sizes, first: int, storage: int) -> None:
    """Refuses a view with elements outside the storage's `storage` elements."""
    reach = [step * (size - 1) for step, size in zip(steps, shape, strict=True)]
    low = first + sum(r for r in reach if r < 0)
    high = first + sum(r for r in reach if r > 0)
    if 0 in shape:  # no elements: only where they would begin
        low, high = first, first - 1
    if low < 0 or high >= storage:
        raise ParameterError(
            f"offset is {first}, strides are {text(steps)}: the view has elements {low} to {high}, "
            f"wanted 0 to {_count(storage - 1)}, those of storageDims"
        )


def _count(number: int) -> str:
    """A number in words that 64 sizes of 64 bits do not make long."""
    return str(number) if number < 2**63 else "2^63 or more"


def _memory(data: Any, count: int, dtype: np.dtype[Any]) -> Array:
    """The bytes of a contiguous buffer or array, enough for `count` elements."""
    size = count * dtype.itemsize
    if size == 0:
        return np.empty(0, np.uint8)
    not_null("tensorData", data)
    if issubclass(type(data), np.ndarray):
        data = _storage(data, dtype)
    with reading("tensorData", data, "a contiguous buffer without objects"):
        memory = buffers.bytes_of(data)
    if memory.nbytes < size:
        raise ParameterError(
            f"tensorData has {memory.nbytes} bytes, wanted {_count(size)} for storageDims"
        )
    return memory


def _storage(data: Any, dtype: np.dtype[Any]) -> Array:
    """A NumPy array that is contiguous, and of elements as long as dtype's or of bytes."""
    with reading("tensorData", data, "a NumPy array"):
        array: Array = np.ndarray.view(data, np.ndarray)
    if not array.flags.c_contiguous:
        raise ParameterError(
            f"tensorData has strides of {text(array.strides)} bytes for {text(array.shape)}, "
            "wanted the contiguous array under it, with strides and offset, or AclTensor.from_array"
        )
    if array.itemsize not in (1, dtype.itemsize):
        raise ParameterError(
            f"tensorData has dtype {array.dtype.name}, wanted {dtype}, another of {dtype.itemsize} "
            "bytes, or bytes"
        )
    return array
