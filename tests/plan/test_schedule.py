# SPDX-License-Identifier: Apache-2.0
"""Units of SCH_ID 0 to 3, and the cores that share them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import upsample3d as up
from upsample3d.plan import machine

SIZE, SHAPE = (2, 3, 4, 5, 6), (2, 3, 8, 10, 12)


@pytest.mark.parametrize(("sch_id", "planes"), [(1, 6), (2, 2), (3, 1)])
def test_planes_of_a_unit(sch_id, planes):
    """N * C of them, N, or one: N is 2, C is 3."""
    plan = up.Plan("nearest_backward", SHAPE, "f4", input_size=SIZE, schedule=sch_id)
    assert plan.schedule.inner == planes
    assert plan.schedule.inner * plan.schedule.groups == 6


@pytest.mark.parametrize("axis", [2, 3, 4])
def test_0_is_refused_where_any_axis_differs(axis):
    size = list(SHAPE)
    size[axis] -= 1
    with pytest.raises(up.ParameterError, match="schedule is 0, a copy"):
        up.nearest_backward(np.ones(SHAPE, np.float32), size, schedule=0)


@pytest.mark.parametrize("count", [16_383, 16_384, 16_385, 40_000, 3 * 16_384 + 1])
def test_a_copy_of_any_length(count):
    """A copy is cut into 64 KiB."""
    x = np.random.default_rng(2).random((1, 1, 1, 1, count), np.float32)
    out = np.full_like(x, 7)
    assert up.nearest_backward(x, x.shape, out=out, schedule=0).tobytes() == x.tobytes()


@pytest.mark.parametrize(
    ("quota", "cores"), [(math.inf, 6), (1.5, 2), (2, 2), (0.5, 1), (0.001, 1), (99, 6)]
)
def test_a_quota_is_rounded_up(quota, cores, monkeypatch):
    monkeypatch.setattr(machine, "_quota", lambda: quota)
    monkeypatch.setattr(machine.cpu, "processors", lambda: 6)
    assert machine._cores() == cores


def test_without_openmp_affinity_counts_or_all_cores(monkeypatch):
    monkeypatch.setattr(machine, "_quota", lambda: math.inf)
    monkeypatch.setattr(machine.cpu, "processors", lambda: 0)
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: range(5))
    assert machine._cores() == 5
    monkeypatch.delattr(machine.os, "sched_getaffinity")
    for count, cores in ((12, 12), (None, 1)):
        monkeypatch.setattr(machine.os, "cpu_count", lambda count=count: count)
        assert machine._cores() == cores
