# SPDX-License-Identifier: Apache-2.0
"""The reference: the kernel's bits in our order, those of scalar loops in the device's orders."""

import dataclasses
import math

import numpy as np
import oracle
import pytest
from arrays import layouts
from oracle import VARIANTS
from orders import axes_of, one_accumulator, pass_by_pass

import upsample3d as up
from upsample3d import reference

NEAREST_BACKWARD = ("nearest_backward", "nearest_exact_backward")
SCALES = (None, None, 1.7, (None, 0.6, 2.3), (math.nan, 1.0, -1.0), (2.0, 2.0, 2.0))


def cases(random, count, largest):
    """[(planes, i, o, scales)], up- and down-sampled, equal sizes on one axis in three."""
    for _ in range(count):
        planes = tuple(map(int, random.integers(1, [4, 4])))
        i, o = (random.integers(1, largest) for _ in range(2))
        o = np.where(random.random(3) < 1 / 3, i, o)
        yield planes, tuple(map(int, i)), tuple(map(int, o)), SCALES[random.integers(len(SCALES))]


def numbers(random, shape, dtype, special):
    """Numbers of many magnitudes in a dtype, among them -0.0, and inf and NaN if special."""
    x = random.standard_normal(shape) * 2.0 ** random.integers(-10, 11, shape)
    x[random.random(shape) < 0.2] = -0.0
    if special:
        odd = random.random(shape) < 0.03
        x[odd] = random.choice([np.inf, -np.inf, np.nan], odd.sum())
    return x.astype(oracle.numpy_dtype(dtype))


def bits(x):
    """The bits of x, all NaNs alike."""
    x = x.copy()
    x[np.isnan(x)] = np.nan
    return x.view(f"u{x.dtype.itemsize}")


def call(module, op, x, planes, i, o, align_corners, **options):
    """What a module, up or reference, says for a source x."""
    if op.startswith("trilinear"):
        options["align_corners"] = align_corners
    return getattr(module, op)(x, (*planes, *i) if op.endswith("_backward") else o, **options)


@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize("rule", oracle.RULES)
@pytest.mark.parametrize(("op", "align_corners"), VARIANTS)
def test_our_order_is_the_kernel_to_the_bit(op, align_corners, rule, dtype):
    random = np.random.default_rng(11)
    # Axes of up to 40: several vectors; C of 16 and more: pixels that fill one.
    for number, (planes, i, o, scales) in enumerate(cases(random, 12, [6, 9, 41])):
        planes = (planes[0], (planes[1], 17)[number % 4 == 3])
        shape = (*planes, *(o if op.endswith("_backward") else i))
        x = numbers(random, shape, dtype, special=number % 2 == 0)
        for name, source, data_format in layouts(x):
            options = {"scales": scales, "rule": rule, "data_format": data_format}
            kernel = call(up, op, source, planes, i, o, align_corners, **options)
            plain = call(reference, op, source, planes, i, o, align_corners, **options)
            case = f"{op} {planes} {i} -> {o}, scales {scales}, {name}"
            assert plain.dtype == kernel.dtype, case
            np.testing.assert_array_equal(bits(plain), bits(kernel), case)


@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize("rule", oracle.RULES)
@pytest.mark.parametrize("op", NEAREST_BACKWARD)
def test_the_950_has_one_accumulator(op, rule, dtype):
    random = np.random.default_rng(12)
    for number, (planes, i, o, scales) in enumerate(cases(random, 12, [5, 6, 7])):
        g = numbers(random, (*planes, *o), dtype, special=number % 2 == 0)
        got = getattr(reference, op)(g, (*planes, *i), scales, rule=rule, order="device")
        with np.errstate(all="ignore"):
            expected = one_accumulator(g, axes_of(op, i, o, scales, False, rule, dtype))
        case = f"{op} {planes} {i} -> {o}, scales {scales}"
        np.testing.assert_array_equal(bits(got), bits(expected), case)


