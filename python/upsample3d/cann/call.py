# SPDX-License-Identifier: Apache-2.0
"""An operator of aclnn, and a call of it: the arguments of a first phase, read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..plan.buffers import Array
from ..spec import arguments
from ..spec.types import DataFormat
from . import messages
from .acltypes import aclDataType, aclFormat
from .ir import Gradient
from .ir import Operator as IrOperator
from .soc import Chip
from .tensors import AclTensor, Sizes, tensor_of
from .tiling_data import Scales, Tiling

Check = Callable[["Call"], str | None]
"""What is wrong with a call; None where nothing is."""


_TINY, _HUGE = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class Operator:
    """A gradient, by all the names that the device has for it: one row of the table.

    name: in aclnn. ir: the IR operators behind it. dtypes: that aclnn admits. checks: of the first
    phase, in order. tilings: a chip that supports it -> its plan of a call on so many cores.
    device_cpu: whether the device's CPU takes what the kernel refuses. align_corners: whether it
    has alignCorners.
    """

    name: str
    ir: tuple[IrOperator, ...]
    dtypes: tuple[aclDataType, ...]
    checks: tuple[Check, ...]
    tilings: Mapping[Chip, Callable[[Call, int], Tiling]]
    device_cpu: bool
    align_corners: bool = False

    @property
    def op(self) -> Gradient:
        """The Plan's op behind it."""
        return self.ir[0].op

    @property
    def inverse(self) -> bool:
        """Whether the kernel takes a scale's reciprocal, input/output."""
        return any(operator.inverse for operator in self.ir)


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor without its memory."""

    dtype: aclDataType
    shape: Sizes
    format: aclFormat

    @property
    def channels_last(self) -> bool:
        """N, D, H, W, C."""
        return self.format == aclFormat.ACL_FORMAT_NDHWC


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of a first phase, of exact types, and without the tensors' memory."""

    operator: Operator
    grad_out: Tensor
    output_size: Sizes
    input_size: Sizes
    align_corners: bool
    scales: Scales
    grad_input: Tensor

    @property
    def sides(self) -> Iterator[tuple[str, int, int]]:
        """(axis, input size, output size) of D, H, W."""
        return zip("DHW", self.input_size[2:], self.output_size, strict=True)

    @property
    def empty(self) -> bool:
        """N = 0 or C = 0: nothing to compute."""
        return 0 in self.grad_out.shape

    @property
    def scales_that_count(self) -> Scales | None:
        """The scales where all three are > 0, else none."""
        return self.scales if all(scale > 0 for scale in self.scales) else None

    @property
    def data_format(self) -> DataFormat:
        """How both tensors' shapes are read, once they are checked."""
        return "NDHWC" if self.grad_out.channels_last else "NCDHW"

    @property
    def kernel_scales(self) -> tuple[float | None, ...] | None:
        """The scales that count, as a Plan takes them.

        The kernels take a scale, or trilinear its reciprocal, in float32, and the sizes' ratio
        where that is 0. Otherwise a scale beyond float32's normal numbers is drawn to their ends:
        indices below 2^31 fall where they fell.
        """
        if self.scales_that_count is None:
            return None
        with np.errstate(all="ignore"):
            passed = [np.float32(1 / s if self.operator.inverse else s) for s in self.scales]
        return tuple(
            min(max(scale, _TINY), _HUGE) if single > 0 else None
            for scale, single in zip(self.scales, passed, strict=True)
        )


def read(
    operator: Operator,
    grad_out: Any,
    output_size: Any,
    input_size: Any,
    align_corners: Any,
    scales: tuple[Any, Any, Any],
    grad_input: Any,
) -> tuple[Call, Array, Array]:
    """Return the Call of these arguments, and the arrays of gradOut and gradInput.

    Check 1, that none is null, then what a C compiler checks.
    """
    messages.not_null("gradOut", grad_out)
    messages.not_null("outputSize", output_size)
    messages.not_null("inputSize", input_size)
    messages.not_null("gradInput", grad_input)
    d, h, w = scales
    source = tensor_of("gradOut", grad_out)
    call = Call(
        operator,
        _described(source),
        arguments.int64s("outputSize", output_size),
        arguments.int64s("inputSize", input_size),
        arguments.boolean("alignCorners", align_corners),
        (
            arguments.double("scalesD", d),
            arguments.double("scalesH", h),
            arguments.double("scalesW", w),
        ),
        _described(result := tensor_of("gradInput", grad_input)),
    )
    return call, source.view, result.view


def _described(tensor: AclTensor) -> Tensor:
    return Tensor(tensor.dtype, tensor.view_shape, tensor.format)
