# SPDX-License-Identifier: Apache-2.0
"""Strange objects in every parameter of aclnn, graph and tiling: documented, short, no warning."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from aclnn_calls import OPS, POSITIONS, arguments, each_op
from graph_calls import FIVE, TEN, every, refused
from modes import FTZ_DAZ, TO_ZERO, UPWARD, Mode, x86
from strange import ERRORS, NUMBERS, STRANGE, TENSORS, Counts, Measure, raising
from tilings import CUBE, each_plan

import upsample3d as up
from upsample3d import aclnn, graph, tiling
from upsample3d.graph import InferShapeError, KernelNotFoundError, TilingError

LONGEST = 1000
"""Characters of a message."""

MAKERS = (*STRANGE, *TENSORS, *(lambda n=n: n for n in NUMBERS), lambda: 10**5000)


@pytest.fixture
def warned():
    """The warnings that come, which would be errors otherwise, and seem to be a caller's."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        yield seen


@each_op
@pytest.mark.parametrize("position", POSITIONS)
def test_the_first_phase(op, position, warned):
    for k, make in enumerate(MAKERS):
        given = {**arguments(), position: make()}
        del warned[:]  # what making it says is not the library's
        status, _, _ = op.prepare(given)
        assert not warned, k
        assert status == 0 or len(aclnn.aclGetRecentErrMsg()) <= LONGEST, k


def errors_of(call, documented, warned, k):
    """The error of a call, checked; None where it succeeds."""
    del warned[:]
    found = None
    try:
        call()
    except documented as error:
        found = error
    assert not warned, (k, warned[0].message)
    assert found is None or (type(found) in documented and len(str(found)) <= LONGEST), k
    return found


@every
def test_the_ir_operators(operator, warned):
    """In every attribute, in place of grad_output's shape, in order, and as a type."""
    ours = InferShapeError, TilingError, KernelNotFoundError
    good = {"input_size": FIVE, "output_size": (10, 10, 10)}
    for k, make in enumerate(MAKERS):
        for attribute in operator.attributes:
            changed = {**good, attribute.name: make()}
            for run in (
                lambda changed=changed: operator.infer_shape(TEN, **changed),
                lambda changed=changed: operator(np.ones(TEN, np.float32), **changed),
            ):
                found = errors_of(run, ours, warned, k)
                assert found is None or f"{operator.name}: " in str(found)
        odd = make()
        shape = errors_of(lambda odd=odd: operator.infer_shape(odd, **good), ours, warned, k)
        assert type(shape) is InferShapeError
        errors_of(lambda odd=odd: operator.infer_dtype(odd), ours, warned, k)
        errors_of(lambda odd=odd: operator.infer_shape(TEN, odd, odd, odd), ours, warned, k)


@each_plan
def test_the_tilings(plan, warned):
    ours = up.ParameterError, up.ParameterTypeError, TilingError
    names = plan.__wrapped__.__code__.co_varnames[: plan.__wrapped__.__code__.co_argcount]
    options = [*names, *plan.__wrapped__.__kwdefaults__]
    good = dict(zip(names, (CUBE, CUBE, "float32", (0, 0, 0)), strict=True))
    assert len(options) >= 5
    for name, (k, make) in itertools.product(options, enumerate(MAKERS)):
        given = {**good, name: make()}
        errors_of(lambda given=given: plan(**given), ours, warned, k)


@each_plan
def test_no_memory_stays_what_it_is(plan):
    for names in (("__len__",), ("__iter__", "__len__")):
        with pytest.raises(MemoryError):
            plan(raising(MemoryError(), names)(), CUBE)
        with pytest.raises(MemoryError):
            plan(CUBE, CUBE, "float32", raising(MemoryError(), names)())


@every
def test_no_memory_is_no_wrong_attribute(operator):
    with pytest.raises(MemoryError):
        operator.infer_shape(TEN, raising(MemoryError(), ("__len__",))())


# ---- What was found ----

HUGE = (10**5000,) * 3


@pytest.mark.parametrize(
    "scales", [10**5000, HUGE, (2, 2, -(10**5000)), range(10**30)], ids=range(4)
)
@each_plan
def test_numbers_that_cannot_be_printed(plan, scales):
    with pytest.raises((up.ParameterError, up.ParameterTypeError), match="scales"):
        plan(CUBE, CUBE, "float32", scales)


@pytest.mark.parametrize("error", ERRORS, ids=range(len(ERRORS)))
@each_plan
def test_sequences_that_raise(plan, error):
    thing = raising(error, ("__iter__",), __len__=lambda self: 3)()
    with pytest.raises(up.ParameterTypeError, match="grad_output_shape"):
        plan(thing, CUBE)
    with pytest.raises(up.ParameterTypeError, match="scales"):
        plan(CUBE, CUBE, "float32", thing)


class Long:
    """A sequence that remembers how far it was read."""

    def __init__(self, length):
        self.length, self.read = length, 0

    def __len__(self):
        return self.length

    def __getitem__(self, k):
        self.read = max(self.read, k + 1)
        return 1


