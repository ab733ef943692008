# SPDX-License-Identifier: Apache-2.0
"""Division by multiplication, against Python's own integer division."""

import importlib

import numpy as np
import pytest

from upsample3d.kernel import levels

gather = importlib.import_module(f"upsample3d.kernel.{levels.level}.gather")
WIDTHS = (32, 64)


def check(numbers, divisor, width):
    """Every quotient is Python's."""
    numbers = [int(x) for x in numbers]
    result = np.empty(len(numbers), np.uint64)
    gather.quotients(np.array(numbers, np.uint64), divisor, width, result)
    wrong = [(x, q) for x, q in zip(numbers, result.tolist(), strict=True) if q != x // divisor]
    assert not wrong, f"{wrong[0][0]} // {divisor} in {width} bits gave {wrong[0][1]}"


def near_multiples(divisor, width, count):
    """Multiples of a divisor and their neighbours: the `count` largest of the width, and more.

    The quotient never falls as x grows, so a wrong one shows at a multiple or just below one, and
    what the multiplier is too large by tells most at the end of the width.
    """
    most = 2**width - 1
    top = most // divisor
    quotients = {*range(top - count, top + 1), *range(count), top // 2, top // 3}
    numbers = {q * divisor + r for q in quotients if q >= 0 for r in (-1, 0, 1)}
    return sorted(x for x in numbers | {0, most} if 0 <= x <= most)


def edges(width):
    """Divisors around powers of two, and the largest."""
    around = {2**k + r for k in range(width + 1) for r in (-1, 0, 1)}
    return sorted(d for d in around if 1 <= d < 2**width)


@pytest.mark.parametrize("width", WIDTHS)
def test_all_small_numbers_and_divisors(width):
    for divisor in range(1, 401):
        check(range(401), divisor, width)


@pytest.mark.parametrize("width", WIDTHS)
def test_small_divisors_at_the_end_of_the_width(width):
    for divisor in range(1, 3001):
        check(near_multiples(divisor, width, 20), divisor, width)


@pytest.mark.parametrize("width", WIDTHS)
def test_divisors_around_powers_of_two(width):
    for divisor in edges(width):
        numbers = {*near_multiples(divisor, width, 20), *edges(width)}
        check(sorted(numbers), divisor, width)


@pytest.mark.parametrize("width", WIDTHS)
def test_random_divisors_of_every_length(width):
    random = np.random.default_rng(width)
    for length in range(1, width + 1):
        for _ in range(40):
            divisor = int(random.integers(2 ** (length - 1), 2**length, dtype=np.uint64))
            numbers = random.integers(0, 2**width, 200, dtype=np.uint64)
            check([*numbers, *near_multiples(divisor, width, 10)], divisor, width)


# The device's own multipliers and shifts, as its documented formula gives them.
DEVICE = [
    (32, 1, 1, 0),
    (32, 2, 1, 1),
    (32, 3, 1431655766, 2),
    (32, 5, 2576980378, 3),
    (32, 7, 613566757, 3),
    (32, 10, 2576980378, 4),
    (32, 1000, 103079216, 10),
    (32, 65537, 4294836226, 17),
    (32, 2**31 - 1, 3, 31),
    (64, 3, 6148914691236517206, 2),
    (64, 7, 2635249153387078803, 3),
    (64, 10, 11068046444225730970, 4),
    (64, 1000, 442721857769029239, 10),
]


@pytest.mark.parametrize(("width", "divisor", "multiplier", "shift"), DEVICE)
def test_the_pairs_of_the_device(width, divisor, multiplier, shift):
    assert gather.magic(divisor, width) == (multiplier, shift)


@pytest.mark.parametrize("width", WIDTHS)
def test_multiplier_and_shift_by_their_definition(width):
    for divisor in {*range(1, 1001), *edges(width)}:
        shift = (divisor - 1).bit_length()
        multiplier = 2**width * (2**shift - divisor) // divisor + 1
        assert gather.magic(divisor, width) == (multiplier, shift), divisor
        assert multiplier < 2**width, divisor


@pytest.mark.parametrize(
    ("divisor", "first"), [(3, 3221225472), (5, 2684354560), (7, 3758096384), (10, 2684354560)]
)
def test_where_a_sum_of_32_bits_fails(divisor, first):
    """The device adds in 32 bits, which overflows from `first` on: here that is right, too."""
    multiplier, shift = gather.magic(divisor, 32)

    def device(x):
        return ((x + (x * multiplier >> 32)) & 0xFFFFFFFF) >> shift

    # x + high(x) grows with x, so the first overflow is the first failure.
    assert device(first - 1) == (first - 1) // divisor
    assert device(first) != first // divisor
    check([first - 1, first, first + 1, 2**32 - 1], divisor, 32)
