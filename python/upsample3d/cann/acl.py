# SPDX-License-Identifier: Apache-2.0
"""What a caller of the operators holds: tensors and int arrays, by CANN's names.

Source: aclCreateTensor and its companions of CANN's headers. A creator returns None where it
refuses, a destroyer a status; aclGetRecentErrMsg() says why.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from ..plan import buffers
from ..plan.buffers import Array
from ..spec import layout
from ..spec.errors import ParameterError, ParameterTypeError
from .acltypes import ACL_FORMAT_NCDHW, OF_NUMPY, aclDataType, aclFormat
from .messages import (
    MOST_READ,
    aclnnStatus,
    int64,
    integers,
    kind,
    member,
    not_null,
    reading,
    refuse,
    told,
)

Sizes = tuple[int, ...]
Ints = Sequence[int] | np.ndarray[Any, np.dtype[np.integer[Any]]]
"""What an int array may be. Types say what is right; what is passed is read as it is."""


@final
@dataclass(slots=True, eq=False, repr=False)
class AclTensor:
    """A view of memory with a format, as an operator's argument.

    data: what owns the memory. view: the elements, an array of the view shape. offset: of the
    view's first element in the storage, in elements. Only aclCreateTensor and from_array make
    tensors that operators take; aclDestroyTensor empties them.
    """

    data: Any
    view: Array
    format: aclFormat
    offset: int
    storage_shape: Sizes

    @staticmethod
    def from_array(array: Array, format: int = ACL_FORMAT_NCDHW) -> AclTensor | None:
        """The tensor of a NumPy view of any strides, its storage the view itself; or None."""
        try:
            not_null("array", array)
            if not issubclass(type(array), np.ndarray) or issubclass(
                type(array), np.ma.MaskedArray
            ):
                raise ParameterTypeError(f"array is a {kind(array)}, wanted a NumPy array")
            with reading("array", array, "a NumPy array"):
                view = np.ndarray.view(array, np.ndarray)
            if view.dtype not in OF_NUMPY:
                raise ParameterTypeError(
                    f"array has dtype {view.dtype.str!r}, wanted a type of aclDataType"
                )
            return AclTensor(array, view, member("format", format, aclFormat), 0, view.shape)
        except Exception as error:
            refuse(error, "AclTensor.from_array")
            return None

    @property
    def dtype(self) -> aclDataType:
        """The element type."""
        return OF_NUMPY[self.view.dtype]

    @property
    def view_shape(self) -> Sizes:
        """The sizes of the view."""
        shape: Sizes = self.view.shape
        return shape

    @property
    def strides(self) -> Sizes | None:
        """The view's strides in elements; None where they are no whole numbers of elements."""
        size = self.view.itemsize
        whole = size > 0 and not any(stride % size for stride in self.view.strides)
        return tuple(stride // size for stride in self.view.strides) if whole else None

    def __repr__(self) -> str:
        if getattr(self, "view", None) is None:  # nor has one that was made without a creator
            return "AclTensor(destroyed)"
        return f"AclTensor({self.view_shape}, {self.dtype.name}, {self.format.name})"


def aclCreateTensor(
    view_dims: Ints,
    data_type: int,
    strides: Ints | None,
    offset: int,
    format: int,
    storage_dims: Ints,
    data: Any,
) -> AclTensor | None:
    """The tensor whose element k lies at data[offset + sum(k * strides)], or None.

    CANN's viewDimsNum and storageDimsNum are left out: sequences know their lengths. data: a
    contiguous buffer, at least as long as the elements of storage_dims, and if it is a NumPy array,
    of data_type's itemsize or of bytes; None where there are no elements. Of types that NumPy has
    not, such as ACL_INT4, it is not looked at: no operator takes them. strides, offset: in
    elements; strides None means contiguous; those of axes of size 1 do not matter. Refused: a view
    that leaves its storage, a storage larger than its buffer, and memory that is misaligned for its
    elements.
    """
    try:
        shape, storage = _sizes("viewDims", view_dims), _sizes("storageDims", storage_dims)
        dtype = member("dataType", data_type, aclDataType).numpy
        given = layout.contiguous(shape, 1) if strides is None else _axes("strides", strides)
        if len(given) != len(shape):
            raise ParameterError(f"strides has {len(given)} elements, wanted {len(shape)}")
        steps = tuple(s if size > 1 else 1 for s, size in zip(given, shape, strict=True))
        first = int64("offset", offset)
        _check_inside(shape, steps, first, math.prod(storage))
        memory = _memory(data, math.prod(storage), dtype)
        with reading("viewDims", shape, f"sizes that NumPy can hold, not {told(shape)}"):
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
    """Ends a tensor. Executors made with it can run: they hold what they need."""
    try:
        tensor_of("tensor", tensor)
        tensor.data = None
        tensor.view = None  # type: ignore[assignment]  # no operator takes it any more
    except Exception as error:
        return refuse(error, "aclDestroyTensor")
    return aclnnStatus.ACLNN_SUCCESS


def aclCreateIntArray(value: Ints | None, size: int) -> Sizes | None:
    """The first `size` of up to 64 numbers, or None; operators take any sequence of ints."""
    try:
        not_null("value", value)
        numbers, count = integers("value", value), int64("size", size)
        if not 0 <= count <= len(numbers):
            raise ParameterError(f"size is {count}, wanted 0 to {len(numbers)} for this value")
        return numbers[:count]
    except Exception as error:
        refuse(error, "aclCreateIntArray")
        return None


def aclDestroyIntArray(array: Ints | None) -> aclnnStatus:
    """Ends an int array: nothing to do but to refuse what is none."""
    try:
        not_null("array", array)
        integers("array", array)
    except Exception as error:
        return refuse(error, "aclDestroyIntArray")
    return aclnnStatus.ACLNN_SUCCESS


def tensor_of(name: str, given: Any) -> AclTensor:
    """A copy of a tensor, which outlives the destruction of the given one."""
    not_null(name, given)
    if type(given) is not AclTensor:
        raise ParameterTypeError(f"{name} is a {kind(given)}, wanted an AclTensor")
    with reading(name, given, "a tensor made by aclCreateTensor or AclTensor.from_array"):
        tensor = replace(given)
    if tensor.view is None:
        raise ParameterError(f"{name} is destroyed, wanted a tensor that is alive")
    if (
        type(tensor.view) is not np.ndarray
        or tensor.view.dtype not in OF_NUMPY
        or type(tensor.format) is not aclFormat
    ):
        raise ParameterTypeError(f"{name} is made by hand, wanted one made by a creator")
    return tensor


def _axes(name: str, given: Any) -> Sizes:
    numbers = integers(name, given, MOST_READ + 1)
    if len(numbers) > MOST_READ:
        raise ParameterError(f"{name} has more than {MOST_READ} elements, wanted at most that")
    return numbers


def _sizes(name: str, given: Any) -> Sizes:
    sizes = _axes(name, given)
    if min(sizes, default=0) < 0:
        raise ParameterError(f"{name} is {told(sizes)}, wanted sizes >= 0")
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
            f"offset is {first}, strides are {told(steps)}: the view has elements {low} to {high}, "
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
            f"tensorData has strides of {told(array.strides)} bytes for {told(array.shape)}, "
            "wanted the contiguous array under it, with strides and offset, or AclTensor.from_array"
        )
    if array.itemsize not in (1, dtype.itemsize):
        raise ParameterError(
            f"tensorData has dtype {array.dtype.name}, wanted {dtype}, another of {dtype.itemsize} "
            "bytes, or bytes"
        )
    return array
