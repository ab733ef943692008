# SPDX-License-Identifier: Apache-2.0
"""The two phases run: the operators' example, every layout, workspaces, executors, limits."""

from __future__ import annotations

import ctypes
import itertools
import math
import tracemalloc

import numpy as np
import oracle
import pytest
from aclnn_calls import NCDHW, NDHWC, OPS, arguments, each_op, tensor
from modes import FTZ_DAZ, Mode, x86

import upsample3d as up
from upsample3d import aclnn
from upsample3d.aclnn import AclTensor, aclCreateTensor, aclDataType, aclFormat

OK, NULL, INVALID, RUNTIME = 0, 161001, 161002, 361001
ND = aclFormat.ACL_FORMAT_ND
I_SIDE, O_SIDE = (2, 3, 2, 3, 5), (2, 3, 5, 4, 9)
DTYPES = [("exact", t) for t in ("float32", "float16", "bfloat16")] + [
    (name, t) for name in ("nearest", "trilinear") for t in oracle.DTYPES
]
each_dtype = pytest.mark.parametrize(("op", "dtype"), [(OPS[n], t) for n, t in DTYPES], ids=str)


def call(op, grad_out, grad_input, i, o, scales=(0.0, 0.0, 0.0), align_corners=False):
    """The first phase's answer for two tensors and the sizes (D, H, W)."""
    planes = plane_sizes(grad_out)
    return op.prepare(
        {
            "gradOut": grad_out, "outputSize": o, "inputSize": (*planes, *i),
            "alignCorners": align_corners, "scalesD": scales[0], "scalesH": scales[1],
            "scalesW": scales[2], "gradInput": grad_input,
        }
    )  # fmt: skip


def plane_sizes(grad_out):
    shape = grad_out.view_shape
    return (shape[0], shape[4]) if grad_out.format == NDHWC else shape[:2]


def run(op, *given, **options):
    """Both phases; the second with exactly what the first asks for."""
    status, size, executor = call(op, *given, **options)
    assert status == OK, aclnn.aclGetRecentErrMsg()
    workspace = np.full(size, 0xFF, np.uint8) if size else None
    assert op.second(workspace, size, executor, None) == OK, aclnn.aclGetRecentErrMsg()


def ready(op, value=3):
    """(arguments, size, executor) of a call that can run."""
    given = arguments()
    given["gradOut"].view[...] = value
    status, size, executor = op.prepare(given)
    assert status == OK
    return given, size, executor


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

DATA_TYPE = {
    "float32": aclDataType.ACL_FLOAT, "float16": aclDataType.ACL_FLOAT16,
    "bfloat16": aclDataType.ACL_BF16, "float64": aclDataType.ACL_DOUBLE,
}  # fmt: skip


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


def in_format(shape, format):
    return (shape[0], *shape[2:], shape[1]) if format == NDHWC else shape


def as_ncdhw(tensor):
    return oracle.from_format(tensor.view, "NDHWC" if tensor.format == NDHWC else "NCDHW")


def gradient(dtype, shape=O_SIDE, seed=3):
    g = np.random.default_rng(seed).standard_normal(shape)
    return g.astype(oracle.numpy_dtype(dtype))


def bits(array):
    return np.ascontiguousarray(array).tobytes()


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


# ---- Workspaces ----


@each_dtype
def test_planned_workspace_is_enough_and_nothing_else_is_written(op, dtype):
    i, o = (2, 4, 24, 32, 30), (2, 4, 40, 50, 61)
    real = oracle.numpy_dtype(dtype)
    count, guard = math.prod(i), 64
    memory = np.full(count + 2 * guard, 7, real)
    grad_input = aclCreateTensor(
        i, DATA_TYPE[dtype], None, guard, NCDHW, (count + 2 * guard,), memory
    )
    g = gradient(dtype, o)
    status, size, executor = call(op, AclTensor.from_array(g), grad_input, i[2:], o[2:])
    assert status == OK
    assert size > 0
    workspace = np.full(size + 2 * 64, 0xFF, np.uint8)
    edges = workspace[:64], workspace[-64:]
    tracemalloc.start()
    try:
        assert op.second(workspace[64:-64], size, executor, None) == OK
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20_000 < min(count * real.itemsize, g.nbytes)
    assert all((edge == 0xFF).all() for edge in edges)
    assert (memory[:guard] == 7).all()
    assert (memory[-guard:] == 7).all()
    assert bits(grad_input.view) == bits(getattr(up, op.function)(g, i))


