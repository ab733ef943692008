# SPDX-License-Identifier: Apache-2.0
"""A tensor of aclnn: a view of memory with a format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from ..plan.buffers import Array
from ..spec.arguments import reading
from ..spec.errors import ParameterError, ParameterTypeError
from ..spec.words import described
from .acltypes import ACL_FORMAT_NCDHW, OF_NUMPY, aclDataType, aclFormat
from .messages import member, not_null, refuse

Sizes = tuple[int, ...]
Ints = Sequence[int] | np.ndarray[Any, np.dtype[np.integer[Any]]]
"""What an int array may be. Types say what is right; what is passed is read as it is."""


@final
@dataclass(slots=True, eq=False, repr=False)
class AclTensor:
    """A view of memory with a format, as an operator's argument.

    Attributes
    ----------
    data : object
        What owns the memory.
    view : numpy.ndarray
        The elements, an array of the view shape.
    format : aclFormat
        What the axes are.
    offset : int
        Of the view's first element in the storage, in elements.
    storage_shape : tuple of ints
        The sizes of the storage.

    Notes
    -----
    Only aclCreateTensor and from_array make tensors that operators take; aclDestroyTensor empties
    them.
    """

    data: Any
    view: Array
    format: aclFormat
    offset: int
    storage_shape: Sizes

    @staticmethod
    def from_array(array: Array, format: int = ACL_FORMAT_NCDHW) -> AclTensor | None:
        """Make a tensor of a NumPy view of any strides; the view is its storage.

        Parameters
        ----------
        array : numpy.ndarray
            Of a dtype that aclDataType has; not masked.
        format : int
            A member of aclFormat, or its number.

        Returns
        -------
        AclTensor or None
            None where it is refused; aclGetRecentErrMsg() says why.
        """
        try:
            not_null("array", array)
            if not issubclass(type(array), np.ndarray) or issubclass(
                type(array), np.ma.MaskedArray
            ):
                raise ParameterTypeError(f"array is {described(array)}, wanted a NumPy array")
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
        """Element type."""
        return OF_NUMPY[self.view.dtype]

    @property
    def view_shape(self) -> Sizes:
        """Sizes of the view."""
        shape: Sizes = self.view.shape
        return shape

    @property
    def strides(self) -> Sizes | None:
        """Strides of the view in elements; None where they are no whole numbers of elements."""
        size = self.view.itemsize
        whole = size > 0 and not any(stride % size for stride in self.view.strides)
        return tuple(stride // size for stride in self.view.strides) if whole else None

    def __repr__(self) -> str:
        """Return the shape, type and format in words."""
        if getattr(self, "view", None) is None:  # nor has one that was made without a creator
            return "AclTensor(destroyed)"
        return f"AclTensor({self.view_shape}, {self.dtype.name}, {self.format.name})"


def tensor_of(name: str, given: Any) -> AclTensor:
    """Return a copy of a tensor, which outlives the destruction of the given one."""
    not_null(name, given)
    if type(given) is not AclTensor:
        raise ParameterTypeError(f"{name} is {described(given)}, wanted an AclTensor")
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
