# SPDX-License-Identifier: Apache-2.0
"""PyTorch's 3-D up-sampling on these kernels: `enable()` in eager code, `interpolate` in compiled.

Nothing is compiled against PyTorch: the CPU kernels of its operators are overridden from Python.
"""

from __future__ import annotations

import inspect
import os
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ..geometry.kinds import OPERATIONS
from .torch_ops import interpolate
from .torch_run import memory_format, run

__all__ = ["disable", "enable", "enable_worker", "enabled", "interpolate"]

Kernel = Callable[..., Any]

_lock = threading.RLock()
if hasattr(os, "register_at_fork"):  # no child is born in the middle of a switch
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )
_holders: dict[object, bool] = {}  # who wants the kernels -> whether formats are kept, latest last
_library: Any = None  # what is registered
_keep = True  # the latest holder's wish
_told = False, True  # whether there are holders, and the wish, as fake tensors know it
_PROCESS = object()  # the holder behind enable()

# PyTorch frees a kernel that is unregistered, also within a call that switches off. What get_kernel
# returns holds on to it: kept for the last registrations, more than such calls nest.
_kernels: deque[list[Any]] = deque(maxlen=64)


def enable(*, keep_format: bool = True) -> None:
    """Run PyTorch's 3-D up-sampling on the CPU, and its gradients, on these kernels.

    It holds for the whole process, until `disable()`, and may be repeated; the last call counts.

    Parameters
    ----------
    keep_format : bool, default True
        Whether the nearest gradient of a channels_last_3d grad_output is channels_last_3d. If
        False, it is NCDHW, as PyTorch makes it.

    Notes
    -----
    The modes are nearest, nearest-exact and trilinear, of float32, float16, bfloat16 and float64.
    All else stays with PyTorch: other types, empty tensors, wrong arguments and their errors.
    Nearest results equal PyTorch's index for index, trilinear ones within rounding. Graphs that
    torch.compile has made stay as they are (docs/torch.md).

    Forked workers inherit the switch. Workers that are spawned or come from a fork server do not:
    they call `enable_worker`.

    Examples
    --------
    >>> import torch, upsample3d.torch
    >>> upsample3d.torch.enable()
    >>> torch.nn.functional.interpolate(torch.ones(1, 1, 2, 2, 2), scale_factor=2).shape
    torch.Size([1, 1, 4, 4, 4])
    >>> upsample3d.torch.disable()
    """
    _hold(_PROCESS, keep_format)


def enable_worker(worker_id: int = 0) -> None:
    """Run PyTorch's 3-D up-sampling on these kernels in a worker, however it was started.

    Parameters
    ----------
    worker_id : int, default 0
        Has no effect; torch.utils.data.DataLoader passes it.

    Notes
    -----
    It is a `worker_init_fn` for torch.utils.data.DataLoader and an `initializer` for process pools.
    A `worker_init_fn` of your own, or the function that torch.multiprocessing.spawn runs, calls it
    in its first line.

    Examples
    --------
    >>> import torch, upsample3d.torch
    >>> loader = torch.utils.data.DataLoader(
    ...     [1, 2], num_workers=2, worker_init_fn=upsample3d.torch.enable_worker)
    """
    enable()


def disable() -> None:
    """Return to PyTorch's own kernels, also within `with enabled()`.

    Notes
    -----
    If other threads run, calls reach PyTorch's kernels through ours, which stay registered until a
    later switch without other threads.

    Examples
    --------
    >>> import upsample3d.torch
    >>> upsample3d.torch.disable()
    """
    with _lock:
        _holders.clear()
        _settle()


@contextmanager
def enabled(*, keep_format: bool = True) -> Iterator[None]:
    """Run PyTorch's 3-D up-sampling on these kernels within a `with` block.

    Blocks nest, and may overlap between threads; the switch holds for the whole process.

    Parameters
    ----------
    keep_format : bool, default True
        Whether the nearest gradient of a channels_last_3d grad_output is channels_last_3d. If
        False, it is NCDHW, as PyTorch makes it.

    Yields
    ------
    None
        The block has no value.

    Examples
    --------
    >>> import torch, upsample3d.torch
    >>> with upsample3d.torch.enabled():
    ...     torch.nn.functional.interpolate(torch.ones(1, 1, 2, 2, 2), scale_factor=2).shape
    torch.Size([1, 1, 4, 4, 4])
    """
    token = object()
    _hold(token, keep_format)
    try:
        yield
    finally:
        with _lock:
            _holders.pop(token, None)
            _settle()


def _hold(token: object, keep_format: bool) -> None:
    with _lock:
        _holders.pop(token, None)
        _holders[token] = bool(keep_format)
        try:
            _settle()
        except BaseException:
            del _holders[token]
            raise


