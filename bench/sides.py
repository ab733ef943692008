# SPDX-License-Identifier: Apache-2.0
"""Who is measured: ours, PyTorch, JAX and the floor, each as a call that fills a given result."""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from cases import Case

import upsample3d as up

Work = Callable[[], object]


def ours(case: Case, source: np.ndarray, result: np.ndarray) -> Work:
    """A Plan's call with result and workspace given."""
    plan = up.Plan(
        case.op, source.shape, source.dtype, input_size=case.input_size,
        output_size=case.output_size, align_corners=case.align_corners, strides=source.strides,
        out_strides=result.strides, num_threads=case.threads,
    )  # fmt: skip
    workspace = np.empty(plan.workspace_size, np.uint8)
    return lambda: plan(source, result, workspace)


def function(case: Case, source: np.ndarray, result: np.ndarray) -> Work:
    """The function of the same name, its plan in the cache."""
    call = getattr(up, case.op)
    size = {"input_size": case.input_size} if case.backward else {"output_size": case.output_size}
    corners = {"align_corners": case.align_corners} if case.op.startswith("trilinear") else {}
    return lambda: call(source, **size, **corners, out=result, num_threads=case.threads)


def torchs(case: Case, source: np.ndarray, result: np.ndarray) -> Work | None:
    """PyTorch's op into a result that exists; None where PyTorch is not installed."""
    try:
        import torch
    except ModuleNotFoundError:
        return None
    torch.set_num_threads(case.threads)
    name = {"nearest_exact": "_upsample_nearest_exact3d"}.get(
        case.op.removesuffix("_backward"), f"upsample_{case.op.removesuffix('_backward')}3d"
    )
    op = getattr(torch.ops.aten, name + ("_backward" if case.backward else ""))
    given, into = (_tensor(array) for array in (source, result))
    sizes = [case.output_size, case.input_size] if case.backward else [case.output_size]
    corners = [case.align_corners] if case.op.startswith("trilinear") else []
    call = functools.partial(
        op.grad_input if case.backward else op.out, given, *sizes, *corners, None, None, None
    )
    return (lambda: call(grad_input=into)) if case.backward else (lambda: call(out=into))


def _tensor(array: np.ndarray) -> object:
    """The same memory as a tensor; bfloat16 goes by its bits."""
    import torch

    if array.dtype.itemsize == 2 and array.dtype != np.float16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def jaxs(case: Case, source: np.ndarray, result: np.ndarray) -> Work | None:
    """The vjp of jax.image.resize, trilinear in NCDHW; None where it or JAX is not to be had."""
    if case.mode != "trilinear" or case.memory != "NCDHW" or not case.backward:
        return None
    try:
        import jax
    except ModuleNotFoundError:
        return None
    x = jax.numpy.zeros(case.input_size, source.dtype)
    shape = (*case.input_size[:2], *case.output_size)
    resize = functools.partial(jax.image.resize, shape=shape, method="linear", antialias=False)
    gradient = jax.jit(lambda g: jax.vjp(resize, x)[1](g)[0])
    g = jax.numpy.asarray(source)
    return lambda: gradient(g).block_until_ready()


def floors(case: Case, source: np.ndarray, result: np.ndarray) -> list[Work]:
    """Reading the source and writing the result once, with regular and with streaming stores."""
    read, write = (memory_of(array) for array in (source, result))
    run = _floor().floor_pass
    arguments = (*read, *write, case.threads)
    return [functools.partial(run, *arguments, stream) for stream in (0, 1)]


def memory_of(array: np.ndarray) -> tuple[int, int]:
    """(address, bytes) of a dense array, or of as many bytes as a strided one has elements for."""
    return array.ctypes.data, array.size * array.itemsize


@functools.cache
def _floor() -> ctypes.CDLL:
    """floor.c, compiled for this session with the compiler that CC names."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    library = Path(folder.name) / "floor.so"
    flags = ["-O3", "-mavx2", "-fopenmp", "-shared", "-fPIC"]
    source = Path(__file__).with_name("floor.c")
    subprocess.run(
        [os.environ.get("CC", "cc"), *flags, str(source), "-o", str(library)], check=True
    )
    built = ctypes.CDLL(str(library))
    address, size, number = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
    built.floor_pass.argtypes = [address, size, address, size, number, number]
    built.floor_pass.restype = None
    return built
