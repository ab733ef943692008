# SPDX-License-Identifier: Apache-2.0
"""Where the rules of the nearest kinds differ, "aclnn" and "torch", forward and backward."""

import math

import numpy as np
import oracle
import pytest
from differences import GIVEN

import upsample3d as up
from upsample3d.geometry.kinds import bands


def counts(op, i, o, scale=None, rule="aclnn"):
    band = up.bands(op, i, o, scale, rule=rule)
    return (band.hi - band.lo).tolist()


def test_ties_fall_differently_under_the_two_rules():
    op = "nearest_exact_backward"
    band = up.bands(op, 3, 7)
    assert list(zip(band.lo.tolist(), band.hi.tolist(), strict=True)) == [(0, 2), (2, 5), (5, 7)]
    assert counts(op, 2, 41) == [20, 21]
    assert counts(op, 2, 41, rule="torch") == [21, 20]
    for i, o in [
        (2, 47),
        (2, 55),
        (2, 61),
        (2, 83),
        (2, 97),
        (2, 107),
        (2, 109),
        (2, 115),
        (4, 41),
    ]:
        assert counts(op, i, o) != counts(op, i, o, rule="torch"), (i, o)
    for i, o in [(2, 82), (2, 94), (2, 110), (2, 122), (2, 164), (2, 166), (2, 188), (2, 194)]:
        aclnn, torch = (counts("nearest_backward", i, o, rule=rule) for rule in oracle.RULES)
        assert aclnn != torch, (i, o)


def test_forward_under_torch_is_not_always_the_transpose():
    # PyTorch's forward knows no special case for o == i and o == 2 i, its backward does.
    assert up.bands("nearest", 2, 2, 1.25, rule="torch").lo.tolist() == [0, 0]
    assert counts("nearest_backward", 2, 2, 1.25, "torch") == [1, 1]
    # Its float64 forward scales in double and narrows to float32 before it floors.
    for i, o, op in [(2, 41, "nearest_exact"), (2, 82, "nearest")]:
        lows = [up.bands(op, i, o, rule="torch", dtype=d).lo for d in ("float32", "float64")]
        assert not np.array_equal(*lows), (op, i, o)
    assert up.bands("nearest", 2, 98, rule="torch", dtype="float64").lo[49] == 1
    assert up.bands("nearest_exact", 2, 49, rule="torch", dtype="float64").lo[24] == 1


def test_the_kernels_of_pytorch_where_they_differ():
    """As reported of PyTorch; test_torch_indices.py asks it where it is installed."""
    for op, o, at, dtype, rule, wanted in [
        ("nearest_exact", 41, 20, "float32", "torch", 0),
        ("nearest_exact", 41, 20, "float32", "torch_channels_last", 0),
        ("nearest_exact", 41, 20, "float32", "torch_fused", 1),
        ("nearest_exact", 61, 30, "float64", "torch", 1),
        ("nearest_exact", 61, 30, "float64", "torch_channels_last", 0),
        ("nearest", 94, 47, "float64", "torch", 1),
        ("nearest", 94, 47, "float64", "torch_channels_last", 0),
    ]:
        assert bands(op, 2, o, rule=rule, dtype=dtype).lo[at] == wanted, (op, o, rule)
    # Those of channels-last memory know o == i and o == 2 i, whatever the scale.
    assert bands("nearest", 2, 2, 1.25, rule="torch_channels_last").lo.tolist() == [0, 1]


def test_counts_of_published_cases():
    assert counts("nearest_backward", 4, 5, 1.25, "torch") == [2, 1, 1, 1]
    assert counts("nearest_exact_backward", 4, 5, 1.25, "torch") == [1, 1, 2, 1]
    assert counts("nearest_exact_backward", 4, 6, 0.1, "torch") == [0, 0, 0, 6]
    assert counts("nearest_exact_backward", 4, 6, 100.0, "torch") == [6, 0, 0, 0]
    assert counts("nearest_exact_backward", 4, 4, 1.2, "torch") == [1, 1, 2, 0]
    assert counts("nearest_exact_backward", 16, 36, 2.3, "torch")[-3:] == [2, 3, 1]
    assert counts("nearest_exact_backward", 16, 36, 2.3, "aclnn")[-3:] == [2, 2, 2]
    for rule in oracle.RULES:
        assert counts("nearest_exact_backward", 16, 36, None, rule)[-3:] == [2, 3, 2]


def test_outputs_beyond_every_window_are_dropped():
    # aclnn, s = 0.1: the edges ceil(0.1 k - 0.5) are 0, 0, 0, 0, 0: no output belongs to an input.
    assert counts("nearest_exact_backward", 4, 6, 0.1) == [0, 0, 0, 0]
    # s = 100: the first window takes all six.
    assert counts("nearest_exact_backward", 4, 6, 100.0) == [6, 0, 0, 0]
    assert counts("nearest_exact", 4, 6, 0.1) == [0] * 6
    assert counts("nearest_exact", 4, 6, 100.0) == [1] * 6


def rational_map(i, o, exact):
    """The map without rounding: floor((2 x + 1) i / (2 o)), or floor(x i / o)."""
    x = np.arange(o, dtype=np.int64)
    return ((2 * x + 1) * i) // (2 * o) if exact else (x * i) // o


def torch_map(op, i, o, scale=None):
    band = up.bands(op, i, o, scale, rule="torch")
    return np.repeat(np.arange(i), band.hi - band.lo)


def differing_pairs(op, largest):
    """((aclnn != torch, of them o >= i), (torch != rational, of them o >= i)) for all sizes."""
    windows, rational = [0, 0], [0, 0]
    for i in range(1, largest + 1):
        for o in range(1, largest + 1):
            torch = up.bands(op, i, o, rule="torch")
            if not np.array_equal(up.bands(op, i, o).hi, torch.hi):
                windows[0] += 1
                windows[1] += o >= i
            exact = np.bincount(rational_map(i, o, op == "nearest_exact_backward"), minlength=i)
            if not np.array_equal(exact, torch.hi - torch.lo):
                rational[0] += 1
                rational[1] += o >= i
    return tuple(windows), tuple(rational)


def test_how_often_the_rules_differ_to_100():
    assert differing_pairs("nearest_exact_backward", 100)[0][0] == 271


@pytest.mark.slow
def test_how_often_the_rules_differ_to_300():
    assert differing_pairs("nearest_exact_backward", 300) == ((3244, 1604), (1845, 915))
    assert differing_pairs("nearest_backward", 300) == ((3950, 1866), (1722, 840))


@pytest.mark.parametrize("scale", GIVEN)
def test_how_often_the_rules_differ_with_a_given_scale(scale):
    near, exact = "nearest_backward", "nearest_exact_backward"
    found = np.zeros(5, int)
    for i in range(1, 301):
        o = math.floor(i * scale)
        if o < 1:
            continue
        maps = {op: torch_map(op, i, o, scale) for op in (near, exact)}
        found += [
            counts(exact, i, o, scale) != counts(exact, i, o, scale, "torch"),
            counts(near, i, o, scale) != counts(near, i, o, scale, "torch"),
            not np.array_equal(up.bands("nearest", i, o, scale, rule="torch").lo, maps[near]),
            not np.array_equal(torch_map(exact, i, o), maps[exact]),
            not np.array_equal(torch_map(near, i, o), maps[near]),
        ]
    assert tuple(found) == GIVEN[scale]
