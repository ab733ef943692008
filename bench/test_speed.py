# SPDX-License-Identifier: Apache-2.0
"""The cases as pytest-benchmark groups: ours, PyTorch, JAX and the floor side by side.

pytest bench -o addopts= -k "trilinear-backward and 32->64 and float32 and 1t"
"""

from __future__ import annotations

import pytest
import sides
from cases import all_cases

CASES = all_cases()
SIDES = {
    "plan": sides.ours,
    "function": sides.function,
    "torch": sides.torchs,
    "jax": sides.jaxs,
    "floor": lambda *given: sides.floors(*given)[0],
    "floor-streamed": lambda *given: sides.floors(*given)[1],
}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("case", CASES, ids=[case.name.replace(" ", "-") for case in CASES])
def test_speed(benchmark, case, side):
    source, result = case.arrays()
    work = SIDES[side](case, source, result)
    if work is None:
        pytest.skip(f"{side} has nothing for {case.name}, or is not installed")
    benchmark.group = case.name
    benchmark.extra_info.update(bytes=case.bytes, threads=case.threads)
    benchmark(work)
    if benchmark.stats:
        benchmark.extra_info["GB/s"] = case.bytes / benchmark.stats["median"] / 1e9


@pytest.mark.parametrize("case", [c for c in CASES if c.threads == 1 and c.dtype == "float32"],
                         ids=lambda case: case.name.replace(" ", "-"))  # fmt: skip
def test_plan_building(benchmark, case):
    """What a first call for new shapes costs beside the kernel."""
    source, result = case.arrays()
    benchmark.group = "plan building"
    benchmark.extra_info.update(bytes=case.bytes, threads=case.threads)
    benchmark(sides.ours, case, source, result)