@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize("rule", oracle.RULES)
@pytest.mark.parametrize(("op", "align_corners"), VARIANTS)
def test_separable_orders(op, align_corners, rule, dtype):
    random = np.random.default_rng(13)
    device = {"device": "a2"} if op in NEAREST_BACKWARD else {}
    for number, (planes, i, o, scales) in enumerate(cases(random, 8, [5, 6, 7])):
        shape = (*planes, *(o if op.endswith("_backward") else i))
        x = numbers(random, shape, dtype, special=number % 2 == 0)
        axes = axes_of(op, i, o, scales, align_corners, rule, dtype)
        options = {"scales": scales, "rule": rule}
        for order, along, from_zero in (
            ("ours", (0, 1, 2), False),
            # The nearest ops themselves pick: what they give is their source's, sign of zero too.
            ("device", (2, 1, 0), op not in ("nearest", "nearest_exact")),
        ):
            got = call(
                reference, op, x, planes, i, o, align_corners, order=order, **device, **options
            )
            with np.errstate(all="ignore"):
                expected = pass_by_pass(x, axes, along, from_zero)
            case = f"{op} {planes} {i} -> {o}, scales {scales}, {order}"
            np.testing.assert_array_equal(bits(got), bits(expected), case)


def test_the_three_orders_differ():
    # 2^24 + 1 is 2^24 in float32, so a one survives only where it is added to small numbers.
    # [d][w] is [[1, b], [1, -b]]: (1 + 1) + (b - b); ((1 + b) + 1) - b; (1 + b) + (1 - b).
    g = np.array([1, 2.0**24, 1, -(2.0**24)], np.float32).reshape(1, 1, 2, 1, 2)
    got = [
        float(reference.nearest_backward(g, (1, 1, 1, 1, 1), **options).item())
        for options in (
            {"order": "ours"},
            {"order": "device"},
            {"order": "device", "device": "a2"},
        )
    ]
    assert got == [2, 0, 1]


@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize(("op", "align_corners"), VARIANTS)
def test_orders_agree_within_rounding(op, align_corners, dtype):
    random = np.random.default_rng(14)
    for planes, i, o, scales in cases(random, 20, [8, 9, 10]):
        shape = (*planes, *(o if op.endswith("_backward") else i))
        x = random.standard_normal(shape).astype(oracle.numpy_dtype(dtype))
        truth = oracle.answer(op, x, i, o, scales, align_corners)
        case = f"{op} {planes} {i} -> {o}, scales {scales}"
        for order in ("ours", "device"):
            options = {"device": "a2"} if op in NEAREST_BACKWARD else {}
            got = call(
                reference, op, x, planes, i, o, align_corners,
                scales=scales, order=order, **options,
            )  # fmt: skip
            truth.check(got, f"{case}, {order}")
        if op in NEAREST_BACKWARD:
            # One accumulator: a term meets as many additions as its window has terms, at most.
            largest = math.prod(
                max(map(len, axis)) for axis in axes_of(op, i, o, scales, False, "aclnn", dtype)
            )
            got = getattr(reference, op)(x, (*planes, *i), scales, order="device")
            dataclasses.replace(truth, roundings=largest).check(got, f"{case}, 950")


SIGNIFICANT = {"float32": 24, "float16": 11, "bfloat16": 8}


def nearest_even(exact, digits):
    """float64 numbers rounded to so many binary digits, ties to even, within a normal range."""
    mantissa, exponent = np.frexp(exact)
    return np.ldexp(np.rint(np.ldexp(mantissa, digits)), exponent - digits)


@pytest.mark.parametrize("dtype", SIGNIFICANT)
@pytest.mark.parametrize("order", ["ours", "device"])
@pytest.mark.parametrize("op", NEAREST_BACKWARD)
def test_sums_in_float64_are_rounded_once(op, order, dtype):
    # Multiples of 2^-24 below 64: float64 sums them exactly, float32 does not.
    random = np.random.default_rng(15)
    differ = 0
    for planes, i, o, _ in cases(random, 30, [4, 5, 6]):
        x = random.integers(-(2**30), 2**30, (*planes, *o)) >> random.integers(0, 20, (*planes, *o))
        x = (x / 2.0**24).astype(oracle.numpy_dtype(dtype))
        truth = oracle.answer(op, x, i, o)
        got = getattr(reference, op)(x, (*planes, *i), order=order, real="float64")
        expected = nearest_even(truth.value, SIGNIFICANT[dtype])
        np.testing.assert_array_equal(got.astype(np.float64), expected, f"{op} {planes} {i} {o}")
        single = getattr(reference, op)(x, (*planes, *i), order=order, real="float32")
        differ += int((single != got).sum())
    assert differ > 0 or dtype != "float32"


