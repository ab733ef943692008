# SPDX-License-Identifier: Apache-2.0
"""Plans that are pickled, copied and compared: the arguments say all there is."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import ml_dtypes
import numpy as np
import pytest

import upsample3d as up
from upsample3d.spec import opspec

SMALL, LARGE = (2, 3, 4, 5, 6), (2, 3, 7, 9, 17)
F4 = (3 * 4 * 5 * 6 * 8, 4 * 5 * 6 * 8, 5 * 6 * 8, 6 * 8, 8)
"""Strides of every other W of float32, twice as long rows."""

ASKED = {
    "nearest forward": ("nearest", SMALL, "f4", {"output_size": LARGE[2:]}),
    "labels": ("nearest_exact", SMALL, "i2", {"output_size": LARGE[2:], "rule": "torch"}),
    "down": ("trilinear", LARGE, "f2", {"output_size": SMALL[2:], "align_corners": True}),
    "a copy": ("trilinear", SMALL, "f8", {"output_size": SMALL[2:]}),
    "scales": ("nearest", SMALL, "f4", {"scales": (1.5, None, 2.2), "output_size": (6, 5, 13)}),
    "strides": ("trilinear", SMALL, "f4", {"output_size": LARGE[2:], "strides": F4}),
    "backward": ("trilinear_backward", LARGE, ml_dtypes.bfloat16, {"input_size": SMALL}),
    "channels last": (
        "nearest_backward", (2, 7, 9, 17, 3), "f4",
        {"input_size": SMALL, "data_format": "NDHWC", "num_threads": 1, "schedule": 2},
    ),
    "torch": ("nearest_exact_backward", LARGE, "f8", {"input_size": SMALL, "rule": "torch"}),
    "no samples": ("trilinear", (0, *SMALL[1:]), "f4", {"output_size": LARGE[2:]}),
    "no channels": ("trilinear_backward", (2, 0, 7, 9, 17), "f4", {"input_size": (2, 0, 4, 5, 6)}),
}  # fmt: skip


def plan_of(name: str) -> up.Plan:
    op, shape, dtype, options = ASKED[name]
    return up.Plan(op, shape, dtype, **options)


def source_of(plan: up.Plan) -> np.ndarray:
    """Numbers that lie as the plan wants them."""
    memory = np.zeros(plan.strides[0] * plan.shape[0] + 16, np.uint8)
    source = np.ndarray(plan.shape, plan.dtype, memory, 0, plan.strides)
    source[...] = np.arange(source.size).reshape(source.shape) % 101
    return source


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", ASKED)
def test_a_pickled_plan_is_equal_and_works(name, protocol):
    plan = plan_of(name)
    again = pickle.loads(pickle.dumps(plan, protocol))
    assert again == plan
    assert again is not plan
    assert hash(again) == hash(plan)
    assert repr(again) == repr(plan)
    assert again.workspace_size == plan.workspace_size
    source = source_of(plan)
    assert again(source).tobytes() == plan(source).tobytes()


def test_a_pickle_is_the_question_not_the_tables():
    plan = up.Plan("trilinear", (1, 1, 1, 1, 200_000), "f4", output_size=(1, 1, 400_000))
    assert len(pickle.dumps(plan)) < 2000


def test_a_part_is_pickled_with_its_windows():
    whole = plan_of("backward")
    results = ((0, 2), (1, 3), (1, 4), (2, 5), (0, 6))
    source = source_of(whole)
    slices = whole.sources(results)
    lying = np.empty((2, 2, 3, 3, 6), whole.dtype)
    part = whole.part(results, source[slices].strides, lying.strides)
    again = pickle.loads(pickle.dumps(part))
    assert again == part
    assert again != whole
    other = whole.part((*results[:2], (0, 3), *results[3:]), source.strides, lying.strides)
    assert other != part
    again(source[slices], lying)
    assert lying.tobytes() == whole(source)[:, 1:3, 1:4, 2:5].tobytes()


@pytest.mark.parametrize("name", ASKED)
def test_a_copy_is_the_plan(name):
    plan = plan_of(name)
    assert copy.copy(plan) is plan
    assert copy.deepcopy([plan])[0] is plan


def test_other_questions_are_not_equal():
    plans = [plan_of(name) for name in ASKED]
    op, shape, dtype, options = ASKED["backward"]
    for more in ({"num_threads": 1}, {"schedule": 1}, {"align_corners": True}, {"rule": "torch"}):
        plans.append(up.Plan(op, shape, dtype, **options, **more))
    assert len(set(plans)) == len(plans) == len(ASKED) + 4
    assert all((a == b) == (a is b) for a in plans for b in plans)
    assert plans[0] != "a plan"


def test_a_spawned_worker_runs_it():
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        for name in ("backward", "labels"):
            plan = plan_of(name)
            source = source_of(plan)
            assert pool.submit(plan, source).result(60).tobytes() == plan(source).tobytes()


@pytest.mark.parametrize("name", ["no samples", "no channels"])
def test_an_empty_plan_is_whole(name):
    plan = plan_of(name)
    op, options = ("trilinear", {"output_size": LARGE[2:]})
    if name == "no channels":
        op, options = ("trilinear_backward", {"input_size": SMALL})
    full = up.Plan(op, (2, 3, *plan.shape[2:]), "f4", **options)
    assert plan.spec.op == op
    assert all(a.same(b) for a, b in zip(plan.bands, full.bands, strict=True))
    n, c = plan.out_shape[:2]
    within = ((0, 2), (1, 3), (0, plan.out_shape[4]))
    slices = plan.sources(((0, n), (0, c), *within))
    assert slices[:2] == (slice(0, n), slice(0, c))
    assert slices[2:] == full.sources(((0, 2), (0, 3), *within))[2:]
    assert plan(np.zeros(plan.shape, "f4")).shape == plan.out_shape


def test_an_empty_plan_of_any_size_is_no_work(monkeypatch):
    """Its windows would take more memory than there is; nobody asks for them."""
    monkeypatch.setattr(opspec, "_memory", lambda: 1000)
    plan = up.Plan("nearest", (0, 1, 1, 1, 1), "f4", output_size=(1, 1, 2000))
    assert plan.out_shape == (0, 1, 1, 1, 2000)
    assert plan.nbytes == 0
    with pytest.raises(MemoryError, match="bytes to plan"):
        plan.bands  # noqa: B018
    monkeypatch.undo()
    assert len(plan.bands[2].lo) == 2000
    assert plan.nbytes > 0
