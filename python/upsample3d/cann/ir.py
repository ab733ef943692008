# SPDX-License-Identifier: Apache-2.0
"""The IR operators behind the gradients: attributes, the shape and type they infer, and running.

    graph.UpsampleNearest3dGrad.infer_shape((1, 1, 10, 10, 10), (1, 1, 5, 5, 5), (10, 10, 10))
    graph.UpsampleNearest3dGrad(grad_output, input_size=(1, 1, 5, 5, 5), scales=(2, 2, 2))
    graph.UpsampleTrilinear3dGrad(grad_output, (1, 1, 5, 5, 5), grad_output.shape[2:])

Attributes are given in the operator's order or by name; those without a default are required:

    UpsampleNearestExact3dGrad   input_size, output_size=(0, 0, 0), scales=(0, 0, 0)
    UpsampleNearest3dGrad        input_size, output_size=(), scales=()
    UpsampleTrilinear3dGrad      input_size, output_size=(), scales=(), align_corners=False
    UpsampleTrilinear3dBackward  output_size, input_size, align_corners=False, scale_d=0.0,
                                 scale_h=0.0, scale_w=0.0

scales are output/input, but scale_d, scale_h and scale_w input/output. Shapes are (N, C, D, H, W).
output_size has to be grad_output's D, H, W, and scales have to lead there. UpsampleNearest3dGrad
and UpsampleTrilinear3dGrad require one of the two, UpsampleNearestExact3dGrad at most one.

Failures are InferShapeError (561001), where no shape or type follows from what is given,
TilingError (561002), where the operator cannot run, and KernelNotFoundError (561003); each is a
ParameterError with a `status`. Lists are any sequences of up to 64 elements; floats are float32, as
in the IR. Sources: the IR definitions, infershape and tiling of these operators in the ops-cv
library; for UpsampleTrilinear3dGrad, an operator of the device's CPU, its document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from ..kernel import cpu
from ..plan import buffers
from ..plan.buffers import Array
from ..plan.plan import Plan
from ..spec import arguments, dtypes
from ..spec.errors import (
    InferShapeError,
    KernelNotFoundError,
    ParameterError,
    ParameterTypeError,
    TilingError,
)
from ..spec.layout import Five
from .attributes import Attribute, int64s

_D = TypeVar("_D", bound=np.dtype[Any])

Values = dict[str, Any]
Gradient = Literal["nearest_exact_backward", "nearest_backward", "trilinear_backward"]


_GRAD_OUTPUT = Attribute("grad_output", int64s)


@dataclass(frozen=True, slots=True)
class Operator:
    """An IR operator with the input grad_output and the result grad_input.

    Attributes
    ----------
    name : str
        In the IR.
    op : str
        The function that computes it, and the Plan's op.
    attributes : tuple of Attribute
        In order.
    dtypes : tuple of numpy.dtype
        That the IR admits.
    scales : tuple of str
        The attributes that hold the scales, output/input.
    inverse : bool
        Whether the scales are input/output instead.
    by_scales : bool
        Whether either output_size or scales are given, and what is given has to lead to
        grad_output's sizes; else output_size is, and it alone is compared.
    zeros_are_empty : bool
        Whether a list of zeros counts as not given, and neither list need be.
    least_ratio : float
        The least input/output ratio that can be run.
    """

    name: str
    op: Gradient
    attributes: tuple[Attribute, ...]
    dtypes: tuple[np.dtype[Any], ...]
    scales: tuple[str, ...] = ("scales",)
    inverse: bool = False
    by_scales: bool = True
    zeros_are_empty: bool = False
    least_ratio: float = 0.0

    def infer_shape(self, grad_output_shape: Any, /, *values: Any, **named: Any) -> Five:
        """Infer the shape of grad_input.

        Parameters
        ----------
        grad_output_shape : sequence of 5 ints
            N, C, D, H, W.
        *values, **named : object
            The attributes, in the operator's order or by name.

        Returns
        -------
        tuple of 5 ints
            input_size.

        Raises
        ------
        InferShapeError
            561001, where output_size is not grad_output's D, H, W, or scales without it do not lead
            there (the floor of input size * scale, the product in float32), or an attribute is
            missing or of a wrong type.

        Notes
        -----
        N and C are not compared. Source: infershape of this operator in ops-cv.
        """
        return cpu.in_default_mode(self._read_all, grad_output_shape, values, named)[0]

    def infer_dtype(self, dtype: Any, /) -> np.dtype[Any]:
        """Infer the type of grad_input.

        Parameters
        ----------
        dtype : dtype-like
            That of grad_output.

        Returns
        -------
        numpy.dtype
            The same.

        Raises
        ------
        InferShapeError
            561001, where the IR does not admit it.
        """
        found = dtypes.find_moved(dtype)
        if found is None or found.numpy not in self.dtypes:
            wanted = " or ".join(known.name for known in self.dtypes)
            given = arguments.text(dtype)
            raise InferShapeError(f"{self.name}: dtype is {given}, wanted NumPy's {wanted}")
        return found.numpy

    def __call__(
        self, grad_output: np.ndarray[Any, _D], /, *values: Any, **named: Any
    ) -> np.ndarray[Any, _D]:
        """Compute grad_input; the bits are those of the function `op` with these scales.

        Parameters
        ----------
        grad_output : numpy.ndarray
            (N, C, D, H, W), of a dtype that the IR admits and of any strides.
        *values, **named : object
            The attributes, in the operator's order or by name.

        Returns
        -------
        numpy.ndarray
            grad_input, of the shape input_size and of grad_output's dtype.

        Raises
        ------
        ParameterTypeError
            Where grad_output is no array.
        InferShapeError
            561001, as infer_shape and infer_dtype.
        TilingError
            561002, where N or C differ, a size is below 1, or a scale is one that no chip's tiling
            takes.
        KernelNotFoundError
            561003, for a type that the IR admits and no kernel computes: uint8.
        """
        array: Any = buffers.check_array("grad_output", grad_output)
        result: Any = cpu.in_default_mode(self._plan, array, values, named)(array)
        return result  # type: ignore[no-any-return]

    def _plan(self, grad_output: Array, values: tuple[Any, ...], named: Mapping[str, Any]) -> Plan:
        shape, scales, attributes = self._read_all(grad_output.shape, values, named)
        dtype = self.infer_dtype(grad_output.dtype)
        self._check(grad_output.shape, shape, scales)
        if dtypes.find(dtype) is None:
            raise KernelNotFoundError(f"{self.name}: no kernel computes {dtype}")
        try:
            return Plan(
                self.op,
                grad_output.shape,
                dtype,
                strides=grad_output.strides,
                input_size=shape,
                scales=[self._forward(scale) for scale in scales],
                align_corners=attributes.get("align_corners", False),
            )
        except (ParameterError, ParameterTypeError) as error:
            raise TilingError(f"{self.name}: {error}") from None

    def _read_all(
        self, grad_output_shape: Any, values: tuple[Any, ...], named: Mapping[str, Any]
    ) -> tuple[Five, tuple[float, ...], Values]:
        """The shape of grad_input, three scales, and the value of every attribute."""
        attributes = self._bind(values, named)
        return *self._infer(grad_output_shape, attributes), attributes

    def _bind(self, values: tuple[Any, ...], named: Mapping[str, Any]) -> Values:
        """The value of every attribute, as its reader returns it."""
        names = [attribute.name for attribute in self.attributes]
        if len(values) > len(names) or not named.keys() <= set(names[len(values) :]):
            raise InferShapeError(
                f"{self.name}: attributes are {arguments.text(values)} and "
                f"{arguments.text(dict(named))}, wanted {names}, each once"
            )
        given = {a.name: a.default for a in self.attributes if a.default is not None}
        given |= {**dict(zip(names, values, strict=False)), **named}
        return {a.name: self._read(a, given) for a in self.attributes}

    def _read(self, attribute: Attribute, given: Mapping[str, Any]) -> Any:
        name = attribute.name
        if name not in given:
            raise InferShapeError(f"{self.name}: {name} is not given, but required")
        try:
            return attribute.read(name, given[name])
        except (ParameterError, ParameterTypeError) as error:
            raise InferShapeError(f"{self.name}: {error}") from None

    def _infer(self, grad_output_shape: Any, attributes: Values) -> tuple[Five, tuple[float, ...]]:
        """The shape of grad_input, and three scales; those not given are 0."""
        shape = self._of_length(
            5, "grad_output", self._read(_GRAD_OUTPUT, {"grad_output": grad_output_shape})
        )
        size = self._of_length(5, "input_size", attributes["input_size"])
        output_size = self._or_empty(attributes["output_size"])
        scales = self._or_empty(sum((attributes[name] for name in self.scales), ()))
        neither = self.zeros_are_empty and not (output_size or scales)
        if self.by_scales and bool(output_size) == bool(scales) and not neither:
            both = (
                f"output_size is {arguments.text(output_size)}, scales are {arguments.text(scales)}"
            )
            none = f"neither output_size, which would be {shape[2:]}, nor scales is given"
            wanted = "wanted one of them" + " or neither" * self.zeros_are_empty
            raise InferShapeError(f"{self.name}: {both if scales else none}, {wanted}")
        if output_size or not self.by_scales:
            sizes: Any = self._of_length(3, "output_size", output_size)
            reason = "as output_size says"
        elif scales:
            scales = self._of_length(3, "scales", scales)
            sizes = tuple(map(_floor, size[2:], scales))
            reason = f"to which scales {scales} of {size[2:]} lead"
        if not neither and shape[2:] != sizes:
            raise InferShapeError(
                f"{self.name}: grad_output has D, H, W = {shape[2:]}, wanted {sizes}, {reason}"
            )
        n, c, d, h, w = size
        return (n, c, d, h, w), scales or (0.0, 0.0, 0.0)

    def _forward(self, scale: float) -> float | None:
        """Output/input of a scale, None where it is not given."""
        return (1 / scale if self.inverse else scale) if scale > 0 else None

    def _or_empty(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        return values if any(values) or not self.zeros_are_empty else ()

    def _of_length(self, count: int, name: str, numbers: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(numbers) != count:
            given = arguments.text(numbers)
            raise InferShapeError(f"{self.name}: {name} is {given}, wanted {count} numbers")
        return numbers

    def _check(self, source: tuple[int, ...], result: Five, scales: tuple[float, ...]) -> None:
        """Refuses what the tiling refuses on every chip; D, H, W > 0 is left to the Plan.

        That an infinite scale is refused is ours: no Plan has one.
        """
        if source[:2] != result[:2]:
            raise TilingError(
                f"{self.name}: input_size has N, C = {result[:2]}, "
                f"wanted grad_output's {source[:2]}"
            )
        for axis, scale, i, o in zip("DHW", scales, result[2:], source[2:], strict=True):
            ratio = scale if scale > 0 else np.float32(i) / np.float32(max(o, 1))
            if not self.least_ratio <= ratio < np.inf:
                raise TilingError(
                    f"{self.name}: along {axis} the scale or the ratio of sizes {i}, {o} is "
                    f"{ratio}, wanted it finite and at least {self.least_ratio}"
                )


def _floor(size: int, scale: float) -> float:
    """The output size that a scale leads to: the product is rounded to float32, then down."""
    with np.errstate(all="ignore"):
        product = np.floor(np.float32(size) * np.float32(scale))
    return int(product) if np.isfinite(product) else float(product)


__all__ = ["InferShapeError", "KernelNotFoundError", "Operator", "TilingError"]
