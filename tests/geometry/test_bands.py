# SPDX-License-Identifier: Apache-2.0
"""Bands: where every index falls, and with which weight, against the oracle's scattered triples."""

import math

import numpy as np
import oracle
import pytest

import upsample3d as up
from upsample3d.geometry.band import weighted

MODES = [("nearest", False), ("nearest_exact", False), ("trilinear", False), ("trilinear", True)]
SCALES = (1.1, 1.2, 1.25, 1.3, 1.5, 1.7, 2.0, 2.3, 2.5, 0.7, 0.1, 100.0)
UP_TO_40 = [(i, o) for i in range(1, 41) for o in range(1, 41)]


def some_pairs(count, largest):
    random = np.random.default_rng(largest)
    return [tuple(map(int, random.integers(1, largest + 1, 2))) for _ in range(count)]


def check_shape_of(band, results, sources, case):
    """What holds for every band: ordered, in bounds, no zero weight, weights where they belong."""
    for ends in (band.lo, band.hi):
        assert ends.dtype == np.int64, case
        assert ends.shape == (results,), case
        assert (np.diff(ends) >= 0).all(), case
    assert (band.lo >= 0).all(), case
    assert (band.hi <= sources).all(), case
    assert (band.lo <= band.hi).all(), case
    assert band.start[0] == 0, case
    assert np.array_equal(np.diff(band.start), band.hi - band.lo), case
    if band.w is not None:
        assert band.w.shape == (band.start[-1],), case
        assert (band.w > 0).all(), case


def triples_of(band, backward):
    """Sorted [(output index, input index, weight)] of a band."""
    result = np.repeat(np.arange(len(band.lo)), band.hi - band.lo)
    source = np.arange(band.start[-1]) - np.repeat(band.start[:-1] - band.lo, band.hi - band.lo)
    weight = np.ones(len(result)) if band.w is None else band.w.astype(np.float64)
    output, index = (source, result) if backward else (result, source)
    return sorted(zip(output.tolist(), index.tolist(), weight.tolist(), strict=True))


def check_against_oracle(op, i, o, *options):
    """Every index and weight of up.bands(op, i, o, *options) is the oracle's, and well formed."""
    backward = op.endswith("_backward")
    case = f"bands{(op, i, o, *options)}"
    band = up.bands(op, i, o, *options)
    check_shape_of(band, *((i, o) if backward else (o, i)), case)
    if op.startswith("trilinear") and options[2:] == ("torch", "float64"):
        # Bits are not promised here: PyTorch's depend on its CPU level (fused or not). A position
        # is rounded three times, each by at most i eps / 2, on either side.
        bound = 3 * i * np.finfo(np.float64).eps
        dense = np.zeros((o, i))
        for x, j, w in triples_of(band, backward):
            dense[x, j] = w
        assert (np.abs(dense - oracle.matrix(op, i, o, *options)) <= bound).all(), case
        return
    truth = oracle.contributions(op, i, o, *options)
    assert triples_of(band, backward) == sorted(truth), case


@pytest.mark.parametrize("backward", ["_backward", ""])
@pytest.mark.parametrize("rule", oracle.RULES)
@pytest.mark.parametrize(("mode", "align_corners"), MODES)
def test_all_sizes_to_40(mode, align_corners, rule, backward):
    for i, o in UP_TO_40:
        check_against_oracle(mode + backward, i, o, None, align_corners, rule)


@pytest.mark.parametrize("backward", ["_backward", ""])
@pytest.mark.parametrize("rule", oracle.RULES)
@pytest.mark.parametrize(("mode", "align_corners"), MODES)
def test_sizes_to_300_given_scales_and_float64(mode, align_corners, rule, backward):
    for i, o in some_pairs(60, 300):
        check_against_oracle(mode + backward, i, o, None, align_corners, rule)
        check_against_oracle(mode + backward, i, o, None, align_corners, rule, "float64")
    for scale in SCALES:
        for i in (1, 2, 3, 4, 5, 7, 9, 16, 33, 130, 257):
            for o in {max(1, math.floor(i * scale)), i, 2 * i, 7}:
                for dtype in ("float32", "float64"):
                    check_against_oracle(mode + backward, i, o, scale, align_corners, rule, dtype)


@pytest.mark.parametrize("scale", [None, 0, 0.0, -1.0, math.nan])
@pytest.mark.parametrize("op", ["nearest_exact_backward", "nearest", "trilinear_backward"])
def test_a_scale_that_is_not_given(op, scale):
    for rule in oracle.RULES:
        band = up.bands(op, 4, 9, scale, rule=rule)
        assert triples_of(band, op.endswith("_backward")) == sorted(
            oracle.contributions(op, 4, 9, rule=rule)
        )


LARGE = [(2**20, 7), (7, 2**20), (2**20, 2**20 - 1), (1048573, 699053), (524287, 1048573)]


@pytest.mark.parametrize(("i", "o"), LARGE)
@pytest.mark.parametrize("rule", oracle.RULES)
def test_large_sizes_at_sampled_indices(i, o, rule):
    random = np.random.default_rng(i)
    outputs = [0, o - 1, *map(int, random.integers(0, o, 500))]
    for exact, op in enumerate(("nearest_backward", "nearest_exact_backward")):
        band = up.bands(op, i, o, rule=rule)
        check_shape_of(band, i, o, op)
        assert tiles(band, o), (op, i, o)
        if rule == "torch":
            sources = [
                oracle.torch_source(x, i, o, None, bool(exact), True, False) for x in outputs
            ]
            assert np.searchsorted(band.hi, outputs, side="right").tolist() == sources
        else:
            inputs = [0, i - 1, *map(int, random.integers(0, i, 500))]
            edges = [oracle.window_edge(k, i, o, None, exact / 2) for k in inputs]
            assert band.lo[inputs].tolist() == edges
    for align_corners in (False, True):
        band = up.bands("trilinear", i, o, None, align_corners, rule)
        check_shape_of(band, o, i, "trilinear")
        for x in outputs:
            t = slice(band.start[x], band.start[x + 1])
            weights = [1.0] if band.w is None else band.w[t].tolist()
            truth = oracle.linear_sources(x, i, o, None, align_corners, rule, False)
            assert list(zip(range(band.lo[x], band.hi[x]), weights, strict=True)) == truth


