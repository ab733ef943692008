# SPDX-License-Identifier: Apache-2.0
"""What the caller of a tiling gives that is no shape, scale or number of cores; and exact types."""

from __future__ import annotations

from dataclasses import asdict

import ml_dtypes
import numpy as np
import pytest
from tilings import CUBE, PLANS, each_plan

import upsample3d as up
from upsample3d.spec.errors import TilingError
from upsample3d.tiling import nearest_950, trilinear_a2

VALUES = [(1, 1, 4, 4), (1,) * 6, (), (1, 1, 4, 4, 2**63), (1, 1, 4, 4, 10**5000)]
TYPES = [None, 5, "abcde", (1, 1, 4.0, 4, 4), (1, 1, 4, 4, None), ("1",) * 5]


def mistake(plan, error, name, value):
    good = dict(zip(PLANS[plan], (CUBE, CUBE, (0, 0, 0)), strict=True))
    with pytest.raises(error, match=rf"^{name}") as caught:
        plan(**{**good, name: value})
    assert not isinstance(caught.value, TilingError)
    assert caught.value.status == 161002


@each_plan
def test_mistakes(plan):
    value, type_ = up.ParameterError, up.ParameterTypeError
    *shapes, scales = PLANS[plan]
    for name in shapes:
        for given in VALUES:
            mistake(plan, value, name, given)
        for given in TYPES:
            mistake(plan, type_, name, given)
    for given in ((2, 2), (2,) * 4, ()):
        mistake(plan, value, scales, given)
    for given in (None, 2, ("2", 2, 2), (None,) * 3, "222", (2, 2j, 2)):
        mistake(plan, type_, scales, given)
    for given in (0, -5, 2**31, 10**5000):
        mistake(plan, value, "cores", given)
    for given in (None, "48", 48.0):
        mistake(plan, type_, "cores", given)
    for given in (None, 5, ["float32"], "float32".encode):
        mistake(plan, type_, "dtype", given)


def test_mistakes_of_one_plan_only():
    for given in VALUES[:2] + VALUES[3:]:
        mistake(nearest_950, up.ParameterError, "input_size", given)
    for given in TYPES:
        mistake(nearest_950, up.ParameterTypeError, "input_size", given)
    for given in (63, 0, -1):
        mistake(nearest_950, up.ParameterError, "ub_size", given)
    for given in (None, "64", 64.0):
        mistake(nearest_950, up.ParameterTypeError, "ub_size", given)
    mistake(nearest_950, up.ParameterTypeError, "grad_input_dtype", 5)
    mistake(trilinear_a2, up.ParameterTypeError, "align_corners", 1)


@each_plan
def test_dtype_is_whatever_numpy_takes(plan):
    for name, given in (("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16),
                        ("float32", np.dtype(np.float32)), ("float16", "f2")):  # fmt: skip
        assert plan(CUBE, CUBE, given) == plan(CUBE, CUBE, name)
    with pytest.raises(TilingError, match="dtype is int32, wanted float32"):
        plan(CUBE, CUBE, np.int32)


@each_plan
def test_numbers_are_pythons(plan):
    shapes = np.array([1, 2, 9, 8, 7]), np.array([1, 2, 3, 4, 5], np.int32)
    scales = np.array([2, 2, 1.5])
    options = {PLANS[plan][2]: scales, "cores": np.int64(40)}
    made = plan(*shapes, **options)
    assert made == plan(*(tuple(map(int, s)) for s in shapes), **{**options, "cores": 40})
    found = asdict(made) if plan is not nearest_950 else (asdict(made), made.data)
    assert {type(number) for number in flat(found)} == {int, float, bool}


def flat(part):
    """The numbers in tuples and dicts."""
    if isinstance(part, dict):
        part = tuple(part.values())
    if not isinstance(part, tuple):
        return [part]
    return [number for one in part for number in flat(one)]
