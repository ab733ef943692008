# SPDX-License-Identifier: Apache-2.0
"""Random calls that are right, run and checked against the oracle.

Everything is drawn through one function, `pick(values)`, so that hypothesis can shrink what a plain
generator can count. By hand, as many as wanted from a seed on:

    python tests/tools/valid_calls.py 100000 [SEED]
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import oracle

import upsample3d as up
from upsample3d.plan import machine

Pick = Callable[[Sequence[Any]], Any]

SIDES = (1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 11, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 129)
CHANNELS = (0, 1, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 33)
SCALES = (None, 0, -1.0, float("nan"), 0.3, 0.5, 1, 1.0, 1.5, 1.7, 2.0, 2.5, 3, 7.3)
BESIDE = (-2.9, -1.3, -0.7, -0.1, 0.1, 0.4, 1.2)
"""Outputs that a scale may be off from those of the sizes: some then have no input."""
STEPS = (1, 1, 1, 1, 2, 3, -1, -2)
GUARD = 64
MOST = (300, 300, 3000, 12_000)
"""Elements that a source or a result has at most: one of these."""


@dataclass
class Call:
    """A call of `op`. i, o: (D, H, W) of input and output; arguments: what the function is given
    beside source, scales and out."""

    op: str
    dtype: np.dtype[Any]
    n: int
    c: int
    i: tuple[int, ...]
    o: tuple[int, ...]
    scales: Any
    align_corners: bool
    rule: str
    data_format: str
    values: str
    seed: int
    order: tuple[int, ...] = (0, 1, 2, 3, 4)
    steps: tuple[int, ...] = (1,) * 5
    repeated: tuple[int, ...] = ()
    shift: int = 0
    out: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    planned: bool = False
    sizes_given: bool = True
    workspace: tuple[int, int] | None = None
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def backward(self) -> bool:
        return self.op.endswith("_backward")


def drawn(pick: Pick) -> Call:
    """A call that is right."""
    op = pick(oracle.OPS) + pick(("_backward", ""))
    n, c = pick((0, 1, 1, 1, 2, 2, 3)), pick(CHANNELS)
    i, o = ([pick(SIDES) for _ in "DHW"] for _ in "io")
    for k in range(3):
        if pick((False, False, True)):
            o[k] = i[k]
    beside = [pick(BESIDE) for _ in "DHW"]
    scales = pick((None, None, None, pick(SCALES), [pick(SCALES) for _ in "DHW"], beside))
    each = scales if isinstance(scales, list) else [scales] * 3
    sized = scales is beside or not all(map(oracle.given, each))
    free = not sized and not op.endswith("_backward") and pick((True, False))
    most, left = pick(MOST), 30
    while True:
        if free:
            i = [max(size, math.ceil(1 / scale)) for size, scale in zip(i, each, strict=True)]
            o = [int(size * scale) for size, scale in zip(i, each, strict=True)]
        if left == 0 or max(n, 1) * max(c, 1) * max(np.prod(i), np.prod(o)) <= most:
            break
        k, left = pick(range(3)), left - 1
        i[k], o[k], c = -(-i[k] // 2), -(-o[k] // 2), -(-c // 2)
    if scales is beside:
        scales = [max(out + off, 0.2) / size for size, out, off in zip(i, o, beside, strict=True)]
    exact = not op.startswith("trilinear")
    call = Call(
        op=op,
        dtype=oracle.numpy_dtype(pick(oracle.DTYPES)),
        n=n,
        c=c,
        i=tuple(i),
        o=tuple(o),
        scales=scales,
        align_corners=not exact and pick((False, True)),
        rule=pick(oracle.RULES),
        data_format=pick(("NCDHW", "NDHWC")),
        values=pick(("normal", "integers", "tiny") if exact else ("normal", "integers")),
        seed=pick(range(1 << 16)),
        sizes_given=not free,
    )
    if pick((False, True)):
        call.order, call.steps = permutation(pick), tuple(pick(STEPS) for _ in range(5))
    if pick((False, False, False, True)):
        call.repeated = tuple(k for k in range(5) if pick((False, True)))
    if pick((False, False, False, False, True)):
        call.shift = pick((1, 2, 4))
    if pick((False, True)):
        call.out = permutation(pick), tuple(pick(STEPS) for _ in range(5))
    call.planned = pick((False, True))
    if call.planned and pick((False, True)):
        call.workspace = pick((0, 1, 8, 63)), pick((0x00, 0x7F, 0xFF, 0xA5))
    if pick((False, True)):
        call.arguments["schedule"] = pick((1, 2, 3, None))
    if pick((False, True)):
        call.arguments["num_threads"] = pick((1, 2, 3, 4, 7, 8, 16))
    return call


def permutation(pick: Pick) -> tuple[int, ...]:
    left = list(range(5))
    return tuple(left.pop(pick(range(len(left)))) for _ in range(5))


def strewn(shape: Sequence[int], dtype: np.dtype[Any], order: Any, steps: Any, shift: int = 0):
    """(an array of that shape, its memory): axes in any order, steps and gaps, bytes shifted."""
    sides = [max(shape[k] * abs(steps[k]), 1) for k in order]
    raw = np.full(int(np.prod(sides)) * dtype.itemsize + shift, 5, np.uint8)
    memory = raw[shift:].view(dtype).reshape(sides)
    view = memory.transpose(np.argsort(order))[tuple(slice(None, None, step) for step in steps)]
    return view[tuple(slice(0, size) for size in shape)], raw


def source_of(call: Call) -> np.ndarray:
    """The source, with the shape and strides that the call says, in its data format."""
    d, h, w = call.o if call.backward else call.i
    shape = (call.n, call.c, d, h, w) if call.data_format == "NCDHW" else (call.n, d, h, w, call.c)
    held = [1 if k in call.repeated and size else size for k, size in enumerate(shape)]
    view, _ = strewn(held, call.dtype, call.order, call.steps, call.shift)
    rng = np.random.default_rng(call.seed)
    if call.values == "normal":
        view[...] = rng.standard_normal(held).astype(call.dtype)
    else:
        view[...] = rng.integers(-1, 2, held).astype(call.dtype)
        if call.values == "tiny":
            view *= np.nextafter(call.dtype.type(0), call.dtype.type(1))
    return np.broadcast_to(view, shape) if call.repeated else view


def checked(call: Call) -> None:
    """Runs the call; AssertionError where the result or anything around it is not as it should."""
    source = source_of(call)
    before = source.tobytes()
    d, h, w = call.i if call.backward else call.o
    shape = (call.n, call.c, d, h, w) if call.data_format == "NCDHW" else (call.n, d, h, w, call.c)
    out = memory = None
    if call.out is not None:
        out, memory = strewn(shape, call.dtype, *call.out)
    given: dict[str, Any] = {**call.arguments, "scales": call.scales, "rule": call.rule}
    given["data_format"] = call.data_format
    if call.backward:
        given["input_size"] = (call.n, call.c, *call.i)
    elif call.sizes_given:
        given["output_size"] = call.o
    if call.op.startswith("trilinear"):
        given["align_corners"] = call.align_corners
    guarded = np.zeros(0, np.uint8)
    if call.planned:
        given |= {"strides": source.strides}
        plan = up.Plan(
            call.op, source.shape, source.dtype, **given,
            out_strides=None if out is None else out.strides,
        )  # fmt: skip
        workspace = None
        if call.workspace is not None:
            begin, byte = GUARD + call.workspace[0], call.workspace[1]
            guarded = np.full(begin + plan.workspace_size + GUARD, byte, np.uint8)
            workspace = guarded[begin : begin + plan.workspace_size]
        got = plan(source, out, workspace)
    else:
        got = getattr(up, call.op)(source, **given, out=out)

    assert got.shape == shape, call
    assert got.dtype == call.dtype, call
    assert out is None or got is out, call
    assert source.tobytes() == before, call
    if 0 not in shape:
        truth = oracle.answer(
            call.op, oracle.from_format(source, call.data_format), call.i, call.o, call.scales,
            call.align_corners, call.rule,
        )  # fmt: skip
        result = oracle.from_format(got, call.data_format)
        exact = not call.op.startswith("trilinear") and call.values != "normal"
        most = 1 / np.finfo(np.float16).eps if call.dtype.itemsize == 2 else 1 / 2**-24
        most = 256 if call.dtype == oracle.bfloat16 else most
        unit = np.nextafter(call.dtype.type(0), call.dtype.type(1)) if call.values == "tiny" else 1
        if exact and truth.magnitude.max() <= most * float(unit):
            assert (result.astype(np.float64) == truth.value).all(), call
        else:
            truth.check(result, call)
    if call.workspace is not None:
        begin, byte = GUARD + call.workspace[0], call.workspace[1]
        assert (guarded[:begin] == byte).all(), call
        assert (guarded[-GUARD:] == byte).all(), call
    if memory is not None and out is not None:
        out.view(f"u{out.itemsize}")[...] = int.from_bytes(b"\x05" * out.itemsize, "little")
        assert (memory == 5).all(), call


def cuts(pick: Pick) -> None:
    """Sets the plan's constants so that small calls are cut as large ones are, and shared."""
    chosen = {name: pick(values) for name, values in CUTS.items()}
    machine.this = replace(machine.this, **chosen)