@every
@each_plan
def test_sequences_are_not_read_to_their_end(plan, operator):
    for read in (
        lambda given: plan(given, CUBE),
        lambda given: plan(CUBE, CUBE, "float32", given),
        lambda given: operator.infer_shape(given, input_size=FIVE, output_size=(10, 10, 10)),
        lambda given: operator.infer_shape(TEN, input_size=given, output_size=(10, 10, 10)),
    ):
        given = Long(10**6)
        with pytest.raises(up.ParameterError) as caught:
            read(given)
        assert 0 < given.read <= 65
        assert len(str(caught.value)) < 500


def test_a_long_list_of_zeros_is_not_empty():
    """Only its beginning is read: the rest could say otherwise."""
    operator = graph.UpsampleNearestExact3dGrad
    assert operator.infer_shape(TEN, FIVE, [0] * 64) == FIVE
    with pytest.raises(InferShapeError, match="output_size has more than 64 elements, wanted "):
        operator.infer_shape(TEN, FIVE, [0] * 64 + [10])


def test_subclasses_that_python_warns_of_are_the_numbers_they_hold(warned):
    """Counts() says 3, and Measure(2) holds what its own __float__ says: -1, so not given."""
    planned = tiling.nearest_950((1, 1, 9, 9, 9), (1, 1, Counts(), Counts(), 3), cores=Counts())
    assert planned == tiling.nearest_950((1, 1, 9, 9, 9), (1, 1, 3, 3, 3), cores=3)
    assert aclnn.aclCreateIntArray([Counts(), 4], Counts()) is None  # 3 of 2
    assert aclnn.aclCreateIntArray([Counts(), 4, 5], Counts()) == (3, 4, 5)
    scales = (Measure(2), 0.0, 0.0)
    measured = tiling.nearest_a2((1, 1, 9, 9, 9), (1, 1, 3, 3, 3), "float32", scales)
    assert measured == tiling.nearest_a2((1, 1, 9, 9, 9), (1, 1, 3, 3, 3))
    assert not warned


@each_op
def test_durations_are_no_scales(op):
    given = arguments(scalesD=np.timedelta64(2, "s"))
    assert op.prepare(given)[0] == 161002
    said = f"scalesD is {given['scalesD']!r}, wanted a float or an int"
    assert aclnn.aclGetRecentErrMsg() == said


def test_names_and_lists_in_messages_are_short():
    """64 sizes of 19 digits, and a class whose name has 3 million letters."""
    many = (2**62,) * 64
    given = arguments(outputSize=many)
    for op in OPS.values():
        assert op.prepare(given)[0] == 161002
        assert aclnn.aclGetRecentErrMsg().startswith(f"outputSize is {many[:14]}"[:-1])
        assert aclnn.aclGetRecentErrMsg().endswith(" ..., wanted 3 elements, D, H, W")
    assert aclnn.aclCreateTensor(many, 0, (0,) * 64, 0, 2, many, bytearray(4)) is None
    said = "tensorData has 4 bytes, wanted 2^63 or more for storageDims"
    assert aclnn.aclGetRecentErrMsg() == said
    assert aclnn.aclCreateIntArray(type("T" * 3_000_000, (), {})(), 1) is None
    assert aclnn.aclGetRecentErrMsg().startswith("value is a " + "T" * 300 + " ..., wanted")


# ---- Other floating-point modes ----


def answers():
    """What everything says of scales that are subnormal in float32 or in float64."""
    tiny = (1e-40, 2.0, 5e-324)
    exact = graph.UpsampleNearestExact3dGrad
    given = arguments(gradOut=(1, 1, 2, 2, 2), gradInput=(1, 1, 1, 1, 1))
    tensors = {name: given[name] for name in ("gradOut", "gradInput")}
    sizes = {"outputSize": (2, 2, 2), "inputSize": (1, 1, 1, 1, 1)}
    limits = aclnn.documented_limit_violations
    return [
        tiling.nearest_950(TEN, FIVE, scales=tiny),
        tiling.nearest_a2(TEN, FIVE, scales=tiny),
        tiling.trilinear_a2(TEN, FIVE, inverse_scales=(2.0, 0.5, 5e-324)),
        str(refused(exact, TEN, FIVE, scales=tiny)),
        limits("nearest_backward", **tensors, **sizes, scales=(2.0, 2.0, 5e-324)),
        op_status(scalesD=2.0, scalesH=2.0, scalesW=5e-324),
    ]


def op_status(**scales):
    status, _, _ = OPS["exact"].prepare(arguments(**scales))
    return status, aclnn.aclGetRecentErrMsg() if status else ""


@x86
@pytest.mark.parametrize("bits", [FTZ_DAZ, UPWARD, FTZ_DAZ | TO_ZERO], ids=hex)
def test_answers_do_not_depend_on_the_callers_mode(bits):
    wanted, mode = answers(), Mode()
    assert wanted[0].scales[0] > 0
    assert len(wanted[4]) == 1  # floor(1 * 5e-324) = 0
    before = mode.get()
    try:
        mode.set(before | bits)
        found = answers()
    finally:
        mode.set(before)
    assert found == wanted
