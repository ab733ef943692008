# SPDX-License-Identifier: Apache-2.0
"""What a call allocates, reads and writes: its workspace, its source's view, its out's view."""

from __future__ import annotations

import tracemalloc

import ml_dtypes
import numpy as np
import oracle
import pytest
from arrays import channels_last, placed

import upsample3d as up
from upsample3d.plan import machine

DTYPES = (np.float32, np.float16, ml_dtypes.bfloat16, np.float64)
OPS = ("trilinear_backward", "nearest_exact_backward", "trilinear", "nearest")
SMALL, LARGE = (2, 3, 6, 9, 17), (2, 3, 11, 20, 33)
LAYOUTS = {
    "contiguous": lambda a: a,
    "packed": lambda a: a[..., ::-1],
    "spaced": lambda a: placed(a, steps=2),
    "channels last": channels_last,
    "Fortran": np.asfortranarray,
}
each = pytest.mark.parametrize(
    ("op", "dtype", "lay"),
    [
        pytest.param(op, dtype, lay, id=f"{op}-{np.dtype(dtype)}-{name}")
        for op in OPS
        for dtype in DTYPES
        for name, lay in LAYOUTS.items()
    ],
)


def prepared(op: str, dtype: type, lay) -> tuple[up.Plan, np.ndarray, np.ndarray]:
    """A plan with a source and an out of that layout."""
    sizes = (LARGE, SMALL) if op.endswith("_backward") else (SMALL, LARGE)
    rng = np.random.default_rng(0)
    source = lay(rng.standard_normal(sizes[0]).astype(dtype))
    out = lay(np.zeros(sizes[1], dtype))
    size = {"input_size": SMALL} if op.endswith("_backward") else {"output_size": LARGE[2:]}
    plan = up.Plan(op, source.shape, dtype, strides=source.strides, out_strides=out.strides, **size)
    return plan, source, out


@each
def test_nothing_is_allocated(op, dtype, lay):
    plan, source, out = prepared(op, dtype, lay)
    workspace = np.empty(plan.workspace_size, np.uint8)
    plan(source, out, workspace)
    tracemalloc.start()
    try:
        plan(source, out, workspace)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Views, capsules and ints of Python's own; the smallest scratch or row would be larger.
    assert peak < 2000 < min(source.nbytes, out.nbytes)


@each
def test_workspace_is_enough_wherever_it_begins(op, dtype, lay):
    plan, source, out = prepared(op, dtype, lay)
    wanted = plan(source, out, np.empty(plan.workspace_size, np.uint8)).tobytes()
    size = plan.workspace_size
    for offset in (*range(1, 64, 7), 64):
        memory = np.full(size + 192, 0xA5, np.uint8)
        plan(source, out, memory[64 + offset : 64 + offset + size])
        assert out.tobytes() == wanted
        assert (memory[: 64 + offset] == 0xA5).all()
        assert (memory[64 + offset + size :] == 0xA5).all()


@each
def test_workspace_is_enough_for_every_thread(op, dtype, lay, monkeypatch, tune):
    """Threads do not share scratch, nor does the last one write past the workspace; and where the
    rows of a tile follow those of another, the bits are those of one thread."""
    monkeypatch.setattr(machine, "allowed_threads", lambda: 1)
    plan, source, out = prepared(op, dtype, lay)
    wanted = plan(source, out).tobytes()
    tune(thread_bytes=1)
    monkeypatch.setattr(machine, "allowed_threads", lambda: 5)
    plan, source, out = prepared(op, dtype, lay)
    assert plan.schedule.threads == 5
    for offset in (64, 65, 127):
        memory = np.full(plan.workspace_size + 192, 0xA5, np.uint8)
        out[...] = 7
        plan(source, out, memory[offset : offset + plan.workspace_size])
        assert out.tobytes() == wanted
        assert (memory[:offset] == 0xA5).all()
        assert (memory[offset + plan.workspace_size :] == 0xA5).all()