CUTS = {
    "tile_bytes": (1, 500, 4000, machine.this.tile_bytes),
    "group_bytes": (1, 200, 1500, machine.this.group_bytes),
    "block_bytes": (200, 3000, machine.this.block_bytes),
    "pack_bytes": (300, 5000, machine.this.pack_bytes),
    "stream_bytes": (0, machine.this.stream_bytes),
    "stream_row_bytes": (1, machine.this.stream_row_bytes),
    "prefetch_from": (0, machine.this.prefetch_from),
    "chunk_bytes": (20_000, machine.this.chunk_bytes),
    "thread_bytes": (1, machine.this.thread_bytes),
}


def main(count: int, seed: int) -> None:
    """`count` calls from a seed on, half of them with constants that cut small calls up."""
    started = time.monotonic()
    machine.set_threads(4)
    machine.allowed_threads = lambda: 4
    for k in range(count):
        rng = np.random.default_rng([seed, k])

        def pick(values: Sequence[Any], rng: np.random.Generator = rng) -> Any:
            return values[int(rng.integers(len(values)))]

        if k % 200 == 100:
            cuts(pick)
        elif k % 200 == 0:
            cuts(lambda values: values[-1])
        try:
            checked(drawn(pick))
        except BaseException:
            print(f"seed {seed}, call {k}: {drawn_again(seed, k)}", file=sys.stderr)
            raise
        if k % 10_000 == 9_999:
            print(f"{k + 1} calls, {time.monotonic() - started:.0f} s", flush=True)
    level = up.build_info()["level"]
    print(f"{count} calls from seed {seed} on level {level}: as the oracle says")


def drawn_again(seed: int, k: int) -> Call:
    """The call that a seed and a number stand for, without the cuts before it."""
    rng = np.random.default_rng([seed, k])
    if k % 200 == 100:
        for values in CUTS.values():
            rng.integers(len(values))
    return drawn(lambda values: values[int(rng.integers(len(values)))])


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