def _settle() -> None:
    """Makes the registration what the holders want."""
    global _library, _keep, _told
    _keep = next(reversed(_holders.values()), True)
    if _holders and _library is None:
        _library = _register()
    elif _library is not None and not _holders and threading.active_count() == 1:
        # Beside other threads they stay and pass on: PyTorch does not lock its table for calls.
        _library, library = None, _library
        library._destroy()
    if (now := (bool(_holders), _keep)) != _told:
        _told = now
        _forget_fakes()


def _can_hold() -> bool:
    """Whether PyTorch hands out kernels, to be held and called."""
    return hasattr(torch.library, "get_kernel")


def _forget_fakes() -> None:
    """Fake tensors remember strides: those of the Meta kernels that were."""
    fakes = sys.modules.get("torch._subclasses.fake_tensor")
    clear = getattr(getattr(fakes, "FakeTensorMode", None), "cache_clear", None)
    if clear is not None:
        clear()


# ---- Registration ----


def _register() -> Any:
    """The library that holds the overrides; destroying it restores the stock kernels."""
    library = torch.library.Library("aten", "IMPL")
    kernels: list[Any] = []
    try:
        for op in OPERATIONS.values():
            names = [op.aten]
            if _can_hold():  # else _stock needs these as they are
                names.append(f"{op.aten}.{op.aten_out}")
            override = _backward if op.backward else _forward
            for name in names:
                stock = _stock(name, op.aten_out, "CPU")
                _override(library, name, "CPU", override(op.name, stock), kernels)
            if op.backward and op.kind.moves:
                stock = _stock(op.aten, op.aten_out, "Meta")
                _override(library, op.aten, "Meta", _meta(stock), kernels)
    except BaseException:
        library._destroy()
        raise
    _kernels.append(kernels)
    return library


def _override(library: Any, name: str, key: str, kernel: Kernel, kernels: list[Any]) -> None:
    """Registers `kernel`, silently: PyTorch warns, once per process, that there was one before."""
    options: dict[str, Any] = {"with_keyset": True}
    if "allow_override" in inspect.signature(type(library).impl).parameters:
        options["allow_override"] = True
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"(?s).*[Oo]verriding a previously registered kernel")
        library.impl(name, kernel, key, **options)
    if _can_hold():
        kernels.append(torch.library.get_kernel(f"aten::{name}", key))


def _stock(name: str, overload: str, key: str) -> Kernel:
    """The kernel that is registered now, called as stock(keyset, *arguments, **out).

    overload: the one of the operator that fills a tensor, which it calls by the same name.
    """
    if _can_hold():
        call: Kernel = torch.library.get_kernel(f"aten::{name}", key).call_boxed
        return call
    into = getattr(getattr(torch.ops.aten, name), overload)

    def through_out(keyset: Any, source: torch.Tensor, *arguments: Any) -> torch.Tensor:
        empty = torch.empty(0, dtype=source.dtype, device=source.device)
        result: torch.Tensor = into(source, *arguments, **{overload: empty})
        return result

    return through_out


def _forward(op: str, stock: Kernel) -> Kernel:
    """The override of a forward op, default or .out overload."""

    def kernel(
        keyset: Any, source: torch.Tensor, output_size: Any, *rest: Any, **into: torch.Tensor
    ) -> torch.Tensor:
        result: torch.Tensor | None = None
        if _holders:
            result = run(op, source, output_size, None, rest, False, **into)
        if result is None:
            result = stock(keyset, source, output_size, *rest, **into)
        return result

    return kernel


def _backward(op: str, stock: Kernel) -> Kernel:
    """The override of a gradient, default or .grad_input overload."""

    def kernel(
        keyset: Any, source: torch.Tensor, output_size: Any, input_size: Any, *rest: Any,
        grad_input: torch.Tensor | None = None,
    ) -> torch.Tensor:  # fmt: skip
        result: torch.Tensor | None = None
        if _holders:
            result = run(op, source, output_size, input_size, rest, not _keep, grad_input)
        if result is not None:
            return result
        if grad_input is not None:
            result = stock(keyset, source, output_size, input_size, *rest, grad_input=grad_input)
            return result
        result = stock(keyset, source, output_size, input_size, *rest)
        if _holders and _keep:  # as the Meta kernel says
            result = result.contiguous(memory_format=memory_format(source))
        return result

    return kernel


def _meta(stock: Kernel) -> Kernel:
    """The override of a nearest gradient's Meta kernel: the stock one's shape, the format kept."""

    def kernel(keyset: Any, grad_output: torch.Tensor, *arguments: Any) -> torch.Tensor:
        result = stock(keyset, grad_output, *arguments)
        if _keep and _holders:
            result = torch.empty_like(result, memory_format=memory_format(grad_output))
        return result

    return kernel
