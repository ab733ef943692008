# SPDX-License-Identifier: Apache-2.0
"""Random calls: right ones do what the oracle says, wrong ones are refused by name.

2,000 right ones from fixed seeds; HYPOTHESIS_PROFILE=random draws others, and FUZZ_EXAMPLES says how
many. valid_calls.py and malformed.py run hundreds of thousands without hypothesis.
"""

from __future__ import annotations

import os

import hypothesis
import malformed
import numpy as np
import pytest
import valid_calls
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from upsample3d import schedule

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
    for name, (module, _) in valid_calls.CUTS.items():
        monkeypatch.setattr(module, name, getattr(module, name))
    monkeypatch.setattr(schedule, "allowed_threads", lambda: 4)


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


@pytest.mark.parametrize("door", malformed.DOORS, ids=lambda door: door.__name__)
def test_wrong_calls(door, tmp_path, monkeypatch):
    """From fixed seeds: hypothesis has nothing to shrink where the arguments are objects."""
    monkeypatch.chdir(tmp_path)
    for seed in range(100 if door is malformed.one_command else 500):
        rng = np.random.default_rng([2, seed])
        door(lambda values, rng=rng: values[int(rng.integers(len(values)))])


def test_a_seed_stands_for_the_same_call_again():
    assert repr(valid_calls.drawn_again(3, 100)) == repr(valid_calls.drawn_again(3, 100))
