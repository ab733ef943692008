# SPDX-License-Identifier: Apache-2.0
"""Sizes that only scales give: which they are, and what stands in results that they lengthen."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import oracle
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import upsample3d as up
from upsample3d import graph, reference
from upsample3d.aclnn import documented_limit_violations
from upsample3d.cann.acl import AclTensor
from upsample3d.geometry.sizes import counting_scale, scaled_size

OPS = ("nearest_exact", "nearest", "trilinear")
SIDES = np.arange(1, 301)
MISSING = [(i, o) for i in range(1, 301) for o in range(1, 301) if math.floor(i * (o / i)) < o]
"""Pairs of sizes whose ratio leads to one voxel less where the product is rounded down."""


def line(i: int) -> np.ndarray:
    """i different voxels along W."""
    return (1 + np.random.default_rng(i).permutation(i)).astype(np.float32).reshape(1, 1, 1, 1, i)


def size_of(i: int, scale: float, **options) -> int:
    """The length of W that the public function makes of i."""
    return up.nearest(np.zeros((1, 1, 1, 1, i), np.uint8), scales=(1, 1, scale), **options).shape[4]


def test_a_zoom_by_ratios_of_sizes():
    """scipy#2706: (1, 14, 28), both products a rounding below their integers."""
    x = np.random.default_rng(2706).random((1, 1, 1, 11, 25), np.float32)
    scales = (1, 15 / 11, 29 / 25)
    assert [math.floor(n * s) for n, s in zip((1, 11, 25), scales, strict=True)] == [1, 14, 28]
    y = up.trilinear(x, scales=scales)
    assert y.shape == (1, 1, 1, 15, 29)
    assert np.array_equal(y, up.trilinear(x, (1, 15, 29), scales))
    oracle.answer("trilinear", x, (1, 11, 25), (1, 15, 29), scales).check(y, "scipy#2706")
    assert up.trilinear(x, scales=scales, rule="torch").shape == (1, 1, 1, 14, 28)


def test_every_pair_of_sizes():
    assert len(MISSING) == 3358
    for i in range(1, 301):
        ratios = SIDES / i
        assert [scaled_size(i, ratio) for ratio in ratios.tolist()] == SIDES.tolist()
        singles = ratios.astype(np.float32).tolist()
        assert [scaled_size(i, ratio) for ratio in singles] == SIDES.tolist()
        floors = np.floor(i * ratios).astype(int).tolist()
        assert [scaled_size(i, ratio, "torch") for ratio in ratios.tolist()] == floors


@pytest.mark.parametrize(
    ("i", "scale", "o"),
    [
        (49, 1 / 49, 1),
        (30, 0.7 / 0.1, 210),
        (10, np.float32(0.7), 7),
        (5, 1.5, 7),
        (3, 0.99, 2),
        (7, 1.4, 9),
        (100, 0.57, 57),
        (100, 0.5699, 56),
        (1000, 2.9996, 2999),
        (8, 0.01, 1),
        (1, 0.5, 1),
    ],
)
def test_sizes_by_hand(i, scale, o):
    assert size_of(i, scale) == o
    source = np.zeros((1, 1, 1, 1, i), np.float32)
    assert reference.nearest(source, scales=(1, 1, scale)).shape[4] == o
    plan = up.Plan("trilinear", source.shape, "f4", scales=(1, 1, scale))
    assert plan.out_shape == (1, 1, 1, 1, o)


@given(i=st.integers(1, 2**20), scale=st.floats(1e-6, 2000, width=64))
@example(i=49, scale=1 / 49)
@example(i=30, scale=0.7 / 0.1)
@settings(deadline=None)
def test_a_size_is_near_its_product(i, scale):
    exact = i * Fraction(scale)
    o = scaled_size(i, scale)
    assert o >= max(1, math.floor(i * scale))
    assert o <= max(1, exact + Fraction("0.01"))
    assert o > exact - 1


@given(i=st.integers(1, 2**20), o=st.integers(1, 2**20), ulps=st.integers(-1, 1))
@settings(deadline=None)
def test_a_ratio_leads_back_to_its_size(i, o, ulps):
    """An ulp beside the rounded ratio: 1.5 of its ulps, which are at most 3 of the product's."""
    ratio = o / i
    assert scaled_size(i, ratio + ulps * math.ulp(ratio)) == o


@given(i=st.integers(1, 300), whole=st.integers(1, 300), off=st.floats(0.011, 0.5))
@settings(deadline=None)
def test_what_is_no_rounding_is_rounded_down(i, whole, off):
    scale = (whole - off) / i
    assert scaled_size(i, scale) == max(1, whole - 1)
    assert scaled_size(i, scale, relative=0.1) == max(1, whole - 1)