@pytest.mark.parametrize("past_the_cache", [False, True])
@each
def test_only_the_view_of_out_is_written(op, dtype, lay, past_the_cache, tune):
    plan, source, out = prepared(op, dtype, lay)
    wanted = plan(source, out).tobytes()
    memory = np.full(tuple(n + 4 for n in out.shape), 7, dtype)
    inside = (slice(2, -2),) * 5
    view = memory[inside]
    before = source.tobytes()
    strides = {"strides": source.strides, "out_strides": view.strides}
    size = {"input_size": SMALL} if op.endswith("_backward") else {"output_size": LARGE[2:]}
    if past_the_cache:
        tune(stream_bytes=0, stream_row_bytes=1)
    plan = up.Plan(op, source.shape, dtype, **strides, **size)
    assert plan.schedule.tiles.stream == (past_the_cache and plan.layout.result_row)
    plan(source, view)
    assert view.tobytes() == wanted
    assert source.tobytes() == before
    view[...] = 7
    assert (memory == 7).all()


@pytest.mark.parametrize("data_format", ["NCDHW", "NDHWC"])
@pytest.mark.parametrize("op", OPS)
def test_order_of_a_new_result(op, data_format):
    """A result is channels-last in memory where its source is, else N, C, D, H, W, either way
    contiguous; a broadcast W or a single channel makes no channels-last source."""
    size = {"input_size": (2, 4, *SMALL[2:])} if op.endswith("_backward") else {}
    size = size or {"output_size": LARGE[2:]}
    shape = (2, 4, *(LARGE if op.endswith("_backward") else SMALL)[2:])
    plain = np.ones(shape, np.float32)
    pixel = LAYOUTS["channels last"](plain)
    sources = {
        "plain": (plain, False),
        "channels last": (pixel, True),
        "spaced pixels": (LAYOUTS["channels last"](plain.repeat(2, axis=1))[:, :4], True),
        "broadcast W": (np.broadcast_to(pixel[..., :1], shape), False),
        "spaced channels": (LAYOUTS["channels last"](plain.repeat(2, axis=1))[:, ::2], False),
        "turned W": (pixel[..., ::-1], False),
    }
    axes = (0, 2, 3, 4, 1) if data_format == "NDHWC" else range(5)
    back = (0, 4, 1, 2, 3) if data_format == "NDHWC" else range(5)
    for name, (source, last) in sources.items():
        result = getattr(up, op)(source.transpose(axes), data_format=data_format, **size)
        result = result.transpose(back)
        memory = result.transpose(0, 2, 3, 4, 1) if last else result
        assert memory.flags.c_contiguous, name


@pytest.mark.parametrize("op", OPS)
def test_nothing_outside_the_source_view_is_read(op):
    """NaN all around the view does not reach the result, as a read beyond a band would let it."""
    sizes = LARGE if op.endswith("_backward") else SMALL
    memory = np.full(tuple(n + 4 for n in sizes), np.nan, np.float32)
    view = memory[(slice(2, -2),) * 5]
    view[...] = np.random.default_rng(0).random(sizes)
    size = {"input_size": SMALL} if op.endswith("_backward") else {"output_size": LARGE[2:]}
    assert np.isfinite(getattr(up, op)(view, **size)).all()


@pytest.mark.parametrize("name", ["packed", "spaced", "channels last", "Fortran"])
def test_no_copy_of_a_strided_source(name):
    small = np.ones((1, 2, 64, 128, 128), np.float32)
    source = LAYOUTS[name](small)
    out = np.empty((1, 2, 8, 8, 8), np.float32)
    up.trilinear_backward(source, out.shape, out=out, num_threads=1)
    tracemalloc.start()
    try:
        up.trilinear_backward(source, out.shape, out=out, num_threads=1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < source.nbytes / 4


@pytest.mark.parametrize("w", [10_000, 1_000_000])
def test_scratch_stays_small_however_long_the_rows(w):
    plan = up.Plan(
        "trilinear_backward", (1, 1, 4, 8, w), "float32", input_size=(1, 1, 2, 4, w // 2)
    )
    assert plan.workspace_size <= plan.schedule.threads * 2**20


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ((1, 1, 1, 1, 4_000_000), (1, 1, 1, 1, 1)),
        ((1, 1, 1, 2000, 2000), (1, 1, 1, 1, 1)),
        ((1, 1, 4, 8, 1_000_000), (1, 1, 2, 4, 1)),
    ],
)
@pytest.mark.parametrize("op", ["nearest_backward", "trilinear_backward"])
def test_scratch_is_no_second_copy_of_the_source(op, shape, size):
    """However long a window is, it is summed by parts, not widened as a whole."""
    plan = up.Plan(op, shape, "float16", input_size=size, num_threads=1)
    assert plan.workspace_size < np.prod(shape) * plan.dtype.itemsize / 2


