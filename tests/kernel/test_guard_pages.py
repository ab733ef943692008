# SPDX-License-Identifier: Apache-2.0
"""Nothing outside source, out and workspace is read or written: each lies between pages without
access, flush with one of them, and a single byte beyond would end the process."""

from __future__ import annotations

import ctypes
import itertools
import math
import mmap
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import oracle
import pytest

import upsample3d as up

OPS = ("nearest", "nearest_exact_backward", "trilinear", "trilinear_backward")
SIZES = [
    ((3, 2, 5), (5, 7, 3)),
    ((2, 9, 17), (3, 4, 40)),
    ((1, 3, 33), (2, 3, 9)),
    ((2, 2, 20), (3, 3, 70)),
    ((1, 2, 40), (2, 3, 90)),
    ((1, 3, 70), (2, 4, 150)),
]
FIND = f"import sys; sys.path[:0] = {[str(Path(m).parent) for m in (__file__, oracle.__file__)]}; "
GAPS = (1, 2, -1)
ORDERS = ((0, 1, 2, 3, 4), (0, 2, 3, 4, 1), (4, 3, 2, 1, 0), (0, 1, 4, 2, 3), (0, 1, 2, 4, 3))


def between_pages(count: int, at_end: bool) -> np.ndarray:
    """Bytes that begin or end where access does."""
    page = mmap.PAGESIZE
    pages = -(-count // page)
    memory = np.frombuffer(mmap.mmap(-1, (pages + 2) * page), np.uint8)
    for k in (0, pages + 1):
        at = ctypes.c_void_p(memory.ctypes.data + k * page)
        assert ctypes.CDLL(None).mprotect(at, ctypes.c_size_t(page), 0) == 0
    first = (pages + 1) * page - count if at_end else page
    return memory[first : first + count]


def placed(x: np.ndarray, order: tuple[int, ...], at_end: bool, gap: int) -> np.ndarray:
    """A copy of x whose axes lie in this order, the last of them `gap` apart; < 0: backwards."""
    shape = [x.shape[a] for a in order]
    last = (math.prod(shape) - 1) * abs(gap) + 1
    elements = between_pages(last * x.itemsize, at_end).view(x.dtype)[::gap]
    view = elements.reshape(shape).transpose(np.argsort(order))
    view[...] = x
    return view


def visit(op: str, dtype: str) -> int:
    """Runs an op with memory of many kinds; how many there were."""
    random, cases = np.random.default_rng(4), 0
    for (i, o), channels, gap in itertools.product(SIZES, (1, 3, 16), GAPS):
        backward = op.endswith("_backward")
        small, large = (1, channels, *i), (1, channels, *o)
        x = random.integers(-3, 4, large if backward else small).astype(oracle.numpy_dtype(dtype))
        options = {"input_size": small} if backward else {"output_size": o}
        wanted = getattr(up, op)(x, **options)
        for source_order, out_order in itertools.product(ORDERS, ORDERS[:3]):
            at_end = cases % 2 == 0
            source = placed(x, source_order, at_end, gap)
            out = placed(np.full_like(wanted, 9), out_order, at_end, gap)
            plan = up.Plan(op, x.shape, x.dtype, strides=source.strides, out_strides=out.strides,
                           num_threads=1, **options)  # fmt: skip
            # Without the bytes that are for aligning: these pages are aligned.
            workspace = between_pages(max(plan.workspace_size - 64, 0), at_end)
            plan.execute(source, out, workspace)
            assert np.array_equal(out, wanted), (i, o, channels, gap, source_order, out_order)
            cases += 1
    return cases


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="mprotect's constants are Linux's")
@pytest.mark.parametrize(
    ("op", "dtype"), [*itertools.product(OPS, oracle.DTYPES), ("nearest", "uint8")]
)
def test_a_byte_beyond_would_end_the_process(op, dtype):
    code = f"{FIND}import test_guard_pages as t; print(t.visit({op!r}, {dtype!r}))"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    assert int(run.stdout) == len(SIZES) * 3 * len(GAPS) * len(ORDERS) * 3


@pytest.mark.skipif(sys.platform != "linux", reason="mprotect's constants are Linux's")
@pytest.mark.parametrize("where", ["[-1:].ctypes.data + 1", ".ctypes.data - 1"])
def test_the_pages_do_guard(where):
    code = f"""{FIND}
import ctypes, test_guard_pages as t
memory = t.between_pages(100, {"+" in where})
ctypes.string_at(memory{where}, 1)
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True
    )  # fmt: skip
    assert run.returncode == -signal.SIGSEGV or "AddressSanitizer: SEGV" in run.stderr