@pytest.mark.parametrize(
    ("window", "total"),
    [
        # 1 + 2^-8 is half way between bfloat16's 1 and 1 + 2^-7; 2^-30 is lost in float32.
        ([1, 2**-8, 2**-30], 1 + 2**-7),
        ([1, 2**-8, -(2**-30)], 1),
        ([1, 2**-8, 0], 1),
        ([1 + 2**-7, 2**-8, 0], 1 + 2**-6),
        ([1 + 2**-7, 2**-8, -(2**-30)], 1 + 2**-7),
        ([2.0**127, 2.0**127, 2.0**100], math.inf),
    ],
)
def test_bfloat16_takes_no_second_rounding(window, total):
    for sign in (1, -1):
        g = sign * np.array(window).reshape(1, 1, 1, 1, 3)
        g = g.astype(oracle.bfloat16)
        got = reference.nearest_backward(g, (1, 1, 1, 1, 1), real="float64")
        assert float(got.item()) == sign * total


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("op", ["trilinear", "trilinear_backward"])
def test_float64_sums_leave_the_last_rounding_only(op, align_corners):
    random = np.random.default_rng(16)
    for planes, i, o, scales in cases(random, 20, [6, 7, 8]):
        shape = (*planes, *(o if op.endswith("_backward") else i))
        x = random.standard_normal(shape).astype(np.float32)
        truth = oracle.answer(op, x, i, o, scales, align_corners)
        got = call(
            reference, op, x, planes, i, o, align_corners, scales=scales, real="float64"
        ).astype(np.float64)
        # Half an ulp of float32, and what float64 sums lose here and in the oracle.
        lost = 2 * truth.roundings * 2.0**-53 * truth.magnitude
        error = np.abs(got - truth.value)
        assert (error <= 2.0**-24 * np.abs(truth.value) + 1.01 * lost).all(), (op, planes, i, o)


def test_float32_sums_of_float64_data():
    g = np.random.default_rng(17).standard_normal((2, 3, 5, 7, 8))
    wide = reference.nearest_backward(g, (2, 3, 2, 3, 3), real="float32")
    single = reference.nearest_backward(g.astype(np.float32), (2, 3, 2, 3, 3))
    assert wide.dtype == np.float64
    np.testing.assert_array_equal(wide, single)


def test_sizes_and_scales_as_the_library_takes_them():
    x = np.random.default_rng(18).standard_normal((2, 3, 4, 5, 10)).astype(np.float32)
    # Ten times float32's 0.7 is just below 7, and 7 if multiplied in float32.
    for scales in (1.7, [1.5, 2, 0.5], np.array([1.5, 2.5, 0.7], np.float32)):
        for op in ("nearest", "nearest_exact", "trilinear"):
            got = getattr(reference, op)(x, scales=scales)
            np.testing.assert_array_equal(got, getattr(up, op)(x, scales=scales))
    assert reference.nearest(x[:0], (5, 6, 7)).shape == (0, 3, 5, 6, 7)
    assert reference.trilinear_backward(x[:, :0], (2, 0, 3, 4, 5)).shape == (2, 0, 3, 4, 5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"order": "yours"},
        {"device": "310p"},
        {"rule": "onnx"},
        {"real": "float16"},
        {"data_format": "NCHW"},
        {"input_size": (1, 3, 2, 2, 2)},
        {"input_size": (1, 2, 0, 2, 2)},
    ],
)
def test_a_wrong_argument_is_named(wrong):
    arguments = {"input_size": (1, 2, 2, 2, 2)} | wrong
    with pytest.raises(up.ParameterError) as error:
        reference.nearest_backward(np.zeros((1, 2, 3, 3, 3), np.float32), **arguments)
    said = {(1, 3, 2, 2, 2): "C = 3, wanted 2", (1, 2, 0, 2, 2): "D of input_size is 0"}
    ((name, given),) = wrong.items()
    assert said.get(given, f"{name} is {given!r}, wanted") in str(error.value)
    with pytest.raises(up.ParameterTypeError, match="int32"):
        reference.nearest_backward(np.zeros((1, 2, 3, 3, 3), np.int32), (1, 2, 2, 2, 2))
