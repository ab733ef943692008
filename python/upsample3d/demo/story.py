# SPDX-License-Identifier: Apache-2.0
"""The demonstration: check the adjoint, recover a volume with it, measure throughput, draw it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm  # type: ignore[import-untyped]

import upsample3d as up

from ..files import places
from ..files.process import undone_at_end
from ..files.volume import Volume, read
from ..spec.types import DataFormat, Op
from . import phantom, picture
from .recovery import Array, Recovery, dot, norm, psnr, recover

SMALLEST = 4  # voxels per axis: half as many are observed
LARGEST = 512  # voxels per axis of the phantom, half a gigabyte; the demo holds some ten volumes
TOLERANCE = 1e-6  # of the adjoint identity in float32, as a share of |up(x)| |g|
ROUNDS = 9  # runs whose median time is told
CHECKED = 1 << 26  # voxels of up(x) in the adjoint check, 256 MB; of larger volumes the first part


def run(path: Path | None, size: int, steps: int, output: Path) -> bool:
    """Whether all went as it should; prints the story and writes the picture.

    path: a volume to use instead of the phantom, which has size^3 voxels. ValueError, OSError,
    ModuleNotFoundError: not a volume, one of no use here, or no place for the picture.
    """
    if steps < 1:
        raise ValueError(f"--steps is {steps}, wanted 1 or more")
    places.check_place(output)
    if path is not None and path.exists() and output.exists() and output.samefile(path):
        raise ValueError(f"--output {output} is the --volume, wanted another file")
    if path is None:
        if not SMALLEST <= size <= LARGEST:
            raise ValueError(f"--size is {size}, wanted {SMALLEST} to {LARGEST}")
        volume, name = Volume(phantom.shepp_logan(size), None), "3-D Shepp-Logan phantom"
    else:
        volume, name = read(path), path.name
    truth = scaled(volume.channels_first(), str(path or "--size"))
    print(f"upsample3d {up.__version__}, level {up.build_info()['level']}, "
          f"threads {up.get_num_threads()}")  # fmt: skip
    print(f"Volume       {name}, {sizes(truth.shape)} (N, C, D, H, W), scaled to 0..1")

    difference = check_adjoint(volume.channels_first())
    with (
        tqdm(total=steps, desc="Recovering", unit="step") as bar,
        undone_at_end(bar.close),
    ):
        found = recover(truth, steps, lambda misfit: advance(bar, misfit))
    before, after = psnr(found.start, truth), psnr(found.end, truth)
    first, last = found.misfits[0], found.misfits[-1]
    ratio = truth.size / found.observed.size
    print(f"Observation  y = A truth = trilinear_backward(truth) / {ratio:.4g}, "
          f"{sizes(found.observed.shape)}")  # fmt: skip
    print(f"Recovery     {steps} steps: misfit |Ax - y| / |y| {first:.2e} -> {last:.2e}, "
          f"PSNR {before:.2f} -> {after:.2f} dB")  # fmt: skip
    throughput()
    shown = f", channel 0 of {truth.shape[1]}" if truth.shape[1] > 1 else ""
    drawn = name[-60:].encode("utf-8", "backslashreplace").decode()
    heading = f"{drawn}{shown}: recovered by gradient descent with the exact adjoint"
    show(output, truth, found, volume.spacing(), heading)

    # What is fitted already down to float32's rounding cannot be fitted better.
    worked = difference <= TOLERANCE and (last < first or last < TOLERANCE) and after >= before
    print(f"It {'worked' if worked else 'did not work'}: the adjoint holds to {difference:.1e}, "
          f"the misfit fell {first / last if last else math.inf:.0f}-fold, "
          f"and the volume gained {after - before:.2f} dB.")  # fmt: skip
    return worked


def scaled(data: Array, name: str) -> Array:
    """A contiguous copy of an NCDHW volume, stretched to 0..1; ValueError where that cannot be."""
    if min(data.shape[2:]) < SMALLEST:
        raise ValueError(
            f"{name}: is {sizes(data.shape[2:])} voxels, wanted {SMALLEST} or more along each axis"
        )
    low, high = float(data.min()), float(data.max())
    if not math.isfinite(low) or not math.isfinite(high):
        raise ValueError(f"{name}: holds NaN or infinite values, wanted finite ones")
    if low == high:
        raise ValueError(f"{name}: holds the value {low:g} only, wanted a volume with contrast")
    out = np.empty(data.shape, np.float32)
    for channel, into in zip(data[0], out[0], strict=True):  # one float64 channel at a time
        into[...] = (channel.astype(np.float64) - low) / (high - low)
    return out


def check_adjoint(x: Array) -> float:
    """|<up(x), g> - <x, backward(g)>| / (|up(x)| |g|), printed; up doubles sizes, g is random."""
    n, c, d, h, w = x.shape
    d = min(d, max(1, CHECKED // (8 * c * h * w)))
    middle = (x.shape[2] - d) // 2
    x = x[:, :, middle : middle + d]
    if not x.any():  # an empty part says nothing
        x = np.random.default_rng(1).random(x.shape, dtype=np.float32)
    y = up.trilinear(x, (2 * d, 2 * h, 2 * w))
    g = np.random.default_rng(0).random((n, c, 2 * d, 2 * h, 2 * w), dtype=np.float32)
    left, right = dot(y, g), dot(x, up.trilinear_backward(g, x.shape))
    difference = abs(left - right) / (norm(y) * norm(g))
    print(f"Adjoint      x {sizes(x.shape)}, g {sizes(g.shape)}")
    print(f"             <up(x), g> = {left:.9e}, <x, backward(g)> = {right:.9e}")
    print(f"             relative difference {difference:.1e}, wanted <= {TOLERANCE:.0e}")
    return difference


def advance(bar: Any, misfit: float) -> None:
    bar.set_postfix_str(f"misfit {misfit:.2e}", refresh=False)
    bar.update()


def throughput() -> None:
    """Prints GB/s of source + result of the main ops, beside a numpy copy that moves as much."""
    input_size, output_size = (1, 32, 32, 32, 32), (64, 64, 64)
    print(f"Throughput   {sizes(input_size)} <-> {sizes(output_size)}, source + result, medians of "
          f"{ROUNDS} runs\n             (slower beside other work on these cores); "
          "the copy is numpy's, on one thread")  # fmt: skip
    print(f"             {'op':22}  {'dtype':8}  memory  threads       ms    GB/s    copy  op/copy")
    large = (*input_size[:2], *output_size)
    ops: tuple[tuple[Op, tuple[int, ...]], ...] = (
        ("trilinear_backward", large), ("nearest_exact_backward", large), ("trilinear", input_size),
    )  # fmt: skip
    cases: tuple[tuple[str, DataFormat], ...] = (
        ("float32", "NCDHW"), ("float32", "NDHWC"), ("bfloat16", "NCDHW"),
    )  # fmt: skip
    for op, shape in ops:
        for dtype, memory in cases:
            source = np.random.default_rng(0).random(shape, dtype=np.float32)
            if memory == "NDHWC":
                source = np.ascontiguousarray(np.moveaxis(source, 1, -1))
            plan = up.Plan(op, source.shape, dtype, data_format=memory, input_size=input_size,
                           output_size=output_size)  # fmt: skip
            moved, seconds, copying = timed(plan, source.astype(plan.dtype, copy=False))
            print(f"             {op:22}  {dtype:8}  {memory:6}  {threads(plan):7}  "
                  f"{seconds * 1e3:7.2f}  {moved / seconds / 1e9:6.1f}  "
                  f"{moved / copying / 1e9:6.1f}  {copying / seconds:7.2f}")  # fmt: skip


def timed(plan: up.Plan, source: Array) -> tuple[int, float, float]:
    """Bytes of source + result, median seconds of a run, and of a copy that moves as many bytes."""
    out, workspace = plan(source), np.empty(plan.workspace_size, np.uint8)
    moved = source.nbytes + out.nbytes
    target, origin = np.zeros(moved // 2, np.uint8), np.ones(moved // 2, np.uint8)
    return (
        moved,
        median_seconds(lambda: plan(source, out, workspace)),
        median_seconds(lambda: np.copyto(target, origin)),
    )


def threads(plan: up.Plan) -> int:
    """The threads that a run of the plan takes at most."""
    return min(plan.schedule.threads, up.get_num_threads())


def median_seconds(call: Callable[[], object]) -> float:
    """The median time of some calls, after one that warms up."""
    call()
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return sorted(times)[ROUNDS // 2]


def show(
    output: Path, truth: Array, found: Recovery, spacing: tuple[float, float, float], heading: str
) -> None:
    """Writes the picture of the first channel, or says what is missing for that."""

    def panel(title: str, x: Array, note: str) -> picture.Panel:
        return picture.Panel(x[0, 0], title, note)

    voxels = [f"{sizes(x.shape[2:])} voxels" for x in (truth, found.observed)]
    before, after = (f"PSNR {psnr(x, truth):.2f} dB" for x in (found.start, found.end))
    try:
        content = picture.png(
            (
                panel("Truth", truth, voxels[0]),
                panel("Observed", found.observed, voxels[1]),
                panel("Up-sampled", found.start, before),
                panel("Recovered", found.end, after),
            ),
            found.misfits,
            spacing,
            heading,
        )
    except ModuleNotFoundError as missing:
        print(f"Picture      wants {missing.name}: pip install {missing.name}")
        return
    try:
        output.write_bytes(content)
    except OSError as failure:
        raise OSError(f"{output}: {failure.strerror}") from failure
    print(f"Picture      {output}")


def sizes(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
