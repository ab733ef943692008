# SPDX-License-Identifier: Apache-2.0
"""What the IR operators are given that is no attribute and no shape."""

from __future__ import annotations

import numpy as np
import pytest
from graph_calls import FIVE, NEITHER_FAILS, TEN, Raising, every, names, refused

import upsample3d as up
from upsample3d import graph
from upsample3d.graph import UpsampleNearest3dGrad, UpsampleTrilinear3dBackward
from upsample3d.spec.errors import InferShapeError, TilingError


@every
def test_attributes_of_wrong_names_counts_and_types(operator):
    good = {"input_size": FIVE, "output_size": (10, 10, 10)}
    assert operator.infer_shape(TEN, **good) == FIVE
    for bad in ({"scale": 2}, {"input_size": "five"}, {"input_size": 5}, {"input_size": (1.5,) * 5},
                {"output_size": {1: 2}}, {"output_size": None}):  # fmt: skip
        assert next(iter(bad)) in str(refused(operator, TEN, **{**good, **bad}))
    refused(operator, TEN, *[FIVE] * 7)
    first = operator.attributes[0].name
    refused(operator, TEN, good[first], **good)  # twice


NO_SHAPES = [None, 5, "abcde", (1, 1, 10.0, 10, 10), (1, 1, 10, 10, 10**39), (1, 1, 10**400, 1, 1),
    (1, 1, 1, 1, -(2**63) - 1), (1, 1, 1, 1, 10**5000), Raising(), (Raising(),) * 5]  # fmt: skip


@every
@pytest.mark.parametrize("shape", NO_SHAPES, ids=range(len(NO_SHAPES)))
def test_what_is_no_shape(operator, shape):
    good = {"input_size": FIVE, "output_size": (10, 10, 10)}
    assert ": grad_output" in str(refused(operator, shape, **good))
    assert ": input_size" in str(refused(operator, TEN, **{**good, "input_size": shape}))
    assert ": output_size" in str(refused(operator, TEN, **{**good, "output_size": shape}))
    for name in ("input_size", "output_size"):
        with pytest.raises(InferShapeError, match=f": {name}"):
            operator(np.ones(TEN, np.float32), **{**good, name: shape})


@every
def test_no_warning_leaks(operator):
    """In any mode of the caller; and pytest turns warnings into errors."""
    good = {"input_size": (1, 1, 2**63 - 1, -(2**63), 5), "output_size": (10, 10, 10)}
    with np.errstate(all="raise"):
        assert operator.infer_shape(TEN, **good) == good["input_size"]
        with pytest.raises(TilingError):
            operator(np.ones(TEN, np.float32), **good)
        scales = {operator.scales[0]: 1e-40 if operator.inverse else (1e-40,) * 3}
        with pytest.raises((TilingError, InferShapeError)):
            operator(np.ones(TEN, np.float32), **{**good, "input_size": FIVE}, **scales)


def test_trilinear_backward_wants_no_scales():
    for sizes in ((), (0, 0, 0), (10, 10, 9)):
        for scales in ({}, {"scale_d": 2.0}):
            error = refused(UpsampleTrilinear3dBackward, TEN, sizes, FIVE, **scales)
            assert "scale" not in str(error)
            assert "output_size" in str(error)


def test_floats_and_bools_of_wrong_types():
    for bad in (("2", "2", "2"), 2, (None,) * 3, (2j,) * 3, (np.complex64(2),) * 3, (10**400,) * 3):
        error = refused(UpsampleNearest3dGrad, TEN, FIVE, scales=bad)
        assert ": scales" in str(error)
        assert str(error).endswith((", wanted a list of floats", ", wanted a float or an int",
                                    ", wanted a number that a double holds"))  # fmt: skip
    for bad, wanted in (({"scale_d": "1"}, "a float or an int"),
                        ({"align_corners": 2}, "a bool, or 0 or 1"),
                        ({"align_corners": "yes"}, "a bool, or 0 or 1")):  # fmt: skip
        error = refused(UpsampleTrilinear3dBackward, TEN, (10, 10, 10), FIVE, **bad)
        assert str(error).endswith(f", wanted {wanted}")


@pytest.mark.parametrize("operator", NEITHER_FAILS, ids=names)
def test_neither_list_fails_when_it_runs_too(operator):
    """As the operator's graph would not be built; the message says what to write."""
    said = (
        f"{operator.name}: neither output_size, which would be (10, 10, 10), nor scales is given, "
        "wanted one of them"
    )
    assert str(refused(operator, TEN, input_size=FIVE)) == said
    with pytest.raises(up.InferShapeError) as caught:
        operator(np.ones(TEN, np.float32), input_size=FIVE)
    assert str(caught.value) == said
    both = refused(operator, TEN, FIVE, (10, 10, 10), (2, 2, 2))
    assert str(both).endswith(
        "output_size is (10, 10, 10), scales are (2.0, 2.0, 2.0), wanted one of them"
    )


def test_errors_have_public_names():
    for error, status in ((up.InferShapeError, 561001), (up.TilingError, 561002),
                          (up.KernelNotFoundError, 561003)):  # fmt: skip
        assert issubclass(error, up.ParameterError)
        assert (error.status, error.__name__ in up.__all__) == (status, True)
        assert getattr(graph, error.__name__) is error
        assert error.__name__ in graph.__all__