def test_few_digits_by_a_relative_tolerance():
    """2 mm of 3.5 mm as 0.571: 399.7 of 700 voxels are no rounding, 57.1 - 0.0043 of 100 are."""
    assert scaled_size(100, 0.56995, relative=1e-4) == 57
    assert scaled_size(100, 0.56995) == 56
    assert scaled_size(700, 0.5710, relative=1e-3) == 399


@pytest.mark.parametrize("op", OPS)
def test_lengthened_results_are_full(op):
    """Sizes above their products have sources everywhere, those that the scale says."""
    short = [(i, o) for i, o in MISSING if i <= 120 and o <= 120]
    assert len(short) == 517
    for i, o in short[:: 1 if op == "nearest" else 4]:
        scale, x = o / i, line(i)
        y = getattr(up, op)(x, scales=(1, 1, scale))
        assert y.shape[4] == o
        assert (y > 0).all(), (i, o)
        assert np.array_equal(y, getattr(up, op)(x, (1, 1, o), (1, 1, scale))), (i, o)
        oracle.answer(op, x, (1, 1, i), (1, 1, o), (1, 1, scale)).check(y, f"{op} {i} -> {o}")
        by_sizes = getattr(up, op)(x, (1, 1, o))
        if op == "trilinear":  # values and positions are at most i, and s one rounding off
            assert np.abs(y - by_sizes).max() <= 2 * i * i * np.finfo(np.float32).eps
        else:
            assert np.array_equal(y, by_sizes), (i, o)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("i", [1, 2, 3, 8, 49])
def test_one_voxel_of_less_than_one(op, i):
    """Of more than half a voxel the scale says where it lies; of less it spans the axis."""
    x = line(i)
    for product in (0.01, 0.3, 0.5, 0.50000001, 0.6, 0.99):
        scale = product / i
        y = getattr(up, op)(x, scales=(1, 1, scale))
        counts = product > 0.501
        assert counting_scale(i, scale) == (scale if counts else None)
        given = (1, 1, scale if counts else None)
        assert np.array_equal(y, getattr(up, op)(x, (1, 1, 1), given))
        truth = oracle.answer(op, x, (1, 1, i), (1, 1, 1), given)
        truth.check(y, f"{op} {i} * {scale}")
        assert y.shape == (1, 1, 1, 1, 1)
        assert y.min() >= 1
        assert np.array_equal(y, getattr(reference, op)(x, scales=(1, 1, scale)))
        if not counts and op == "trilinear":
            middle = x[..., (i - 1) // 2 : i // 2 + 1]
            assert y.item() == middle.mean()
        with pytest.raises(up.ParameterError, match=r"W of output_size from scales .* is 0"):
            getattr(up, op)(x, scales=(1, 1, scale), rule="torch")


def test_reference_and_library_find_the_same_sizes():
    rng = np.random.default_rng(148)
    for i, o in [MISSING[k] for k in rng.choice(len(MISSING), 20, replace=False)]:
        x, scales = line(i), (1, 1, o / i)
        for op in OPS:
            for rule in oracle.RULES:
                wanted = getattr(up, op)(x, scales=scales, rule=rule)
                assert wanted.shape[4] == o - (rule == "torch")
                got = getattr(reference, op)(x, scales=scales, rule=rule)
                assert np.array_equal(got, wanted)


def test_torch_sizes_are_those_of_interpolate():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    pairs = [MISSING[k] for k in rng.choice(len(MISSING), 100, replace=False)]
    drawn = zip(rng.integers(1, 301, 100).tolist(), rng.uniform(0.4, 4, 100).tolist(), strict=True)
    for i, scale in [*((i, o / i) for i, o in pairs), *drawn]:
        if i * scale < 1:
            continue
        tensor = torch.zeros(1, 1, 1, 1, i)
        for recomputed in (True, False):
            theirs = torch.nn.functional.interpolate(
                tensor, scale_factor=(1.0, 1.0, scale), recompute_scale_factor=recomputed
            )
            assert size_of(i, scale, rule="torch") == theirs.shape[4]


def test_the_operators_keep_their_own_sizes():
    """infer_shape and the documented limits round down: 11 * 15 / 11 is 14, a rounding below 15."""
    shape = (1, 1, 1, 1, 14)
    scales = (1.0, 1.0, float(np.nextafter(np.float32(15 / 11), np.float32(0))))
    size = (1, 1, 1, 1, 11)
    inferred = graph.UpsampleNearest3dGrad.infer_shape(shape, size, (), scales)
    assert inferred == size
    grad_out, grad_input = (
        AclTensor.from_array(np.zeros(s, np.float32)) for s in ((1, 1, 1, 1, 15), size)
    )
    broken = documented_limit_violations(
        "nearest_backward", grad_out, (1, 1, 15), size, (1.0, 1.0, 15 / 11), grad_input
    )
    assert broken == [
        f"W of outputSize is 15, documented: floor(11 * scalesW) = floor(11 * {15 / 11}) = 14"
    ]
