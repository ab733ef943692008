# SPDX-License-Identifier: Apache-2.0
"""The checks of a first phase, one function each; operators.py says which, in which order.

A check is a function from a Call to what is wrong with it, or None; the first that speaks decides.
Checks of memory ask the two arrays instead.
Source: the first phases of aclnnUpsampleNearestExact3dBackward, aclnnUpsampleNearest3dBackward and
aclnnUpsampleTrilinear3dBackward in the ops-cv library. Where its code slips, its documents rule:
both tensors' sizes are tested (11), gradInput has rank 5 (9), mixed formats are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..plan import buffers
from ..plan.buffers import Array
from ..spec import layout
from ..spec.arguments import MOST, MOST_SCALE, text
from ..spec.errors import ParameterError
from .acltypes import aclFormat
from .call import Call, Check, Tensor
from .tensors import Sizes

MemoryCheck = Callable[[Array, Array], str | None]


def check(call: Call, checks: Iterable[Check]) -> None:
    """Raise ParameterError with what the first failing check says."""
    for fails in checks:
        _refuse(fails(call))


def check_memory(call: Call, grad_out: Array, grad_input: Array) -> None:
    """Do the same for the memory of a call that has passed its operator's checks."""
    for fails in () if call.empty else MEMORY:
        _refuse(fails(grad_out, grad_input))


# ---- The checks ----


def dtype_known(call: Call) -> str | None:
    """Check that the operator computes gradOut's dtype."""
    if call.grad_out.dtype not in call.operator.dtypes:
        names = " or ".join(dtype.name for dtype in call.operator.dtypes)
        return f"gradOut has dtype {call.grad_out.dtype.name}, wanted {names}"
    return None


def dtypes_equal(call: Call) -> str | None:
    """Check that gradInput has gradOut's dtype."""
    have, want = call.grad_input.dtype, call.grad_out.dtype
    return f"gradInput has dtype {have.name}, wanted {want.name}" if have != want else None


def grad_out_rank(call: Call) -> str | None:
    """Check that gradOut has five dimensions."""
    shape = call.grad_out.shape
    if len(shape) != 5:
        return f"gradOut has shape {text(shape)}, wanted 5 dimensions"
    return None


def output_size_length(call: Call) -> str | None:
    """Check that outputSize is D, H, W."""
    size = call.output_size
    if len(size) != 3:
        return f"outputSize is {text(size)}, wanted 3 elements, D, H, W"
    return None


def input_size_length(call: Call) -> str | None:
    """Check that inputSize is N, C, D, H, W."""
    size = call.input_size
    if len(size) != 5:
        return f"inputSize is {text(size)}, wanted 5 elements, N, C, D, H, W"
    return None


def grad_out_format(call: Call) -> str | None:
    """Check that gradOut's format is one of three; gradInput's is not looked at."""
    if call.grad_out.format not in (
        aclFormat.ACL_FORMAT_ND, aclFormat.ACL_FORMAT_NCDHW, aclFormat.ACL_FORMAT_NDHWC,
    ):  # fmt: skip
        return f"gradOut has format {call.grad_out.format.name}, wanted NCDHW, NDHWC or ND"
    return None


def sizes_positive(call: Call) -> str | None:
    """Check that D, H, W of both sizes are greater than 0; N and C are not looked at."""
    for name, sizes, spatial in (
        ("inputSize", call.input_size, call.input_size[2:]),
        ("outputSize", call.output_size, call.output_size),
    ):
        if min(spatial) <= 0:
            return f"{name} is {sizes}, wanted D, H and W > 0"
    return None


def grad_out_shape(call: Call) -> str | None:
    """Check that gradOut is inputSize's N, C with outputSize, in its own format's order."""
    return _misshapen("gradOut", call.grad_out, (*call.input_size[:2], *call.output_size), _BOTH)


def grad_input_shape(call: Call) -> str | None:
    """Check that gradInput is inputSize, in its own format's order."""
    return _misshapen("gradInput", call.grad_input, call.input_size, _INPUT)


def formats_equal(call: Call) -> str | None:
    """Check that gradOut is NDHWC where gradInput is, and only there."""
    if call.grad_out.channels_last != call.grad_input.channels_last:
        have, other = call.grad_out.format.name, call.grad_input.format.name
        return f"gradOut has format {have}, wanted NDHWC in both or none; gradInput has {other}"
    return None


def scales_limited(call: Call) -> str | None:
    """Check that each scale, or the sizes' ratio where it is not positive, is at most 50."""
    given = [scale > 0 for scale in call.scales]
    real = [s if s > 0 else o / i for s, (_, i, o) in zip(call.scales, call.sides, strict=True)]
    for k, axis in enumerate("DHW"):
        if real[k] > MOST_SCALE:
            name = f"scales{axis}" if given[k] else f"outputSize[{k}] / inputSize[{k + 2}]"
            return f"{name} is {real[k]}, wanted at most {MOST_SCALE}; the scales are {real}"
    return None


def sizes_in_int32(call: Call) -> str | None:
    """Check that no size is above 2^31 - 1 (not tested on ascend950; here it is)."""
    for name, tensor in (("gradOut", call.grad_out), ("gradInput", call.grad_input)):
        if max(tensor.shape) > MOST:
            return f"{name} has shape {tensor.shape}, wanted sizes up to {MOST}"
    return None


def grad_input_writable(_: Array, grad_input: Array) -> str | None:
    """Check that gradInput can be written."""
    writable = grad_input.flags.writeable
    return None if writable else "gradInput is read-only, wanted writable memory"


def grad_input_aligned(_: Array, grad_input: Array) -> str | None:
    """Check that gradInput lies where its elements may lie."""
    if not grad_input.flags.aligned:
        return f"gradInput is misaligned, wanted a multiple of {grad_input.dtype.alignment} bytes"
    return None


def grad_input_once(_: Array, grad_input: Array) -> str | None:
    """Check that no two elements of gradInput share memory."""
    shape, strides = grad_input.shape, grad_input.strides
    if layout.overlaps_itself(shape, strides, grad_input.itemsize):
        return (
            f"gradInput has strides of {strides} bytes for {shape}, "
            "wanted each to pass the span of the smaller ones"
        )
    return None


def grad_input_apart(grad_out: Array, grad_input: Array) -> str | None:
    """Check that gradInput shares no memory with gradOut."""
    shared = buffers.share_memory(grad_input, grad_out)
    return "gradInput overlaps gradOut in memory, wanted memory of its own" if shared else None


def _refuse(wrong: str | None) -> None:
    if wrong is not None:
        raise ParameterError(wrong)


_INPUT = "inputSize (N, C, D, H, W) says"
_BOTH = "inputSize (N, C, D, H, W) and outputSize (D, H, W) say"


def _misshapen(name: str, tensor: Tensor, wanted: Sizes, source: str) -> str | None:
    if tensor.channels_last:
        wanted = layout.permute(wanted, layout.AXES["NDHWC"])
    have = tensor.shape
    if have == wanted:
        return None
    where = [k for k in range(5) if len(have) == 5 and have[k] != wanted[k]]
    first = f", first at index {where[0]}" if where else ""
    given = f"{text(have)} in {tensor.format.name}"
    return f"{name} has shape {given}, wanted {wanted}{first}, as {source}"


MEMORY: tuple[MemoryCheck, ...] = (
    grad_input_writable,
    grad_input_aligned,
    grad_input_once,
    grad_input_apart,
)
"""What the operators leave to the caller and would crash on; not looked at in empty tensors."""
