# SPDX-License-Identifier: Apache-2.0
"""Random calls: right ones do what the oracle says, wrong ones are refused by name.

2,000 right ones from fixed seeds; HYPOTHESIS_PROFILE=random draws others, and FUZZ_EXAMPLES says
how many for each of four parts. valid_calls.py and malformed.py run hundreds of thousands of them
without hypothesis.
"""

from __future__ import annotations

import itertools
import os

import hypothesis
import malformed
import numpy as np
import oracle
import pytest
import valid_calls
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from malformed_things import LARGE, SMALL, Claims, Liar
from strange import Masked, raising, released

import upsample3d as up
from upsample3d.aclnn import AclTensor
from upsample3d.plan import machine

FIXED = os.environ.get("HYPOTHESIS_PROFILE") != "random"
many = settings(
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "500")),
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
each_part = pytest.mark.parametrize("part", range(4))


def drawing(data):
    """A `pick` that draws from hypothesis."""

    def pick(values):
        return values[data.draw(st.integers(0, len(values) - 1))]

    return pick


@pytest.fixture
def restored(monkeypatch):
    """The constants that an example may set are as before at the end."""
    monkeypatch.setattr(machine, "this", machine.this)
    monkeypatch.setattr(machine, "allowed_threads", lambda: 4)


@pytest.mark.long
@each_part
def test_right_calls(part, restored):
    """A quarter with the plan's own constants, three with constants that cut small calls up."""

    @(hypothesis.seed(part) if FIXED else lambda examples: examples)
    @many
    @given(st.data())
    def examples(data):
        pick = drawing(data)
        if part:
            valid_calls.cuts(pick)
        valid_calls.checked(valid_calls.drawn(pick))

    examples()


@pytest.mark.parametrize("entry", malformed.ENTRIES, ids=lambda entry: entry.__name__)
def test_wrong_calls(entry, tmp_path, monkeypatch):
    """From fixed seeds: hypothesis has nothing to shrink where the arguments are objects."""
    monkeypatch.chdir(tmp_path)
    for seed in range(100 if entry is malformed.one_command else 500):
        rng = np.random.default_rng([2, seed])
        entry(lambda values, rng=rng: values[int(rng.integers(len(values)))])


def test_a_seed_stands_for_the_same_call_again():
    assert repr(valid_calls.drawn_again(3, 100)) == repr(valid_calls.drawn_again(3, 100))


# ---- What random calls have found ----


def test_an_array_that_lies_about_its_shape_is_taken_as_what_it_is():
    source = np.random.default_rng(0).random(LARGE, np.float32)
    wanted = up.nearest_backward(source, SMALL)
    assert np.array_equal(up.nearest_backward(source.view(Liar), SMALL), wanted)
    plan = up.Plan("nearest_backward", LARGE, "float32", input_size=SMALL)
    out, workspace = np.zeros(SMALL, np.float32).view(Liar), np.zeros(plan.workspace_size, np.uint8)
    assert plan(source.view(Liar), out, workspace.view(Liar)) is out
    assert np.array_equal(np.ndarray.view(out, np.ndarray), wanted)
    with pytest.raises(up.ParameterError, match="out has shape"):
        up.nearest_backward(source, SMALL, out=np.zeros(LARGE, np.float32).view(Liar))


@pytest.mark.parametrize("place", ["grad_output", "out"])
def test_what_only_says_that_it_is_an_array_is_refused(place):
    given = {"grad_output": np.ones(LARGE, np.float32), place: Claims()}
    with pytest.raises(up.ParameterTypeError, match=f"{place} is a Claims"):
        up.nearest_backward(**given, input_size=SMALL)
    plan = up.Plan("nearest_backward", LARGE, "float32", input_size=SMALL)
    with pytest.raises(up.ParameterTypeError, match="is a Claims"):
        plan(*given.values(), **({} if place == "out" else {"workspace": bytearray(1 << 16)}))


