# SPDX-License-Identifier: Apache-2.0
"""Everything at once: random problems, cut, shared, laid out and levelled at random, same bits."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

import numpy as np
import pytest
from agnostic import DTYPES, LEVELS, OPS, digest

import upsample3d as up
from upsample3d.plan import machine

SIDES = (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 40, 200)
CUTS = {
    "tile_bytes": (1, 500, 4000, 400_000),
    "group_bytes": (1, 200, 1500, 262_144),
    "stream_bytes": (0, 8_000_000),
    "stream_row_bytes": (1, 64),
    "stream_together_bytes": (1, 4096),
    "chunk_bytes": (20_000, 100_000_000),
    "copy_unit": (100, 65_536),
}


@dataclass(frozen=True)
class Question:
    """An op with its source and its other arguments."""

    op: str
    source: np.ndarray
    result_shape: tuple[int, ...]
    arguments: dict[str, object]

    def plan(self, **cut) -> up.Plan:
        return up.Plan(self.op, self.source.shape, self.source.dtype, **self.arguments, **cut)


def question(rng: np.random.Generator) -> Question:
    """A small random problem whose source holds subnormals, -0.0 and now and then inf and NaN."""
    op = str(rng.choice(OPS))
    backward = bool(rng.integers(2))
    i, o = rng.choice(SIDES, (2, 3))
    o = np.where(rng.random(3) < 0.25, i, o)
    n, c = rng.choice((1, 2, 3)), rng.choice((1, 2, 4, 15, 16, 17, 33))
    while n * c * max(i.prod(), o.prod()) > 60_000:
        k = rng.integers(3)
        i[k], o[k], c = -(-i[k] // 2), -(-o[k] // 2), -(-c // 2)
    small, large = (int(n), int(c), *i.tolist()), (int(n), int(c), *o.tolist())
    arguments = {"input_size": small} if backward else {"output_size": large[2:]}
    arguments["rule"] = str(rng.choice(("aclnn", "torch")))
    if op == "trilinear":
        arguments["align_corners"] = bool(rng.integers(2))
    if rng.random() < 0.3:
        arguments["scales"] = rng.choice((0.0, 0.3, 0.5, 1.0, 1.7, 3.0), 3).tolist()
    dtype = DTYPES[rng.integers(4)]
    x = rng.standard_normal(large if backward else small).astype(dtype)
    tiny = np.nextafter(dtype(0), dtype(1)) * dtype(3)
    for value, share in ((tiny, 4), (dtype(-0.0), 8), (dtype(np.inf), 200), (dtype(np.nan), 200)):
        if np.isfinite(value) or rng.integers(2):
            x.flat[rng.integers(0, x.size, x.size // share + 1)] = value
    result_shape = small if backward else large
    return Question(op + "_backward" * backward, x, result_shape, arguments)


def strewn(rng: np.random.Generator, array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(a view equal to the array, its memory): any axis order, steps of -2 to 3, gaps of 5."""
    order, steps = rng.permutation(5), rng.choice((1, 1, 1, 2, 3, -1, -2), 5)
    memory = np.full([array.shape[k] * abs(steps[k]) for k in order], 5, array.dtype)
    view = memory.transpose(np.argsort(order))[tuple(slice(None, None, step) for step in steps)]
    view[...] = array
    return view, memory


@pytest.mark.parametrize("seed", range(160))
def test_everything_at_once(seed, monkeypatch, tune):
    """Bits depend on none of: tile, streaming, threads, SCH_ID, strides, level, workspace; and
    nothing is written but the elements of out, and the workspace between its ends."""
    rng = np.random.default_rng(seed)
    asked = question(rng)
    wanted = digest(asked.plan(num_threads=1)(asked.source))
    monkeypatch.setattr(machine, "allowed_threads", lambda: 8)
    tune(thread_bytes=1, **{name: int(rng.choice(values)) for name, values in CUTS.items()})

    source, _ = strewn(rng, asked.source)
    out, memory = strewn(rng, np.zeros(asked.result_shape, asked.source.dtype))
    if rng.random() < 0.4:
        out = memory = np.zeros(asked.result_shape, asked.source.dtype)
    plan = asked.plan(
        strides=source.strides,
        out_strides=out.strides,
        schedule=(None, 1, 2, 3)[rng.integers(4)],
        num_threads=int(rng.integers(1, 9)),
    )
    before, size = source.tobytes(), plan.workspace_size
    begin, byte = int(rng.integers(64, 129)), int(rng.choice((0x00, 0x7F, 0xFF)))
    guarded = np.full(begin + size + 64, byte, np.uint8)
    workspace = guarded[begin : begin + size]
    for level in LEVELS:
        out[...] = 7
        job = import_module(f"upsample3d.kernel.{level}.gather").Job
        job(plan.bands, plan.layout, plan.schedule).run(
            source, out, workspace, plan.schedule.threads
        )
        assert digest(out) == wanted, (level, asked, plan.schedule)
    assert digest(plan(source, out, workspace)) == wanted
    assert (guarded[:begin] == byte).all()
    assert (guarded[begin + size :] == byte).all()
    assert source.tobytes() == before
    out[...] = 5
    assert (memory == 5).all()


@pytest.mark.parametrize("op", OPS)
def test_wide_windows_of_short_streamed_rows(op):
    """Streamed results with wide windows along W are the same by pixels (channels-last) as by
    columns."""
    source = np.random.default_rng(0).standard_normal((1, 1, 1, 1024, 64)).astype(np.float32)
    last = getattr(up, op)(source, (64, 64, 8), data_format="NDHWC")
    first = getattr(up, op)(np.ascontiguousarray(source.transpose(0, 4, 1, 2, 3)), (64, 64, 8))
    assert digest(last) == digest(first.transpose(0, 2, 3, 4, 1))
