# SPDX-License-Identifier: Apache-2.0
"""The two phases run: the operators' example, every layout, workspaces, executors, limits."""

from __future__ import annotations

import itertools
import math

import numpy as np
import oracle
import pytest
from aclnn_calls import NCDHW, NDHWC, OPS, each_op
from aclnn_runs import (
    DATA_TYPE,
    I_SIDE,
    ND,
    O_SIDE,
    OK,
    as_ncdhw,
    bits,
    call,
    each_dtype,
    gradient,
    in_format,
    run,
)
from modes import FTZ_DAZ, Mode, x86

import upsample3d as up
from upsample3d import aclnn
from upsample3d.aclnn import AclTensor, aclCreateTensor

# ---- The operators' own example ----


@each_op
def test_example_of_the_operators(op):
    grad_out = np.arange(1, 33, dtype=np.float32)
    grad_input = np.full(4, 2, np.float32)
    tensors = [
        aclCreateTensor(shape, aclnn.ACL_FLOAT, strides, 0, aclnn.ACL_FORMAT_NCDHW, shape, data)
        for shape, strides, data in (
            ((2, 2, 2, 2, 2), (16, 8, 4, 2, 1), grad_out),
            ((2, 2, 1, 1, 1), (2, 1, 1, 1, 1), grad_input),
        )
    ]
    sizes = aclnn.aclCreateIntArray([2, 2, 2], 3), aclnn.aclCreateIntArray([2, 2, 1, 1, 1], 5)
    align = [False] if op.name == "trilinear" else []
    status, size, executor = op.first(tensors[0], *sizes, *align, 0.0, 0.0, 0.0, tensors[1])
    assert status == aclnn.ACL_SUCCESS
    assert op.second(bytearray(size), size, executor, None) == aclnn.ACL_SUCCESS
    lines = [f"result[{k}] is: {value:f}" for k, value in enumerate(grad_input)]
    assert lines == [
        "result[0] is: 36.000000", "result[1] is: 100.000000", "result[2] is: 164.000000",
        "result[3] is: 228.000000",
    ]  # fmt: skip
    assert [aclnn.aclDestroyTensor(t) for t in tensors] == [OK, OK]
    assert [aclnn.aclDestroyIntArray(s) for s in sizes] == [OK, OK]


# ---- Layouts ----


def plain(shape, dtype, format):
    """Contiguous in the order of the format."""
    made = aclCreateTensor(
        shape,
        DATA_TYPE[dtype],
        None,
        0,
        format,
        shape,
        bytearray(math.prod(shape) * itemsize(dtype)),
    )
    return made, None


def strided(shape, dtype, format):
    """In one flat storage, from an offset on, axes turned round and gaps between elements."""
    size, order = 1, (1, 3, 0, 4, 2)
    steps = [0] * 5
    for axis in order:
        steps[axis] = size * 2
        size = steps[axis] * shape[axis] + 1
    storage = oracle.numpy_dtype(dtype).type(7) * np.ones(size + 20, oracle.numpy_dtype(dtype))
    made = aclCreateTensor(shape, DATA_TYPE[dtype], steps, 13, format, (size + 20,), storage)
    return made, storage


def backwards(shape, dtype, format):
    """Negative strides, of the last element first, by the same function."""
    steps = np.cumprod([1, *shape[:0:-1]])[::-1]
    storage = np.full(math.prod(shape) + 2, 7, oracle.numpy_dtype(dtype))
    last = math.prod(shape)
    made = aclCreateTensor(
        shape, DATA_TYPE[dtype], [-s for s in steps], last, format, (last + 2,), storage
    )
    return made, storage


def other_memory(shape, dtype, format):
    """An array in the memory order of the other format, as from_array sees it."""
    order = (0, 2, 3, 4, 1) if format != NDHWC else (0, 4, 1, 2, 3)
    memory = np.zeros([shape[k] for k in order], oracle.numpy_dtype(dtype))
    return AclTensor.from_array(memory.transpose(np.argsort(order)), format), None


def itemsize(dtype):
    return oracle.numpy_dtype(dtype).itemsize


LAYOUTS = (plain, strided, backwards, other_memory)
FORMATS = ((NCDHW, NCDHW), (ND, ND), (NDHWC, NDHWC), (ND, NCDHW))


