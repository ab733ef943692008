# SPDX-License-Identifier: Apache-2.0
"""Every op, dtype, layout, rule and direction against the oracle, within a rigorous bound."""

import math

import numpy as np
import oracle
import pytest
from arrays import layouts
from oracle import VARIANTS

import upsample3d as up

NAN = math.nan

# (N, C), (iD, iH, iW), (oD, oH, oW), scales. N >= 2 finds wrong batch offsets, unequal sizes find
# swapped axes, W and C stand around the widths of vectors.
CASES = [
    ((2, 2), (2, 3, 5), (5, 4, 7), None),
    ((2, 3), (3, 5, 1), (7, 3, 40), None),
    ((3, 2), (5, 1, 3), (2, 4, 70), None),
    ((2, 3), (1, 2, 4), (40, 3, 3), None),
    ((2, 4), (3, 4, 7), (70, 2, 15), None),
    ((2, 2), (4, 3, 8), (4, 40, 16), None),
    ((2, 3), (2, 6, 9), (3, 13, 17), None),
    ((2, 2), (6, 2, 15), (1, 5, 31), None),
    ((2, 3), (1, 1, 16), (3, 2, 33), None),
    ((2, 3), (5, 4, 17), (3, 4, 9), None),
    ((2, 2), (2, 5, 31), (4, 2, 64), None),
    ((3, 2), (3, 2, 33), (3, 5, 65), None),
    ((2, 2), (4, 3, 64), (3, 4, 31), None),
    ((2, 3), (2, 2, 65), (5, 3, 8), None),
    ((2, 2), (3, 7, 16), (6, 7, 64), None),
    ((2, 3), (7, 3, 40), (3, 7, 1), None),
    ((2, 2), (2, 3, 33), (4, 5, 33), None),
    ((3, 3), (3, 4, 6), (3, 4, 6), None),
    ((2, 1), (2, 3, 4), (3, 5, 9), None),
    ((2, 4), (3, 2, 2), (2, 4, 41), None),
    ((2, 8), (2, 5, 3), (5, 3, 7), None),
    ((2, 15), (3, 2, 4), (4, 6, 3), None),
    ((2, 16), (1, 3, 2), (4, 1, 5), None),
    ((2, 17), (4, 2, 3), (2, 3, 8), None),
    ((2, 33), (2, 1, 3), (3, 4, 5), None),
    ((2, 3), (16, 4, 10), (36, 5, 7), (2.3, 1.25, 0.7)),
    ((2, 2), (4, 2, 7), (5, 2, 17), (1.3, 1.2952756, 2.5)),
    ((2, 16), (2, 3, 4), (4, 5, 7), (None, 1.7, 0.0)),
    ((2, 3), (4, 6, 5), (6, 6, 7), (0.1, 1.1, 100.0)),
    ((2, 3), (3, 8, 4), (7, 4, 6), (NAN, 2.0, 0.1)),
    ((2, 2), (5, 4, 9), (5, 4, 9), (1.2, 0.9, 1.1)),
    ((2, 2), (3, 4, 16), (3, 6, 33), (1.0, 1.5, 1.0)),
    ((2, 3), (3, 7, 9), (3, 3, 21), (1.0, 0.4, 2.3)),
]


def run(op, x, planes, i, o, *, align_corners=False, **options):
    """What the library says for a source x, whatever the direction of the op."""
    if op.startswith("trilinear"):
        options["align_corners"] = align_corners
    if op.endswith("_backward"):
        return getattr(up, op)(x, (*planes, *i), **options)
    return getattr(up, op)(x, o, **options)


@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize("rule", oracle.RULES)
@pytest.mark.parametrize(("op", "align_corners"), VARIANTS)
def test_within_the_bound_of_rounding(op, align_corners, rule, dtype):
    random = np.random.default_rng(VARIANTS.index((op, align_corners)))
    for planes, i, o, scales in CASES:
        side = o if op.endswith("_backward") else i
        x = random.standard_normal((*planes, *side)).astype(oracle.numpy_dtype(dtype))
        truth = oracle.answer(op, x, i, o, scales, align_corners, rule)
        for name, source, data_format in layouts(x):
            options = {"scales": scales, "rule": rule, "data_format": data_format}
            got = run(op, source, planes, i, o, align_corners=align_corners, **options)
            case = f"{op} {planes} {i} -> {o}, scales {scales}, {name}"
            assert got.dtype == x.dtype, case
            truth.check(oracle.from_format(got, data_format), case)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(("op", "align_corners"), VARIANTS)
def test_narrow_types_are_the_float32_result_rounded_once(op, align_corners, dtype):
    random = np.random.default_rng(7)
    for planes, i, o, scales in CASES:
        side = o if op.endswith("_backward") else i
        x = random.standard_normal((*planes, *side)).astype(oracle.numpy_dtype(dtype))
        for name, source, data_format in layouts(x):
            options = {"scales": scales, "data_format": data_format, "align_corners": align_corners}
            got = run(op, source, planes, i, o, **options)
            wide = run(op, source.astype(np.float32), planes, i, o, **options)
            once = wide.astype(source.dtype)
            case = f"{op} {planes} {i} -> {o}, scales {scales}, {name}"
            np.testing.assert_array_equal(got.view(np.uint16), once.view(np.uint16), case)


