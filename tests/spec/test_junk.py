# SPDX-License-Identifier: Apache-2.0
"""Junk as arguments: an error of ours and a short text, whatever it is and whatever came before."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import upsample3d as up

SIZE, SHAPE = (2, 3, 4, 5, 6), (2, 3, 8, 10, 12)
ONES = np.ones(SHAPE, np.float32)


class Lies:
    """An object that raises when it is asked for a number."""

    def __index__(self):
        raise TypeError("no number")


JUNK = (
    None, True, -1, 2.5, math.nan, math.inf, 2j, 10**400, "x", b"x", "", [], [1, 2, 3], [2] * 5,
    (2**63,) * 5, (0,) * 5, (1.5,) * 5, "f4,,f4,(", ("f4", -1), int, object(), Lies(), {}, {1, 2},
    {"names": ["a"], "formats": ["f4"], "offsets": [-1]}, np.array(2.0), np.array("x"), np.ones(5),
)  # fmt: skip

NAMES = {
    "op": "op",
    "shape": "grad_output",
    "dtype": "grad_output.dtype",
    "input_size": "input_size",
    "output_size": "output_size",
    "scales": "scales",
    "align_corners": "align_corners",
    "data_format": "data_format",
    "rule": "rule",
    "strides": "strides",
    "out_strides": "out",
    "schedule": "schedule",
    "num_threads": "num_threads",
}
"""An argument of Plan -> what an error calls it."""


def unnamed(function, called: str, arguments: dict[str, object], name: str) -> list[str]:
    """What function raised where that was not an error of ours that names the argument."""
    wrong = []
    for junk in JUNK:
        try:
            function(**{**arguments, name: junk})
        except (up.ParameterError, up.ParameterTypeError) as error:
            if error.status not in (161001, 161002) or called not in str(error):
                wrong.append(f"{junk!r:.40}: {error!r:.100}")
        except Exception as error:
            wrong.append(f"{junk!r:.40}: {error!r:.100}")
    return wrong


@pytest.mark.parametrize("name", NAMES)
def test_plan(name):
    arguments = {"op": "trilinear_backward", "shape": SHAPE, "dtype": "f4", "input_size": SIZE}
    assert unnamed(up.Plan, NAMES[name], arguments, name) == []


@pytest.mark.parametrize("name", ["grad_output", "input_size", "scales", "schedule", "out", "rule"])
def test_function(name):
    arguments = {"grad_output": ONES, "input_size": SIZE}
    assert unnamed(up.nearest_exact_backward, name, arguments, name) == []


@pytest.mark.parametrize("name", ["op", "i", "o", "scale", "align_corners", "rule", "dtype"])
def test_bands(name):
    assert unnamed(up.bands, name, {"op": "trilinear", "i": 4, "o": 8}, name) == []


@pytest.mark.parametrize("wrong", [2 + 0j, Decimal(2), Fraction(2)])
def test_scales_are_refused_whatever_was_asked_before(wrong):
    """A wrong type that equals a right number is refused by a cached plan too."""
    up.nearest_backward(ONES, SIZE, (2.0, 2.0, 2.0))
    with pytest.raises(up.ParameterTypeError, match=r"scales\[0\]"):
        up.nearest_backward(ONES, SIZE, (wrong, 2.0, 2.0))


class Symbol:
    """What a symbol of an algebra looks like from here."""

    def __index__(self):
        raise TypeError("not a number")

    def __float__(self):
        raise TypeError("not a number")

    def __eq__(self, other):
        warnings.warn("compared", DeprecationWarning, stacklevel=2)
        return self

    def __bool__(self):
        raise TypeError("truth of a relation")

    __hash__ = None


ODD = (
    np.datetime64("NaT", "s"), np.datetime64("2026-01-01"), np.timedelta64("NaT", "s"),
    np.timedelta64(2, "D"), np.ma.masked, np.ma.array(2.0, mask=True), np.array(2.5), np.array([2]),
    np.array(["NaT"] * 3, "M8[s]"), np.array([2, 2, 2], "m8[s]"), np.ma.array([2.0] * 3, mask=True),
    np.array([np.timedelta64(2, "s")] * 3, object), Decimal("sNaN"), Fraction(3, 2), Symbol(),
    [Symbol()] * 3, [np.ma.masked] * 3, [np.datetime64("NaT", "s")] * 5, np.void(b"22"),
    np.bytes_(b"2"), np.str_("2"), np.complex64(2), ("f4", (1,)), [("a", "f4")] * 2, np.dtype("V3"),
)  # fmt: skip
"""What is no number, size, name or bool, though NumPy or Python make something of it."""


@pytest.mark.parametrize("action", ["error", "always"])
def test_odd_objects_are_refused_without_a_warning(action):
    """Of their own kind even where warnings are errors, and silently where they are shown."""
    arguments = {"op": "trilinear_backward", "shape": SHAPE, "dtype": "f4", "input_size": SIZE}
    calls = [(up.Plan, arguments, name) for name in NAMES]
    calls += [(up.nearest_backward, {"grad_output": ONES, "input_size": SIZE}, name)
              for name in ("input_size", "scales", "data_format", "rule", "schedule")]  # fmt: skip
    calls += [
        (up.bands, {"op": "nearest", "i": 4, "o": 8}, name) for name in ("i", "scale", "dtype")
    ]
    for odd in ODD:
        for function, right, name in calls:
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter(action)
                with pytest.raises((up.ParameterError, up.ParameterTypeError), match=" is "):
                    function(**{**right, name: odd})
            assert not seen, (type(odd), name, seen[0].message)


@pytest.mark.parametrize("name", ["strides", "out_strides"])
def test_strides_past_int64(name):
    with pytest.raises(up.ParameterError, match=r"strides.*9223372036854775808"):
        up.Plan("nearest_backward", SHAPE, "f4", input_size=SIZE, **{name: (2**63, 480, 96, 16, 4)})


def test_product_past_int64_names_its_argument():
    for name, call in (
        ("input_size", lambda: up.nearest_backward(ONES, (2, 3, 2**30, 2**30, 2**30))),
        ("output_size", lambda: up.nearest(ONES, (2**30, 2**30, 2**30))),
        (
            "input.shape",
            lambda: up.Plan("nearest", (2, 3, *3 * (2**30,)), "f4", output_size=(2,) * 3),
        ),
    ):
        with pytest.raises(up.ParameterError, match=name):
            call()


def test_a_huge_scale_is_quoted_as_given():
    with pytest.raises(up.ParameterError, match=r"scales\[2\] is 10{20}"):
        up.nearest_backward(ONES, SIZE, (2, 2, 10**400))


@pytest.mark.parametrize("junk", [[0] * 9999, "x" * 9999, np.zeros((99, 99)).T[::2]])
def test_text_does_not_hold_a_whole_buffer(junk):
    plan = up.Plan("trilinear_backward", SHAPE, "float32", input_size=SIZE)
    with pytest.raises(up.ParameterTypeError, match="workspace") as caught:
        plan(ONES, None, junk)
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)
