# SPDX-License-Identifier: Apache-2.0
"""The arrays of a call that do not fit its plan: which error, what it names; nothing written."""

from __future__ import annotations

import ctypes
import math

import ml_dtypes
import numpy as np
import pytest
from arrays import misaligned

import upsample3d as up

SIZE = (2, 3, 4, 5, 6)
SHAPE = (2, 3, 8, 10, 12)
ONES = np.ones(SHAPE, np.float32)


def overlapping() -> np.ndarray:
    """An out of the right shape whose rows overlap each other."""
    memory = np.zeros(1000, np.float32)
    return np.lib.stride_tricks.as_strided(memory, SIZE, (360, 120, 40, 16, 4))


def read_only() -> np.ndarray:
    out = np.zeros(SIZE, np.float32)
    out.flags.writeable = False
    return out


OUT = {
    "shape": (lambda: np.zeros((2, 3, 4, 5, 7), np.float32), ValueError, ["5, 7)", str(SIZE)]),
    "rank": (lambda: np.zeros(7, np.float32), ValueError, ["shape (7,)", str(SIZE)]),
    "smaller": (lambda: np.zeros((2, 3, 4, 5, 3), np.float32), ValueError, ["5, 3)", str(SIZE)]),
    "wider": (lambda: np.zeros((2, 3, 4, 5, 9), np.float32), ValueError, ["5, 9)", str(SIZE)]),
    "dtype": (lambda: np.zeros(SIZE, np.float64), TypeError, ["float64", "float32"]),
    "narrower dtype": (lambda: np.zeros(SIZE, np.float16), TypeError, ["float16", "float32"]),
    "byte order": (lambda: np.zeros(SIZE, ">f4"), TypeError, [">f4"]),
    "list": (lambda: [0.0], TypeError, ["list"]),
    "read-only": (read_only, ValueError, ["read-only"]),
    "broadcast": (lambda: np.broadcast_to(np.zeros(6, np.float32), SIZE), ValueError, ["overlap"]),
    "overlapping itself": (overlapping, ValueError, ["strides", "overlap"]),
    "misaligned": (lambda: misaligned(np.zeros(SIZE, np.float32)), ValueError, ["misaligned"]),
    "masked": (lambda: np.ma.masked_array(np.zeros(SIZE, np.float32)), TypeError, ["Masked"]),
}  # fmt: skip


@pytest.mark.parametrize(("make", "error", "said"), OUT.values(), ids=OUT)
def test_out(make, error, said):
    with pytest.raises(error) as caught:
        up.nearest_backward(ONES, SIZE, out=make())
    assert caught.value.status == 161002
    assert str(caught.value).startswith("out")
    for words in said:
        assert words in str(caught.value)


def test_a_small_out_is_told_so_beside_what_cannot_be_hashed():
    with pytest.raises(up.ParameterError, match=r"^out has shape \(7,\)"):
        up.nearest_backward(ONES, SIZE, out=np.ones(7, np.float32), num_threads=np.array(1))


@pytest.mark.parametrize("begin", [0, 3, 1439])
@pytest.mark.parametrize("step", [1, -1])
def test_out_over_the_source(begin, step):
    memory = np.ones(math.prod(SHAPE), np.float32)
    source = memory.reshape(SHAPE)
    out = memory[begin : begin + 720][::step].reshape(SIZE)
    with pytest.raises(up.ParameterError, match="out overlaps the source"):
        up.trilinear_backward(source, SIZE, out=out)
    assert (memory == 1).all()


def test_out_between_the_elements_of_the_source():
    memory = np.ones((*SHAPE, 2), np.float32)
    source, other = memory[..., 0], memory[:, :, :4, :5, :6, 1]
    up.nearest_backward(source, SIZE, out=other)
    assert (other == 8).all()
    assert (source == 1).all()


PLAN = up.Plan("trilinear_backward", SHAPE, "float32", input_size=SIZE)

