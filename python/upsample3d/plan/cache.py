# SPDX-License-Identifier: Apache-2.0
"""The plans of earlier calls, kept for the next: bounded by count and by bytes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..spec.types import DataFormat, Op, Rule
from .plan import Plan

KEPT_BYTES = 80_000_000
"""Bytes of plans that a cache keeps, as Plan.nbytes counts them."""


class Admission:
    """Empties a cache of plans before their bands take more than KEPT_BYTES."""

    def __init__(self) -> None:
        self.kept = 0

    def __call__(self, plan: Plan, clear: Callable[[], None]) -> Plan:
        if self.kept + plan.nbytes > KEPT_BYTES:
            clear()
            self.kept = 0
        self.kept += plan.nbytes
        return plan


_admit = Admission()


@lru_cache(maxsize=256, typed=True)
def cached(
    op: Op,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    strides: tuple[int, ...],
    out_strides: tuple[int, ...] | None,
    input_size: tuple[int, ...] | None,
    output_size: tuple[int, ...] | None,
    scales: Any,
    align_corners: bool,
    data_format: DataFormat,
    rule: Rule,
    schedule: int | None,
    num_threads: int | None,
    allowed_threads: int,
) -> Plan:
    """The Plan for these arguments, kept for the next call; allowed_threads tells them apart."""
    plan = Plan(
        op, shape, dtype, strides=strides, out_strides=out_strides, input_size=input_size,
        output_size=output_size, scales=scales, align_corners=align_corners,
        data_format=data_format, rule=rule, schedule=schedule, num_threads=num_threads,
    )  # fmt: skip
    return _admit(plan, cached.cache_clear)
