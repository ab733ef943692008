# SPDX-License-Identifier: Apache-2.0
"""Ours against PyTorch, in turn in one process: `python bench/ratios.py`.

A row is a case: our median time, GB/s of source and result, and how many times as long PyTorch
takes (the median over rounds of the ratio within a round, so that a drift of the machine cancels).
The last rows are SCH_ID 0 against numpy.copyto. All sides write into results that exist already.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np
from cases import Case, grid
from tqdm import tqdm

import upsample3d as up

SHORTEST = 0.03
"""Seconds that one measurement lasts at least."""


def in_turn(works: Sequence[Callable[[], object]], rounds: int) -> np.ndarray:
    """Seconds per call, [work, round]: each round runs every work once, one after the other."""
    repeats = []
    for work in works:
        work()
        begin = time.perf_counter()
        work()
        repeats.append(max(1, round(SHORTEST / max(time.perf_counter() - begin, 1e-6))))
    seconds = np.empty((len(works), rounds))
    for r in range(rounds):
        for k, work in enumerate(works):
            begin = time.perf_counter()
            for _ in range(repeats[k]):
                work()
            seconds[k, r] = (time.perf_counter() - begin) / repeats[k]
    return seconds


def ours(case: Case, source: np.ndarray, result: np.ndarray) -> Callable[[], object]:
    plan = up.Plan(
        case.op, source.shape, source.dtype, input_size=case.input_size, strides=source.strides,
        out_strides=result.strides, num_threads=case.threads,
    )  # fmt: skip
    workspace = np.empty(plan.workspace_size, np.uint8)
    return lambda: plan(source, result, workspace)


def torchs(case: Case, source: np.ndarray) -> Callable[[], object]:
    import torch

    torch.set_num_threads(case.threads)
    aten = torch.ops.aten
    op, extra = {
        "trilinear_backward": (aten.upsample_trilinear3d_backward, [False]),
        "nearest_exact_backward": (aten._upsample_nearest_exact3d_backward, []),
    }[case.op]
    dtype = getattr(torch, case.dtype)
    memory = torch.channels_last_3d if case.data_format == "NDHWC" else torch.contiguous_format
    tensor = torch.from_numpy(source.astype(np.float32)).to(dtype)
    tensor = tensor.contiguous(memory_format=memory)
    result = torch.empty(case.input_size, dtype=dtype).contiguous(memory_format=memory)
    arguments = [tensor, list(case.output_size), list(case.input_size), *extra, None, None, None]
    return lambda: op.grad_input(*arguments, grad_input=result)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    rows = []
    for case in tqdm(list(grid()), unit="case"):
        source, result = case.arrays()
        seconds = in_turn([ours(case, source, result), torchs(case, source)], rounds)
        rows.append((case.name, seconds, source.nbytes + result.nbytes))
    for threads in (1, 2):
        case = Case("nearest_exact_backward", "32->64", "float32", "NCDHW", threads)
        source, _ = case.arrays()
        result = np.empty_like(source)
        plan = up.Plan(
            case.op, source.shape, source.dtype, input_size=source.shape, num_threads=threads
        )
        works = [lambda: plan(source, result), lambda: np.copyto(result, source)]  # noqa: B023
        rows.append(
            (f"copy {threads} threads, against numpy", in_turn(works, rounds), 2 * source.nbytes)
        )
    for name, seconds, size in rows:
        own = np.median(seconds[0])
        ratio = np.median(seconds[1] / seconds[0])
        print(f"{name:62} {own * 1e3:8.2f} ms {size / own / 1e9:6.1f} GB/s  x{ratio:.2f}")


if __name__ == "__main__":
    main()