def test_float16_overflow_and_subnormals_round_once():
    # 512 terms of 200 are beyond float16's 65504; 2^-24 is its smallest subnormal number.
    large = np.full((2, 2, 8, 8, 8), 200.0, np.float16)
    assert (up.nearest_backward(large, (2, 2, 1, 1, 1)) == np.inf).all()
    small = np.full((2, 2, 1, 1, 3), 2.0**-24, np.float16)
    assert (up.nearest_backward(small, (2, 2, 1, 1, 1)) == np.float16(3 * 2.0**-24)).all()
    wide = np.full((2, 2, 8, 8, 8), 200.0, oracle.bfloat16)
    assert (up.nearest_backward(wide, (2, 2, 1, 1, 1)).astype(np.float64) == 102400).all()


# The oracle's own rules, against values worked out elsewhere: by hand, or by the operators' and
# PyTorch's documents and tests.


def dense(op, i, o, **options):
    return oracle.matrix(op, i, o, **options).tolist()


def gradient(op, i, g, **options):
    """The gradient along one axis for a gradient g at the outputs, [i]."""
    return oracle.matrix(op, i, len(g), **options).T @ np.array(g, np.float64)


def test_oracle_windows():
    counts = {
        (3, 7, "aclnn"): [2, 3, 2],
        (2, 41, "aclnn"): [20, 21],
        (2, 41, "torch"): [21, 20],
    }
    for (i, o, rule), count in counts.items():
        got = gradient("nearest_exact_backward", i, [1] * o, rule=rule)
        assert got.tolist() == count, (i, o, rule)


def test_oracle_given_scales():
    ones = [1] * 5
    torch = {"scale": 1.25, "rule": "torch"}
    assert gradient("nearest_backward", 4, ones, **torch).tolist() == [2, 1, 1, 1]
    assert gradient("nearest_exact_backward", 4, ones, **torch).tolist() == [1, 1, 2, 1]
    for scale, count in {0.1: [0, 0, 0, 6], 100.0: [6, 0, 0, 0]}.items():
        torch = {"scale": scale, "rule": "torch"}
        assert gradient("nearest_exact_backward", 4, [1] * 6, **torch).tolist() == count
    for rule in oracle.RULES:
        # The edges ceil(1.2 k - 0.5) are 0, 1, 2, 4, and 5, cut to 4.
        got = gradient("nearest_exact_backward", 4, [1] * 4, scale=1.2, rule=rule)
        assert got.tolist() == [1, 1, 2, 0], rule
    assert dense("nearest", 2, 2, scale=1.25, rule="torch") == [[1, 0], [1, 0]]
    assert dense("nearest_backward", 2, 2, scale=1.25, rule="torch") == [[1, 0], [0, 1]]


def test_oracle_weights():
    f = np.float32
    assert dense("trilinear_backward", 3, 5) == [
        [1, 0, 0],
        [f(0.59999996), f(0.40000004), 0],
        [0, 1, 0],
        [0, f(0.39999986), f(0.60000014)],
        [0, 0, 1],
    ]
    assert dense("trilinear_backward", 3, 5, align_corners=True) == [
        [1, 0, 0],
        [0.5, 0.5, 0],
        [0, 1, 0],
        [0, 0.5, 0.5],
        [0, 0, 1],
    ]
    assert dense("trilinear_backward", 10, 1) == [[0, 0, 0, 0, 0.5, 0.5, 0, 0, 0, 0]]
    assert dense("trilinear_backward", 10, 1, align_corners=True) == [[1] + [0] * 9]
    assert dense("trilinear_backward", 1, 7) == [[1]] * 7
    assert dense("trilinear", 2, 4) == [[1, 0], [0.75, 0.25], [0.25, 0.75], [0, 1]]


@pytest.mark.parametrize("rule", oracle.RULES)
def test_oracle_trilinear_gradients(rule):
    two = gradient("trilinear_backward", 2, [1, 2, 4, 8], rule=rule)
    assert two.tolist() == [3.5, 11.5]
    corners = gradient("trilinear_backward", 2, [1, 2, 4, 8], align_corners=True, rule=rule)
    # Weights rounded to float32 (2^-25 each), printed with six decimals.
    np.testing.assert_allclose(corners, [3.666667, 11.333334], rtol=0, atol=1e-6)
    assert gradient("trilinear_backward", 4, [1], align_corners=True).tolist() == [1, 0, 0, 0]
    assert gradient("trilinear_backward", 4, [1], rule=rule).tolist() == [0, 0.5, 0.5, 0]
