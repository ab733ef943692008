# SPDX-License-Identifier: Apache-2.0
"""How every entry point reads its arguments: documented errors, few elements read, few words."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import upsample3d as up
from upsample3d import aclnn, graph, reference, tiling
from upsample3d.aclnn import AclTensor

S = (1, 1, 4, 4, 4)
ONES = np.ones(S, np.float32)
LONG = "x" * 3_000_000


class Raising:
    """A sequence of five that raises where it is read."""

    def __len__(self):
        return 5

    def __iter__(self):
        raise ZeroDivisionError(LONG)


class Endless:
    """A sequence of five that has no end, and counts what is read of it."""

    read = 0

    def __len__(self):
        return 2**62

    def __iter__(self):
        for number in itertools.count(1):
            self.read += 1
            yield number


def limits(size):
    array = AclTensor.from_array(ONES)
    return aclnn.documented_limit_violations("nearest_backward", array, size, S, (0, 0, 0), array)


def first_phase(size):
    """The first phase's message as the error that it stands for."""
    array = AclTensor.from_array(ONES)
    status, _, _ = aclnn.aclnnUpsampleNearest3dBackwardGetWorkspaceSize(
        array, S[2:], size, 0.0, 0.0, 0.0, AclTensor.from_array(ONES.copy())
    )
    assert status == 161002
    raise up.ParameterTypeError(aclnn.aclGetRecentErrMsg())


SIZES = {
    "nearest": (lambda size: up.nearest(ONES, size), "output_size"),
    "nearest_backward": (lambda size: up.nearest_backward(ONES, size), "input_size"),
    "scales": (lambda size: up.nearest(ONES, scales=size), "scales"),
    "Plan": (lambda size: up.Plan("nearest", size, "float32", scales=2), r"input\.shape"),
    "Plan size": (lambda size: up.Plan("nearest", S, "float32", output_size=size), "output_size"),
    "reference": (lambda size: reference.nearest(ONES, size), "output_size"),
    "aclnn": (first_phase, "inputSize"),
    "limits": (limits, "outputSize"),
    "graph shape": (lambda size: graph.UpsampleNearest3dGrad.infer_shape(size, S), "grad_output"),
    "graph": (lambda size: graph.UpsampleNearest3dGrad(ONES, size), "input_size"),
    "graph scales": (
        lambda size: graph.UpsampleNearest3dGrad(ONES, S, scales=size), "scales",
    ),
    "tiling": (lambda size: tiling.nearest_950(size, S), "grad_output_shape"),
    "tiling attribute": (lambda size: tiling.nearest_a2(S, size), "input_size"),
    "tiling scales": (lambda size: tiling.nearest_a2(S, S, scales=size), "scales"),
}  # fmt: skip
each_size = pytest.mark.parametrize(("call", "name"), SIZES.values(), ids=list(SIZES))
ERRORS = up.ParameterError, up.ParameterTypeError


@each_size
def test_a_sequence_that_raises_is_named_with_what_it_raises(call, name):
    with pytest.raises(ERRORS, match=rf"^(\w+: )?{name} is a Raising, .*ZeroDivisionError$"):
        call(Raising())


@each_size
@pytest.mark.parametrize("sequence", [LONG, [LONG] * 5, (10**5000,) * 5, [0] * 1_000_000])
def test_messages_are_short(call, name, sequence):
    with pytest.raises(ERRORS) as caught:
        call(sequence)
    assert name.replace("\\", "") in str(caught.value)
    assert len(str(caught.value)) <= 1000


@each_size
def test_no_sequence_is_read_to_its_end(call, name):
    endless = Endless()
    with pytest.raises(ERRORS):
        call(endless)
    assert 0 < endless.read <= 65


@pytest.mark.parametrize("plan", [tiling.nearest_950, tiling.nearest_a2, tiling.trilinear_a2])
def test_tiling_of_ints_that_no_float_holds(plan):
    scales = "inverse_scales" if plan is tiling.trilinear_a2 else "scales"
    with pytest.raises(up.ParameterTypeError, match=f"{scales} is an integer of 16610 bits"):
        plan(S, S, **{scales: 10**5000})
    with pytest.raises(up.ParameterError, match=rf"{scales}\[2\] is an integer of 16610 bits"):
        plan(S, S, **{scales: (0, 0, 10**5000)})
    with pytest.raises(up.ParameterError, match="cores is an integer of 16610 bits"):
        plan(S, S, cores=10**5000)


@pytest.mark.parametrize("op", ["nearest", "nearest_exact", "trilinear"])
def test_reference_takes_arrays_only(op):
    with pytest.raises(up.ParameterTypeError, match=r"^input is a list, wanted a NumPy array"):
        getattr(reference, op)([1.0], (2, 2, 2))
    with pytest.raises(up.ParameterTypeError, match=r"^grad_output is a list, wanted a NumPy"):
        getattr(reference, f"{op}_backward")([1.0], (1, 1, 2, 2, 2))


def test_names_are_short_too():
    with pytest.raises(up.InferShapeError) as caught:
        graph.UpsampleNearest3dGrad.infer_shape(S, S, **{LONG: 1})
    assert len(str(caught.value)) <= 1000
    for call in (
        lambda: tiling.nearest_950(S, S, LONG),
        lambda: tiling.nearest_950(S, S, grad_input_dtype=LONG),
        lambda: graph.UpsampleNearest3dGrad.infer_dtype(LONG),
        lambda: reference.nearest(ONES, S[2:], order=LONG),
        lambda: up.nearest(ONES, S[2:], rule=LONG),
    ):
        with pytest.raises(ERRORS, match="'xxx") as caught:
            call()
        assert len(str(caught.value)) <= 1000