OBJECTS = (
    lambda size: np.array([None] * size),
    lambda size: memoryview(np.array([None] * size)),
    lambda size: (ctypes.py_object * size)(),
    lambda size: (Record * size)(),
)
"""Buffers of references to objects, which a kernel must never write."""


class Record(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("reference", ctypes.py_object)]


WORKSPACES = [
    ("None", lambda size: (None, size), NULL, "workspace is None"),
    ("too small a number", lambda size: (bytearray(size), size - 1), INVALID, "workspaceSize is"),
    ("too small a buffer", lambda size: (bytearray(size - 1), size), INVALID, "workspace has"),
    ("a number above the buffer", lambda size: (bytearray(size), size + 1), INVALID, "workspace h"),
    ("negative", lambda size: (bytearray(size), -1), INVALID, "workspaceSize is -1"),
    ("beyond 64 bits", lambda size: (bytearray(size), 2**70), INVALID, f"workspaceSize is {2**70}"),
    ("no number", lambda size: (bytearray(size), "9"), INVALID, "workspaceSize is '9'"),
    ("no size", lambda size: (bytearray(size), None), INVALID, "workspaceSize is None"),
    ("read-only", lambda size: (bytes(size), size), INVALID, "workspace is read-only"),
    ("no buffer", lambda size: (object(), size), INVALID, "workspace is an object, wanted"),
    (
        "gaps",
        lambda size: (np.zeros(2 * size, np.uint8)[::2], size),
        INVALID,
        "workspace is an array of shape (",
    ),
    *(
        (f"objects {k}", lambda size, make=make: (make(size), size), INVALID, "workspace is a")
        for k, make in enumerate(OBJECTS)
    ),
]


@pytest.mark.parametrize(
    ("make", "expected", "message"), [w[1:] for w in WORKSPACES], ids=[w[0] for w in WORKSPACES]
)
@each_op
def test_wrong_workspace(op, make, expected, message):
    given, size, executor = ready(op)
    assert size > 0
    before = bits(given["gradInput"].view)
    workspace, said = make(size)
    assert op.second(workspace, said, executor, None) == expected
    assert aclnn.aclGetRecentErrMsg().startswith(message)
    assert bits(given["gradInput"].view) == before
    assert op.second(bytearray(size), size, executor, None) == OK  # it has not run yet
    assert bits(given["gradInput"].view) != before


@pytest.mark.parametrize("name", ["gradOut", "gradInput"])
@each_op
def test_workspace_over_a_tensor(op, name):
    given, size, executor = ready(op)
    view = given[name].view
    before = bits(view)
    memory = np.zeros(size // 4 + 10_000, np.float32)
    memory[100 : 100 + view.size] = view.ravel()
    given[name] = AclTensor.from_array(memory[100 : 100 + view.size].reshape(view.shape))
    status, size, executor = op.prepare(given)
    assert status == OK
    assert op.second(memory, size, executor, None) == INVALID
    assert aclnn.aclGetRecentErrMsg().startswith("workspace overlaps")
    assert bits(given[name].view) == before


@each_op
def test_no_workspace_where_none_is_needed(op):
    sizes = (2, 2, 3, 4, 5)
    g = gradient("float32", sizes)
    for workspace, size in ((None, 0), (bytearray(8), 0), (bytearray(8), 8)):
        grad_input = tensor(sizes)
        status, needed, executor = call(
            op, AclTensor.from_array(g), grad_input, sizes[2:], sizes[2:]
        )
        assert (status, needed) == (OK, 0)
        assert op.second(workspace, size, executor, None) == OK
        assert bits(grad_input.view) == bits(g)
