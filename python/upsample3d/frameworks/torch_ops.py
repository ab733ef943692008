# SPDX-License-Identifier: Apache-2.0
"""torch.ops.upsample3d: the six ops as custom operators with fake kernels, autograd and vmap.

They have aten's signatures and results, and keep their source's memory format. Autocast leaves them
alone, as it leaves aten's.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction

from ..geometry.kinds import KINDS, OPERATIONS, Operation
from . import torch_run

Kernel = Callable[..., Any]

MODES = {kind.torch_mode: kind for kind in KINDS}
"""By F.interpolate's name of the mode."""

_library = torch.library.Library("upsample3d", "DEF")


class _Linear(_SingleLevelFunction):
    """A linear op whose gradient is another one, `adjoint`, and whose tangents are its own.

    torch.library.register_autograd drops tangents where no gradient is wanted, and stops at
    torch.func's transforms.
    """

    @staticmethod
    def forward(
        source: torch.Tensor, op: Kernel, arguments: tuple[Any, ...], *_: Any
    ) -> torch.Tensor:
        result: torch.Tensor
        if not torch._C._are_functorch_transforms_active():
            with torch._C._AutoDispatchBelowAutograd():
                result = op(source, *arguments)
            return result
        # This level's gradients are this function's, those of the levels below are not.
        with (
            torch.enable_grad(),
            forward_ad._set_fwd_grad_enabled(True),
            torch._C._AutoDispatchBelowAutograd(),
        ):
            result = op(source, *arguments)
        return result

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        _, ctx.op, ctx.arguments, ctx.adjoint, ctx.adjoint_arguments = inputs

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
        return ctx.adjoint(grad, *ctx.adjoint_arguments), None, None, None, None

    @staticmethod
    def jvp(ctx: Any, tangent: torch.Tensor, *_: Any) -> torch.Tensor:
        result: torch.Tensor = ctx.op(tangent, *ctx.arguments)
        return result


def _linear(source: torch.Tensor, *rest: Any) -> torch.Tensor:
    """_Linear at the level of torch.func's transforms that is being run."""
    result: torch.Tensor
    if not torch._C._are_functorch_transforms_active():
        result = _Linear.apply(source, *rest)
        return result
    before = torch._C._functorch.get_single_level_autograd_function_allowed()
    torch._C._functorch.set_single_level_autograd_function_allowed(True)
    try:
        result = _Linear.apply(source, *rest)
    finally:
        torch._C._functorch.set_single_level_autograd_function_allowed(before)
    return result


def _op(name: str) -> Kernel:
    op: Kernel = getattr(torch.ops.upsample3d, name).default
    return op


def _define(about: Operation) -> None:
    """The operator of this op: its kernel, fake kernel, autograd and vmap."""
    name, backward = about.name, about.backward
    aten = getattr(torch.ops.aten, about.aten).default
    op, adjoint = _op(name), _op(about.adjoint)

    def cpu(source: torch.Tensor, output_size: Any, *rest: Any) -> torch.Tensor:
        input_size, others = (rest[0], rest[1:]) if backward else (None, rest)
        result = torch_run.run(name, source, output_size, input_size, others)
        if result is None:
            result = aten(source, output_size, *rest)
            result = result.contiguous(memory_format=torch_run.memory_format(source))
        return result

    def fake(source: torch.Tensor, output_size: Any, *rest: Any) -> torch.Tensor:
        torch._check(source.dim() == 5, lambda: f"{name}: wanted a 5-D tensor")
        size = rest[0] if backward else (*source.shape[:2], *output_size)
        return torch.empty(
            tuple(size), dtype=source.dtype, device=source.device,
            memory_format=torch_run.memory_format(source),
        )  # fmt: skip

    def linear(source: torch.Tensor, output_size: Any, *rest: Any) -> torch.Tensor:
        others = rest[1:] if backward else (source.shape, *rest)
        return _linear(source, op, (output_size, *rest), adjoint, (output_size, *others))

    def batch(info: Any, in_dims: Any, source: torch.Tensor, output_size: Any, *rest: Any) -> Any:
        source = source.movedim(in_dims[0], 0)
        if backward:
            (n, *others), *rest_ = rest
            rest = (info.batch_size * n, *others), *rest_
        result = op(source.flatten(0, 1), output_size, *rest)
        return result.unflatten(0, source.shape[:2]), 0

    _library.impl(name, cpu, "CPU")
    _library.impl(name, linear, "Autograd")
    torch.library.register_fake(f"upsample3d::{name}", fake, lib=_library)
    if hasattr(torch.library, "register_vmap"):  # without it, vmap makes a loop
        torch.library.register_vmap(f"upsample3d::{name}", batch, lib=_library)