WORKSPACE = {
    "small": (lambda n: np.zeros(n - 1, np.uint8), ValueError, ["workspace", "at least"]),
    "read-only": (bytes, ValueError, ["workspace", "read-only"]),
    "strided": (lambda n: np.zeros(2 * n, np.uint8)[::2], TypeError, ["workspace", "contiguous"]),
    "a number": (lambda n: n, TypeError, ["workspace", "buffer"]),
    "objects": (lambda n: np.array([object()] * n, object), TypeError, ["workspace", "buffer"]),
    "ctypes objects": (lambda n: (ctypes.py_object * n)(), TypeError, ["workspace", "buffer"]),
    "text": (lambda n: "x" * n, TypeError, ["workspace", "buffer"]),
}


@pytest.mark.parametrize(("make", "error", "said"), WORKSPACE.values(), ids=WORKSPACE)
def test_workspace(make, error, said):
    out = np.full(SIZE, 7, np.float32)
    with pytest.raises(error) as caught:
        PLAN(ONES, out, make(PLAN.workspace_size))
    assert caught.value.status == 161002
    for words in said:
        assert words in str(caught.value)
    assert (out == 7).all()


def test_workspace_over_source_or_out():
    memory = np.ones(math.prod(SHAPE), np.float32)
    with pytest.raises(up.ParameterError, match="workspace overlaps"):
        PLAN(memory.reshape(SHAPE), None, memory)
    big = np.zeros(max(PLAN.workspace_size, 2880), np.uint8)
    out = big[:2880].view(np.float32).reshape(SIZE)
    with pytest.raises(up.ParameterError, match="workspace overlaps"):
        PLAN(ONES, out, big)


@pytest.mark.parametrize(
    "buffer",
    [
        bytearray,
        *(lambda n, t=t: np.zeros(n, t) for t in (np.float64, ml_dtypes.bfloat16, "i4,f8")),
    ],
    ids=range(4),
)
def test_any_writable_buffer_is_a_workspace(buffer):
    assert np.array_equal(PLAN(ONES, None, buffer(PLAN.workspace_size)), PLAN(ONES))


STRANGERS = {
    "shape": (lambda: ONES[:, :, :7], ValueError, ["shape", "(2, 3, 7, 10, 12)", str(SHAPE)]),
    "strides": (lambda: ONES[..., ::-1], ValueError, ["strides", "-4"]),
    "dtype": (lambda: ONES.astype(np.float16), TypeError, ["dtype", "float16", "float32"]),
    "None": (lambda: None, TypeError, ["None"]),
    "list": (lambda: [1], TypeError, ["list"]),
}


@pytest.mark.parametrize(("make", "error", "said"), STRANGERS.values(), ids=STRANGERS)
@pytest.mark.parametrize("alone", [True, False])
def test_plan_refuses_other_arrays(make, error, said, alone):
    out, workspace = np.full(SIZE, 7, np.float32), np.empty(PLAN.workspace_size, np.uint8)
    with pytest.raises(error) as caught:
        PLAN(make(), *(() if alone else (out, workspace)))
    assert str(caught.value).startswith("grad_output")
    for words in said:
        assert words in str(caught.value)
    assert (out == 7).all()


def test_plan_is_immutable():
    with pytest.raises(AttributeError, match="immutable"):
        PLAN.shape = (1, 1, 1, 1, 1)


def test_plan_made_for_strides_wants_that_out():
    out = np.zeros((*SIZE, 2), np.float32)[..., 0]
    plan = up.Plan("trilinear_backward", SHAPE, "float32", input_size=SIZE, out_strides=out.strides)
    with pytest.raises(up.ParameterTypeError, match="out is None"):
        plan(ONES)
    with pytest.raises(up.ParameterError, match="out has strides"):
        plan(ONES, np.zeros(SIZE, np.float32))
    assert np.array_equal(plan(ONES, out), PLAN(ONES))


def test_plan_cannot_be_taken_apart():
    """Neither its attributes nor the arrays that its kernel reads can be changed."""
    plan = up.Plan("trilinear_backward", SHAPE, "float32", input_size=SIZE)
    with pytest.raises(AttributeError, match="immutable"):
        del plan.shape
    for band in plan.bands:
        for array in (band.lo, band.hi, band.start, band.w):
            assert not array.flags.writeable