@pytest.mark.parametrize(
    "endless", [itertools.count, lambda: range(10**30)], ids=["count", "range"]
)
@pytest.mark.parametrize("name", ["input_size", "output_size", "scales"])
def test_of_a_sequence_without_end_only_the_beginning_is_read(name, endless):
    given = {"input_size": SMALL, name: endless()}
    with pytest.raises(up.ParameterError, match=f"{name} is (count|range)"):
        up.nearest_backward(np.ones(LARGE, np.float32), **given)


LONG = 10**5000  # Python prints no int of more than 4300 digits


@pytest.mark.parametrize("change", [
    {"input_size": (LONG, 3, 4, 5, 6)}, {"input_size": (2, 3, LONG, 5, 6)}, {"input_size": (LONG,)},
    {"output_size": (LONG, 1, 1)}, {"scales": LONG}, {"scales": (LONG,) * 4}, {"schedule": LONG},
    {"num_threads": LONG}, {"rule": LONG}, {"align_corners": LONG}, {"data_format": (LONG,)},
    {"shape": (LONG, 1, 8, 10, 12), "input_size": (LONG, 1, 4, 5, 6)}, {"strides": (LONG,) * 5},
    {"shape": (2, 3, 8, 10, LONG)},
    {"out_strides": (1, 2, 3, LONG, 5)}, {"dtype": LONG}, {"op": LONG},
], ids=lambda change: str([*change]))  # fmt: skip
def test_numbers_that_cannot_be_printed_are_refused_by_name(change):
    given = {"op": "trilinear_backward", "shape": LARGE, "dtype": "float32", "input_size": SMALL}
    with pytest.raises((up.ParameterError, up.ParameterTypeError)) as caught:
        up.Plan(**{**given, **change})
    assert next(iter(change)).removesuffix("trides") in str(caught.value)
    assert len(str(caught.value)) < 1300


STRANGERS = {
    "cannot be hashed": released, "says it is an int": lambda: Masked(int),
    "raises as a sequence": lambda: raising(ZeroDivisionError(), ("__iter__", "__index__"))(),
    "raises as a text": lambda: raising(ZeroDivisionError(), ("__repr__", "__hash__"))(),
    "an array of 6,000": lambda: np.ones(6000),
}  # fmt: skip


@pytest.mark.parametrize("make", STRANGERS.values(), ids=STRANGERS)
@pytest.mark.parametrize(
    "name",
    ["input_size", "scales", "data_format", "rule", "schedule", "num_threads", "align_corners"],
)
def test_strangers_are_refused_by_name(name, make):
    given = {"input_size": SMALL, name: make()}
    with pytest.raises((up.ParameterError, up.ParameterTypeError), match=f"^{name} is ") as caught:
        up.trilinear_backward(np.ones(LARGE, np.float32), **given)
    assert len(str(caught.value)) < 1300
    with pytest.raises(up.ParameterTypeError, match="dtype is "):
        up.Plan("nearest", SMALL, make(), output_size=(1, 1, 1))


def test_a_tensor_made_without_a_creator_can_be_printed():
    assert repr(AclTensor.__new__(AclTensor)) == "AclTensor(destroyed)"


@pytest.mark.parametrize("w", [2, 3])
def test_rows_packed_for_a_table_begin_with_source_0(w):
    """A table reads the first vector of a row, even if the first copied source lies behind it:
    sanitizers saw a read before the workspace."""
    memory = np.arange(40 * w, dtype=np.float32).reshape(1, 1, w, 8, 5)
    source = memory.transpose(0, 1, 3, 4, 2)
    plan = up.Plan("nearest_exact", source.shape, "float32", strides=source.strides,
                   output_size=(33, 5, 1))  # fmt: skip
    tiles = plan.schedule.tiles
    assert tiles.pack
    assert plan.bands[2].lo.min() > 0
    assert tiles.pack_row >= 4 * plan.bands[2].hi.max()
    oracle.answer("nearest_exact", source, (8, 5, w), (33, 5, 1)).check(plan(source), w)