def _define_all() -> None:
    scales = "float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor"
    # A result's memory follows from its source's, which compilers therefore must not change.
    exact = getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order)
    tags = (torch.Tag.pt2_compliant_tag, exact)
    for op in OPERATIONS.values():
        sizes = "SymInt[3] output_size" + ", SymInt[5] input_size" * op.backward
        rest = "bool align_corners, " * op.kind.align_corners + scales
        _library.define(f"{op.name}(Tensor {op.source}, {sizes}, {rest}", tags=tags)
    for op in OPERATIONS.values():
        _define(op)


_define_all()


def interpolate(
    input: torch.Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> torch.Tensor:
    """Compute torch.nn.functional.interpolate on these kernels, also under torch.compile.

    It needs no `enable()`.

    Parameters
    ----------
    input : torch.Tensor
        (N, C, D, H, W) on the CPU, float32, float16, bfloat16 or float64, of any memory format,
        which the result and the gradient keep.
    size : int or sequence of 3 ints, optional
        (D, H, W) of the result. Either this or `scale_factor` is needed.
    scale_factor : float or sequence of 3 floats, optional
        Output size / input size.
    mode : str, default "nearest"
        "nearest", "nearest-exact" or "trilinear".
    align_corners : bool, optional
        Whether the centres of the corner voxels coincide; only for trilinear.
    recompute_scale_factor : bool, optional
        Whether the ratio of the sizes replaces `scale_factor` in the arithmetic.
    antialias : bool, default False
        As in PyTorch, which refuses it for 5-D input.

    Returns
    -------
    torch.Tensor
        The resampled tensor, differentiable any number of times, backward and forward.

    Notes
    -----
    Arguments, results and errors are PyTorch's. It also answers all other calls: other devices,
    layouts, types, modes and dimensions.

    Examples
    --------
    >>> import torch, upsample3d.torch
    >>> x = torch.ones(1, 1, 2, 2, 2, requires_grad=True)
    >>> upsample3d.torch.interpolate(x, scale_factor=2, mode="trilinear").sum().backward()
    >>> x.grad.sum()
    tensor(64.)
    """
    arguments = input, size, scale_factor, mode, align_corners, recompute_scale_factor
    asked = None if antialias is not False else _asked(*arguments)
    if asked is None:
        return torch.nn.functional.interpolate(*arguments, antialias)
    sizes, scales = asked
    kind = MODES[mode]
    corners = (bool(align_corners),) if kind.align_corners else ()
    result: torch.Tensor = _op(kind.name)(input, sizes, *corners, *scales)
    return result


def _is_size(number: Any) -> bool:
    """Whether it is an integer of 64 bits, NumPy's too, and no bool or duration."""
    if isinstance(number, torch.SymInt):
        return True
    if isinstance(number, bool) or not isinstance(number, (int, numbers.Integral)):
        return False
    if not hasattr(number, "__index__"):
        return False
    return -(2**63) <= int(number) < 2**63


def _asked(
    input: torch.Tensor,
    size: Any,
    scale_factor: Any,
    mode: Any,
    align_corners: Any,
    recompute_scale_factor: Any,
) -> tuple[list[int], list[float]] | None:
    """(output_size, scales) as F.interpolate finds them, or None where it has the word."""
    if (
        not isinstance(input, torch.Tensor)
        or not isinstance(mode, str)
        or not (recompute_scale_factor is None or isinstance(recompute_scale_factor, bool))
        or input.dim() != 5
        or input.device.type != "cpu"
        or input.layout is not torch.strided
        or input.dtype not in torch_run.DTYPES
        or mode not in MODES
        or not (
            align_corners is None or (MODES[mode].align_corners and isinstance(align_corners, bool))
        )
        or (size is None) == (scale_factor is None)
        or (recompute_scale_factor and size is not None)
    ):
        return None
    given = scale_factor if size is None else size
    three = list(given) if isinstance(given, (list, tuple)) else [given] * 3
    if len(three) != 3:
        return None
    if size is not None:
        return (three, []) if all(map(_is_size, three)) else None
    if not all(isinstance(number, (int, float, torch.SymInt)) for number in three):
        return None
    spatial = input.shape[2:]
    if not all(0 < s < 1e9 and i * s >= 1 for i, s in zip(spatial, three, strict=True)):
        return None
    sizes = [torch.sym_int(i * s) for i, s in zip(spatial, three, strict=True)]
    return sizes, [] if recompute_scale_factor else [float(s) for s in three]
