# SPDX-License-Identifier: Apache-2.0
"""Arguments at the edges of what is judged, where no other file of tests goes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import upsample3d as up
from upsample3d.spec.opspec import specify
from upsample3d.spec.question import Question

SIZE, SHAPE = (2, 3, 4, 5, 6), (2, 3, 8, 10, 12)


def test_n_below_0():
    with pytest.raises(up.ParameterError, match=r"\(-1, 3, 8, 10, 12\) in NCDHW, wanted N and C"):
        up.Plan("trilinear_backward", (-1, *SHAPE[1:]), "f4", input_size=SIZE)


@pytest.mark.parametrize("op", ["nearest_exact", "nearest", "trilinear"])
def test_input_size_forward_is_compared(op):
    plan = up.Plan(op, SIZE, "f4", input_size=SIZE, output_size=SHAPE[2:])
    assert plan.out_shape == SHAPE
    with pytest.raises(up.ParameterError, match=r"wanted \(2, 3, 4, 5, 6\) as input has"):
        up.Plan(op, SIZE, "f4", input_size=(2, 3, 4, 5, 7), output_size=SHAPE[2:])
    with pytest.raises(up.ParameterError, match="an integer of 16610 bits, 3, 4, 5, 6"):
        up.Plan(op, (10**5000, *SIZE[1:]), "f4", input_size=SIZE, output_size=SHAPE[2:])


def test_a_name_that_compares_and_hashes_as_it_likes():
    class Name(str):
        __slots__ = ()

        def __eq__(self, other):
            return False

        def __hash__(self):
            raise RuntimeError

    x = np.arange(720, dtype=np.float32).reshape(SIZE)
    plan = up.Plan(Name("nearest"), SIZE, "f4", output_size=SHAPE[2:], rule=Name("torch"))
    assert plan == up.Plan("nearest", SIZE, "f4", output_size=SHAPE[2:], rule="torch")
    wanted = x.repeat(2, 2).repeat(2, 3).repeat(2, 4)
    assert np.array_equal(up.nearest(x, SHAPE[2:], rule=Name("torch")), wanted)
    with pytest.raises(up.ParameterError, match="wanted one of NCDHW, NDHWC"):
        up.nearest(x, SHAPE[2:], data_format=Name("NCHW"))


def test_a_plan_says_what_it_is():
    plan = up.Plan("nearest", SIZE, "f2", output_size=SHAPE[2:], num_threads=1)
    size = f"workspace_size={plan.workspace_size}"
    _, h, w = SHAPE[2:]
    how = f"W table, tile {h} x {w}, threads=1"
    assert repr(plan) == f"Plan('nearest', {SIZE} -> {SHAPE}, float16, NCDHW, {how}, {size})"
    assert "W pixels" in repr(up.Plan("trilinear", (1, 4, 4, 4, 40), "f4", output_size=(4, 4, 9),
                                     data_format="NDHWC"))  # fmt: skip
    assert "W copy" in repr(up.Plan("trilinear", SIZE, "f4", output_size=SIZE[2:]))
    nothing = up.Plan("nearest", (0, *SIZE[1:]), "f2", output_size=SHAPE[2:])
    assert repr(nothing).endswith("float16, NCDHW, workspace_size=0)")


@pytest.mark.parametrize("over", [0, 1])
def test_bytes_below_2_to_the_63(over):
    """2^30 * 2^30 * 2 floats are 2^63 bytes; one W less is fewer."""
    shape = (1, 1, 2**30, 2**30, 2)
    options = {"input_size": (1, 1, 1, 1, 1), "strides": (0,) * 5}
    if over:
        with pytest.raises(up.ParameterError, match="fewer than 2"):
            up.Plan("nearest_backward", shape, "f4", **options)
    else:
        spec = specify(Question("nearest_backward", (*shape[:4], 1), "f4", **options))
        assert math.prod(spec.source_shape) * 4 == 2**62


@pytest.mark.parametrize("op", ["nearest_exact", "nearest", "trilinear"])
def test_sizes_from_scales_are_rounded_down(op):
    """floor(5 * 1.5) = 7, floor(3 * 0.99) = 2 and floor(7 * 1.4) = 9."""
    y = getattr(up, op)(np.ones((1, 1, 5, 3, 7), np.float32), scales=(1.5, 0.99, 1.4))
    assert y.shape == (1, 1, 7, 2, 9)


@pytest.mark.parametrize("axis", [2, 3, 4])
def test_the_largest_size_of_an_axis(axis):
    shape = [1] * 5
    for size, fits in ((2**31 - 1, True), (2**31, False)):
        shape[axis] = size
        options = {"input_size": (1,) * 5, "strides": (0,) * 5}
        if fits:
            spec = specify(Question("nearest_backward", shape, "f4", **options))
            assert spec.source_shape[axis] == size
        else:
            with pytest.raises(up.ParameterError, match=f"is {size}, wanted 1 to {size - 1}"):
                specify(Question("nearest_backward", shape, "f4", **options))