def test_scratch_does_not_grow_with_the_volume():
    sizes = [
        up.Plan(
            "trilinear_backward", (n, 3, 2 * d, 128, 128), "float32", input_size=(n, 3, d, 64, 64),
            num_threads=1,
        ).workspace_size
        for n, d in ((1, 8), (4, 8), (2, 70))
    ]  # fmt: skip
    assert len(set(sizes)) == 1


@pytest.mark.parametrize("w", [20_000, 300_000])
def test_empty_window_beside_a_long_one(w):
    """Along H the only window is empty, along W it is too long for the scratch: 0, no overrun."""
    ones = np.ones((1, 1, 1, 1, w), np.float32)
    size = (1, 1, 1, 1, 1)
    plan = up.Plan("nearest_exact_backward", ones.shape, "float32", input_size=size,
                   scales=(None, 0.3, None))  # fmt: skip
    workspace = np.full(plan.workspace_size + 4096, 0xA5, np.uint8)
    assert plan(ones, None, workspace[: plan.workspace_size]).item() == 0
    assert (workspace[plan.workspace_size :] == 0xA5).all()


@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize("data_format", ["NCDHW", "NDHWC"])
@pytest.mark.parametrize(
    ("size", "output"),
    [
        ((1, 32, 64, 64, 64), (128, 128, 128)),
        ((1, 320, 4, 4, 4), (8, 8, 8)),
        ((2, 3, 100, 7, 5), (100, 2000, 3000)),
        ((1, 2, 9, 2000, 3000), (9, 7, 5)),
        ((1, 700, 9, 90, 90), (9, 180, 180)),
        ((1, 1, 1, 1, 1), (5, 60, 70_000)),
    ],
)
def test_scratch_of_a_thread_is_a_tile(size, output, data_format, dtype):
    """At most 1 MiB, or the rows of one window and two more where those are longer."""
    n, c, *spatial = size
    for op in ("nearest", "trilinear", "nearest_backward", "trilinear_backward"):
        source = output if op.endswith("_backward") else spatial
        shape = (n, c, *source) if data_format == "NCDHW" else (n, *source, c)
        backward = {"input_size": size} if op.endswith("_backward") else {"output_size": output}
        plan = up.Plan(op, shape, dtype, data_format=data_format, num_threads=1, **backward)
        window = int((plan.bands[1].hi - plan.bands[1].lo).max())
        row = source[2] * (c if data_format == "NDHWC" else 1) * max(4, plan.dtype.itemsize)
        assert plan.workspace_size <= max(2**20, (window + 2) * row)


@pytest.mark.parametrize("reversed_", ["source", "out"])
def test_overlap_with_an_array_whose_first_element_lies_last(reversed_):
    memory = np.arange(80, dtype=np.float32)
    source, out = memory[:64], memory[8:16]
    if reversed_ == "source":
        source = source[::-1]
    else:
        source, out = memory[4:68], memory[7::-1]
    source, out = source.reshape(1, 1, 4, 4, 4), out.reshape(1, 1, 2, 2, 2)
    plan = up.Plan(
        "nearest_exact_backward", source.shape, "f4", input_size=out.shape,
        strides=source.strides, out_strides=out.strides,
    )  # fmt: skip
    with pytest.raises(up.ParameterError, match="out overlaps"):
        plan(source, out, np.empty(plan.workspace_size, np.uint8))
    assert np.array_equal(memory, np.arange(80))