@pytest.mark.parametrize("formats", FORMATS, ids=lambda f: "-".join(x.name[11:] for x in f))
@each_dtype
def test_layouts_equal_the_function(op, dtype, formats):
    g = gradient(dtype)
    wanted = bits(getattr(up, op.function)(g, I_SIDE))
    for lay_out, lay_in in itertools.product(LAYOUTS, repeat=2):
        grad_out, _ = lay_out(in_format(O_SIDE, formats[0]), dtype, formats[0])
        grad_input, storage = lay_in(in_format(I_SIDE, formats[1]), dtype, formats[1])
        as_ncdhw(grad_out)[...] = g
        before = None if storage is None else storage.copy()
        run(op, grad_out, grad_input, I_SIDE[2:], O_SIDE[2:])
        assert bits(as_ncdhw(grad_input)) == wanted, (lay_out, lay_in)
        if storage is not None:
            grad_input.view[...] = 7
            assert bits(storage) == bits(before)  # what lies between the elements is as it was


@each_dtype
def test_scales_count_only_if_all_three_are_positive(op, dtype):
    g = gradient(dtype)
    function = getattr(up, op.function)
    all_three = (2.3, 1.7, 1.9)
    sizes, scaled = bits(function(g, I_SIDE)), bits(function(g, I_SIDE, all_three))
    assert sizes != scaled
    for scales, wanted in (
        (all_three, scaled),
        ((2.3, 1.7, 0.0), sizes),
        ((2.3, -1.0, 1.9), sizes),
        ((math.nan, 1.7, 1.9), sizes),
        (tuple(map(np.float64, all_three)), scaled),
    ):
        grad_out, grad_input = AclTensor.from_array(g), plain(I_SIDE, dtype, NCDHW)[0]
        run(op, grad_out, grad_input, I_SIDE[2:], O_SIDE[2:], scales=scales)
        assert bits(grad_input.view) == wanted, scales


@each_op
def test_scales_are_passed_on_as_they_are(op):
    """Of indices in the thousands, scales below one in a thousand are told apart."""
    i, o = (1, 1, 1, 1, 4000), (1, 1, 2, 2, 3)
    g = gradient("float32", o)
    for scales in ((2.0, 2.0, 5e-4), (2.0, 2.0, 9e-4), (40.0, 30.0, 50.0)):
        grad_input = plain(i, "float32", NCDHW)[0]
        run(op, AclTensor.from_array(g), grad_input, i[2:], o[2:], scales=scales)
        assert bits(grad_input.view) == bits(getattr(up, op.function)(g, i, scales)), scales


@x86
@each_op
def test_floating_point_mode_of_the_caller(op):
    g, mode, found = gradient("float32"), Mode(), []
    before = mode.get()
    # A subnormal scale is above 0, which a caller who flushes them to zero would not see.
    for scales, bits_ in itertools.product(((1e-310, 1.7, 1.9), (1.3, 1.7, 1e-40)), (0, FTZ_DAZ)):
        grad_input = plain(I_SIDE, "float32", NCDHW)[0]
        given = AclTensor.from_array(g), grad_input, I_SIDE[2:], O_SIDE[2:]
        try:
            mode.set(before | bits_)
            status, size, executor = call(op, *given, scales=scales)
        finally:
            mode.set(before)
        assert status == OK
        assert op.second(bytearray(size), size, executor, None) == OK
        found.append(bits(grad_input.view))
    assert found[0] == found[1] != found[2] == found[3]


@pytest.mark.parametrize("dtype", oracle.DTYPES)
def test_align_corners(dtype):
    g = gradient(dtype)
    wanted = up.trilinear_backward(g, I_SIDE, align_corners=True)
    assert bits(wanted) != bits(up.trilinear_backward(g, I_SIDE))
    for scales in ((0.0,) * 3, (2.0, 3.0, 4.0)):
        grad_input = plain(I_SIDE, dtype, NCDHW)[0]
        run(
            OPS["trilinear"], AclTensor.from_array(g), grad_input, I_SIDE[2:], O_SIDE[2:],
            scales=scales, align_corners=True,
        )  # fmt: skip
        assert bits(grad_input.view) == bits(wanted)