def tiles(band, sources):
    """Whether the windows, in order, cover every source exactly once."""
    return bool(
        band.lo[0] == 0 and band.hi[-1] == sources and np.array_equal(band.lo[1:], band.hi[:-1])
    )


@pytest.mark.parametrize("rule", oracle.RULES)
@pytest.mark.parametrize("op", ["nearest_backward", "nearest_exact_backward"])
def test_windows_tile_the_outputs(op, rule):
    for i, o in UP_TO_40 + some_pairs(500, 300) + some_pairs(12, 2**20):
        assert tiles(up.bands(op, i, o, rule=rule), o), (i, o)
    for scale in SCALES:
        for i in [*range(1, 60), 997, 65521]:
            o = math.floor(i * scale)
            if o >= 1:
                assert tiles(up.bands(op, i, o, scale, rule=rule), o), (i, o, scale)


@pytest.mark.parametrize("rule", oracle.RULES)
def test_a_position_that_float32_cannot_hold(rule):
    """The middle of 2^25 + 3 inputs is 2^24 + 1; torch floors float32(2^24 + 1) = 2^24, and puts
    the whole weight on the next input. So it does at the end, float32(2^25 + 2) = 2^25."""
    band = up.bands("trilinear", 2**25 + 3, 3, None, True, rule, "float64")
    assert band.lo.tolist() == [0, 2**24 + 1, 2**25 + (1 if rule == "torch" else 2)]
    assert (band.hi - band.lo).tolist() == [1, 1, 1]
    assert band.w is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rule", oracle.RULES)
@pytest.mark.parametrize("align_corners", [False, True])
def test_weights_of_every_output_sum_to_one(align_corners, rule, dtype):
    # w0 = 1 - w1 is rounded once, by at most a quarter of an epsilon, as it lies in [0, 1].
    bound = np.finfo(dtype).eps / 4
    for i, o in UP_TO_40 + some_pairs(200, 300) + [(3, 70001), (70001, 31)]:
        band = up.bands("trilinear", i, o, None, align_corners, rule, dtype)
        sums = np.ones(o)
        if band.w is not None:
            assert band.w.dtype == dtype
            sums = np.add.reduceat(band.w.astype(np.longdouble), band.start[:-1])
        assert (np.abs(sums - 1) <= bound).all(), (i, o)


def test_trilinear_weights_of_the_operators_document():
    f = np.float32
    band = up.bands("trilinear", 3, 5)
    assert band.lo.tolist() == [0, 0, 1, 1, 2]
    assert band.hi.tolist() == [1, 2, 2, 3, 3]
    weights = [f(1), f(0.59999996), f(0.40000004), f(1), f(0.39999986), f(0.60000014), f(1)]
    assert band.w.tolist() == [float(w) for w in weights]
    band = up.bands("trilinear", 3, 5, align_corners=True)
    assert band.w.tolist() == [1, 0.5, 0.5, 1, 0.5, 0.5, 1]
    band = up.bands("trilinear_backward", 10, 1)
    assert (band.hi - band.lo).tolist() == [0, 0, 0, 0, 1, 1, 0, 0, 0, 0]
    assert band.w.tolist() == [0.5, 0.5]
    aligned = up.bands("trilinear_backward", 10, 1, align_corners=True)
    assert (aligned.hi - aligned.lo).tolist() == [1] + [0] * 9
    assert aligned.w is None
    assert up.bands("trilinear_backward", 1, 7).w is None
    assert up.bands("trilinear_backward", 6, 6, 1.7).w is None


def test_zeros_at_the_ends_of_windows_are_left_out():
    rows = np.array([[0, 1, 2, 0], [0, 3, 0, 0], [0, 0, 0, 0], [0, 0, 0, 4]], np.float32)
    made = weighted(np.array([0, 1, 3, 3]), rows, 7)
    assert made.lo.tolist() == [1, 2, 3, 6]
    assert made.hi.tolist() == [3, 3, 3, 7]
    assert made.start.tolist() == [0, 2, 3, 3, 4]
    assert made.w.tolist() == [1, 2, 3, 4]
    assert weighted(np.array([0, 1]), np.eye(2), 3).w is None


def test_windows_that_do_not_ascend_are_refused():
    """Trimmed, the second window ends before the first: no transpose by searching."""
    with pytest.raises(ValueError, match="do not ascend"):
        weighted(np.array([0, 0]), np.array([[1, 1, 1], [1, 0, 0]]), 3)


@pytest.mark.parametrize("row", [[0.5, 0, 0.5], [0, 1, 0, -1]])
def test_a_zero_between_weights_is_refused(row):
    """With an infinite source the forms of a sum would not agree on it."""
    with pytest.raises(ValueError, match="a weight of 0 between others"):
        weighted(np.zeros(1, np.int64), np.array([row]), 4)
    with pytest.raises(ValueError, match="a weight of 0"):
        up.Band(np.zeros(1, int), np.full(1, 3), np.array([0, 3]), np.array([0.5, 0, 0.5]), 3)
