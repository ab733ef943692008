# SPDX-License-Identifier: Apache-2.0
"""Integer data, equality to the bit: where no sum is rounded, no error is allowed."""

import itertools

import numpy as np
import oracle
import pytest

import upsample3d as up

# The integers that every partial sum must stay within to be exact: 2 ** (bits of the significand).
EXACT = {"float32": 2**24, "float16": 2**11, "bfloat16": 2**8, "float64": 2**53}


def nearest_cases(count):
    """[((N, C), i, o)] from a seed: N, C >= 2, sizes up- and down-sampled, mixed over the axes."""
    random = np.random.default_rng(20260821)
    for _ in range(count):
        planes = tuple(map(int, random.integers(2, [4, 20])))
        i, o = (tuple(map(int, random.integers(1, [7, 9, 36]))) for _ in range(2))
        yield planes, i, o


def integers(random, shape, dtype, terms):
    """Integers in a dtype, so small that sums of `terms` of them are exact in it."""
    largest = max(1, min(EXACT[dtype] // terms, 100))
    return random.integers(-largest, largest + 1, shape).astype(oracle.numpy_dtype(dtype))


def largest_window(op, i, o, rule):
    """The most outputs that any input gathers."""
    axes = [oracle.matrix(op, *size, rule=rule) for size in zip(i, o, strict=True)]
    return int(np.prod([axis.sum(axis=0).max() for axis in axes]))


def assert_equal(got, truth, case):
    assert np.array_equal(got.astype(np.float64), truth), case


@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize("op", ["nearest", "nearest_exact"])
def test_nearest_gradients_and_results(op, dtype):
    random = np.random.default_rng(3)
    compared = 0
    for number, (planes, i, o) in enumerate(nearest_cases(200)):
        rule = oracle.RULES[number % 2]
        options = {"rule": rule, "data_format": ("NCDHW", "NDHWC")[number // 2 % 2]}
        case = f"{op} {planes} {i} -> {o}, {options}"

        terms = largest_window(op + "_backward", i, o, rule)
        if terms <= EXACT[dtype]:
            g = integers(random, (*planes, *o), dtype, terms)
            truth = oracle.answer(op + "_backward", g, i, o, rule=rule).value
            source = oracle.to_format(g, options["data_format"])
            got = getattr(up, op + "_backward")(source, (*planes, *i), **options)
            assert_equal(oracle.from_format(got, options["data_format"]), truth, case)
            compared += 1

        x = integers(random, (*planes, *i), dtype, 1)
        truth = oracle.answer(op, x, i, o, rule=rule).value
        y = getattr(up, op)(oracle.to_format(x, options["data_format"]), o, **options)
        assert_equal(oracle.from_format(y, options["data_format"]), truth, case)
    # bfloat16 counts exactly to 256 only; most windows are smaller than that.
    assert compared >= 150


# Sizes whose weights are dyadic: multiples of 1/4 at a factor of 2, of 1/8 at 4, 0 and 1 at 1 and
# at odd factors down, 1/2 at even ones, and with align_corners multiples of (i - 1) / (o - 1).
DYADIC = {
    False: [(3, 6), (5, 10), (4, 16), (4, 4), (9, 3), (8, 2), (1, 7), (6, 1), (16, 8), (17, 34)],
    True: [(3, 5), (5, 17), (9, 17), (2, 5), (4, 4), (17, 9), (33, 5), (1, 6), (7, 1), (2, 9)],
}


@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("op", ["trilinear_backward", "trilinear"])
def test_trilinear_with_dyadic_weights(op, align_corners, dtype):
    random = np.random.default_rng(5)
    sizes = DYADIC[align_corners]
    for number in range(60):
        axes = [sizes[k] for k in random.integers(0, len(sizes), 3)]
        i, o = zip(*axes, strict=True)
        planes = (2, (2, 3, 8, 17)[number % 4])
        rule = oracle.RULES[number % 2]
        options = {"rule": rule, "align_corners": align_corners}
        x = random.integers(-3, 4, (*planes, *(o if op.endswith("_backward") else i)))
        x = x.astype(oracle.numpy_dtype(dtype))
        truth = oracle.answer(op, x, i, o, align_corners=align_corners, rule=rule)
        # At most 9 bits behind the point (1/8 per axis) and 24 in all: float32 sums are exact.
        assert truth.magnitude.max() < 2 ** (24 - 9)
        for data_format in ("NCDHW", "NDHWC"):
            source = oracle.to_format(x, data_format)
            shape = (*planes, *i) if op.endswith("_backward") else o
            got = getattr(up, op)(source, shape, data_format=data_format, **options)
            expected = truth.value.astype(oracle.numpy_dtype(dtype)).astype(np.float64)
            case = f"{op} {planes} {i} -> {o}, {data_format}, {options}"
            assert_equal(oracle.from_format(got, data_format), expected, case)


def summed(op, i, o):
    """Which results, [D, H, W], are sums at all: one over an empty window is +0."""
    weights = [oracle.matrix(op, *size) != 0 for size in zip(i, o, strict=True)]
    d, h, w = (m.any(axis=0 if op.endswith("_backward") else 1) for m in weights)
    return d[:, None, None] & h[:, None] & w


@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize("op", [*oracle.OPS, *(f"{op}_backward" for op in oracle.OPS)])
def test_sums_of_minus_zero_are_minus_zero(op, dtype):
    """However many terms there are along an axis, and wherever a sum is continued."""
    for axis, few, many in itertools.product(range(3), (1, 3), (*range(1, 14), 16, 20, 70)):
        i, o = [3, 2, 5], [3, 2, 5]
        i[axis], o[axis] = few, many
        for channels in (1, 2, 16):
            shape = (1, channels, *i)
            x = np.full((1, channels, *o) if op.endswith("_backward") else shape, -0.0)
            x = oracle.to_format(x.astype(oracle.numpy_dtype(dtype)), "NDHWC")
            got = getattr(up, op)(
                x, shape if op.endswith("_backward") else o, data_format="NDHWC"
            )  # fmt: skip
            wanted = np.broadcast_to(summed(op, i, o)[..., None], got.shape)
            assert np.array_equal(np.signbit(got), wanted), (i, o, channels)
