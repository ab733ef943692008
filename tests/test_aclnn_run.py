# SPDX-License-Identifier: Apache-2.0
"""The two phases run: the operators' example, every layout, workspaces, executors, limits."""

from __future__ import annotations

import itertools
import json
import math
import threading
import tracemalloc
from pathlib import Path

import ml_dtypes
import numpy as np
import oracle
import pytest
from test_aclnn_checks import HUGE, INF, NCDHW, NDHWC, OPS, arguments, each_op, same, tensor

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


WORKSPACES = [
    ("None", lambda size: (None, size), NULL, "workspace is None"),
    ("too small a number", lambda size: (bytearray(size), size - 1), INVALID, "workspaceSize is"),
    ("too small a buffer", lambda size: (bytearray(size - 1), size), INVALID, "workspace has"),
    ("a number above the buffer", lambda size: (bytearray(size), size + 1), INVALID, "workspace h"),
    ("negative", lambda size: (bytearray(size), -1), INVALID, "workspaceSize is -1"),
    ("beyond 64 bits", lambda size: (bytearray(size), 2**70), INVALID, "workspaceSize has 71 bits"),
    ("no number", lambda size: (bytearray(size), "9"), INVALID, "workspaceSize raises TypeError"),
    ("no size", lambda size: (bytearray(size), None), INVALID, "workspaceSize raises TypeError"),
    ("read-only", lambda size: (bytes(size), size), INVALID, "workspace is read-only"),
    ("no buffer", lambda size: (object(), size), INVALID, "workspace is <object"),
    ("gaps", lambda size: (np.zeros(2 * size, np.uint8)[::2], size), INVALID, "workspace is array"),
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


# ---- Executors ----


@each_op
def test_executor_runs_once(op):
    given, size, executor = ready(op)
    assert op.second(bytearray(size), size, executor, None) == OK
    given["gradInput"].view[...] = -1
    for _ in range(2):
        assert op.second(bytearray(size), size, executor, None) == RUNTIME
        assert aclnn.aclGetRecentErrMsg() == "executor has run, wanted one that can run"
        assert (given["gradInput"].view == -1).all()
    for ended in (aclnn.aclSetAclOpExecutorRepeatable, aclnn.aclDestroyAclOpExecutor):
        assert ended(executor) == RUNTIME


@each_op
def test_repeatable_executor_runs_until_it_is_destroyed(op):
    given, size, executor = ready(op)
    assert aclnn.aclSetAclOpExecutorRepeatable(executor) == OK
    found = set()
    for value in (1, 1, 2):
        given["gradOut"].view[...] = value  # new numbers in the same memory
        assert op.second(bytearray(size), size, executor, None) == OK
        found.add(bits(given["gradInput"].view))
    assert len(found) == 2
    assert aclnn.aclDestroyAclOpExecutor(executor) == OK
    assert op.second(bytearray(size), size, executor, None) == RUNTIME
    assert aclnn.aclGetRecentErrMsg() == "executor was destroyed, wanted one that can run"
    assert aclnn.aclDestroyAclOpExecutor(executor) == RUNTIME


@each_op
def test_executor_destroyed_before_it_runs(op):
    given, size, executor = ready(op)
    before = bits(given["gradInput"].view)
    assert aclnn.aclDestroyAclOpExecutor(executor) == OK
    assert op.second(bytearray(size), size, executor, None) == RUNTIME
    assert bits(given["gradInput"].view) == before


@pytest.mark.parametrize("wrong", [None, 0, object(), "executor", aclnn.AclOpExecutor])
@each_op
def test_what_is_no_executor(op, wrong):
    expected = NULL if wrong is None else INVALID
    assert op.second(None, 0, wrong, None) == expected
    assert aclnn.aclGetRecentErrMsg().startswith("executor is ")
    assert aclnn.aclSetAclOpExecutorRepeatable(wrong) == expected
    assert aclnn.aclDestroyAclOpExecutor(wrong) == expected


def test_executor_that_was_never_made():
    bare = aclnn.AclOpExecutor.__new__(aclnn.AclOpExecutor)
    for op in OPS.values():
        assert op.second(None, 0, bare, None) == RUNTIME


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(OPS, 2)))
def test_executor_of_another_op(one, other):
    given, size, executor = ready(OPS[one])
    before = bits(given["gradInput"].view)
    assert OPS[other].second(bytearray(size), size, executor, None) == INVALID
    assert aclnn.aclGetRecentErrMsg().startswith("executor is of aclnnUpsample")
    assert bits(given["gradInput"].view) == before
    assert OPS[one].second(bytearray(size), size, executor, None) == OK


@each_op
def test_executor_holds_its_tensors_and_runs_in_another_thread(op):
    g = gradient("float32")
    out = np.zeros(I_SIDE, np.float32)
    grad_out, grad_input = AclTensor.from_array(g.copy()), AclTensor.from_array(out)
    _, size, executor = call(op, grad_out, grad_input, I_SIDE[2:], O_SIDE[2:])
    assert aclnn.aclDestroyTensor(grad_out) == aclnn.aclDestroyTensor(grad_input) == OK
    del grad_out, grad_input
    junk = [np.full(O_SIDE, 9, np.float32) for _ in range(8)]  # what freed memory would become
    found = []
    thread = threading.Thread(
        target=lambda: found.append(op.second(bytearray(size), size, executor, None))
    )
    thread.start()
    thread.join()
    assert found == [OK]
    assert bits(out) == bits(getattr(up, op.function)(g, I_SIDE))
    assert len(junk) == 8


@each_op
def test_of_concurrent_runs_exactly_one_wins(op):
    for _ in range(20):
        _, size, executor = ready(op)
        gate, found = threading.Barrier(4), []

        def second(size=size, executor=executor, gate=gate, found=found):
            workspace = bytearray(size)
            gate.wait()
            found.append(op.second(workspace, size, executor, None))

        threads = [threading.Thread(target=second) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(found) == [OK, RUNTIME, RUNTIME, RUNTIME]


def test_messages_belong_to_threads():
    op = OPS["exact"]
    assert op.prepare(arguments(gradOut=None))[0] == NULL
    mine = aclnn.aclGetRecentErrMsg()
    seen = []

    def other():
        seen.append(aclnn.aclGetRecentErrMsg())
        op.prepare(arguments(inputSize=None))
        seen.append(aclnn.aclGetRecentErrMsg())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [None, "inputSize is None, a null pointer"]
    assert aclnn.aclGetRecentErrMsg() == mine == "gradOut is None, a null pointer"


# ---- Tensors and int arrays ----

FLOAT = aclDataType.ACL_FLOAT
GOOD = {
    "view_dims": (2, 3), "data_type": FLOAT, "strides": (4, 1), "offset": 1, "format": ND,
    "storage_dims": (8,), "data": bytearray(32),
}  # fmt: skip
REFUSED = [
    ({"view_dims": None}, "viewDims raises"),
    ({"view_dims": (2, -3)}, "viewDims is (2, -3)"),
    ({"view_dims": (2,) * 65, "strides": (0,) * 65}, "viewDims has 65"),
    ({"view_dims": {2, 3}}, "viewDims is a set"),
    ({"data_type": 99}, "dataType is 99"),
    ({"data_type": "float32"}, "dataType raises"),
    ({"strides": (4,)}, "strides has 1 elements, wanted 2"),
    ({"strides": (4, 1.0)}, "strides[1] raises"),
    ({"strides": (4, 2)}, "offset is 1"),
    ({"offset": 2}, "offset is 2"),
    ({"offset": -1}, "offset is -1"),
    ({"strides": (4, -1)}, "offset is 1"),
    ({"strides": (2**62, 1)}, "offset is 1"),
    ({"offset": 2**64}, "offset has 65 bits"),
    ({"format": 5}, "format is 5"),
    ({"format": None}, "format raises"),
    ({"storage_dims": (7,)}, "offset is 1"),
    ({"storage_dims": (9,)}, "tensorData has 32 bytes, wanted 36"),
    ({"storage_dims": (2**62, 2**62)}, "tensorData has 32 bytes"),
    ({"data": None}, "tensorData is None"),
    ({"data": 5}, "tensorData raises"),
    ({"data": np.zeros(16, np.float32)[::2]}, "tensorData has gaps"),
    ({"data": np.zeros(33, np.uint8)[1:]}, "tensorData is misaligned"),
    ({"data": np.array([None] * 8)}, "tensorData raises"),
]


def test_create_tensor():
    data = np.arange(8, dtype=np.float32)
    made = aclCreateTensor(**{**GOOD, "data": data})
    assert made.view.tolist() == [[1, 2, 3], [5, 6, 7]]
    assert (made.view_shape, made.strides, made.offset) == ((2, 3), (4, 1), 1)
    assert (made.dtype, made.format, made.storage_shape) == (FLOAT, ND, (8,))
    assert made.data is data
    back = aclCreateTensor(**{**GOOD, "data": data, "offset": 7, "strides": (-4, -1)})
    assert back.view.tolist() == [[7, 6, 5], [3, 2, 1]]
    still = aclCreateTensor(**{**GOOD, "data": data, "strides": (0, 0)})
    assert still.view.tolist() == [[1] * 3] * 2
    empty = aclCreateTensor((0, 2**40), FLOAT, None, 0, ND, (0,), None)
    assert empty.view_shape == (0, 2**40)
    bf16 = np.arange(8).astype(ml_dtypes.bfloat16)
    assert aclCreateTensor(**{**GOOD, "data_type": 27, "data": bf16}).view[1, 2] == 7


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=[str(k) for k in range(len(REFUSED))])
def test_create_tensor_refuses(changes, message):
    assert aclCreateTensor(**{**GOOD, **changes}) is None
    assert aclnn.aclGetRecentErrMsg().startswith(message)


def test_empty_view_stays_inside_too():
    data = bytearray(32)
    assert aclCreateTensor((0, 3), FLOAT, None, 8, ND, (8,), data) is not None
    assert aclCreateTensor((0, 3), FLOAT, None, 9, ND, (8,), data) is None
    assert aclnn.aclGetRecentErrMsg().startswith("offset is 9")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (None, "array is None"),
        ([1.0], "array is a list"),
        (np.zeros(3, ">f4"), "array has dtype '>f4'"),
        (np.zeros(3, np.uint16), "array has dtype"),
        (np.ma.zeros(3), "array is a MaskedArray"),
    ],
)
def test_from_array_refuses(array, message):
    assert AclTensor.from_array(array) is None
    assert aclnn.aclGetRecentErrMsg().startswith(message)


def test_from_array_of_a_field():
    record = np.zeros(O_SIDE, [("g", "<f4"), ("flag", "u1")])
    record["g"] = gradient("float32")
    made = AclTensor.from_array(record["g"])
    assert made.strides is None
    grad_input = tensor(I_SIDE)
    run(OPS["exact"], made, grad_input, I_SIDE[2:], O_SIDE[2:])
    assert bits(grad_input.view) == bits(up.nearest_exact_backward(gradient("float32"), I_SIDE))


def test_destroyed_tensor():
    given = arguments()
    destroyed = given["gradOut"]
    assert aclnn.aclDestroyTensor(destroyed) == OK
    assert aclnn.aclDestroyTensor(destroyed) == INVALID
    assert repr(destroyed) == "AclTensor(destroyed)"
    for op in OPS.values():
        assert op.prepare(given) == (INVALID, 0, None)
        assert aclnn.aclGetRecentErrMsg().startswith("gradOut is destroyed")
    assert aclnn.aclDestroyTensor(None) == NULL
    assert aclnn.aclDestroyTensor(7) == INVALID


def test_int_arrays():
    assert aclnn.aclCreateIntArray(np.array([4, 5, 6]), 2) == (4, 5)
    for value, size, message in (
        (None, 0, "value is None"),
        ([1, 2], 3, "size is 3, wanted 0 to 2"),
        ([1, 2], -1, "size is -1"),
        ([1, 2.0], 2, "value[1] raises TypeError"),
        ([1, 2**63], 2, "value[1] has 64 bits"),
    ):
        assert aclnn.aclCreateIntArray(value, size) is None
        assert aclnn.aclGetRecentErrMsg().startswith(message)
    assert aclnn.aclDestroyIntArray(None) == NULL
    assert aclnn.aclDestroyIntArray("x") == INVALID


def test_numbers_of_the_statuses():
    assert {s.name: s.value for s in aclnn.aclnnStatus} == {
        "ACLNN_SUCCESS": 0,
        "ACLNN_ERR_PARAM_NULLPTR": 161001,
        "ACLNN_ERR_PARAM_INVALID": 161002,
        "ACLNN_ERR_RUNTIME_ERROR": 361001,
        "ACLNN_ERR_INNER_INFERSHAPE_ERROR": 561001,
        "ACLNN_ERR_INNER_TILING_ERROR": 561002,
        "ACLNN_ERR_INNER_FIND_KERNEL_ERROR": 561003,
        "ACLNN_ERR_INNER_CREATE_EXECUTOR": 561101,
        "ACLNN_ERR_INNER_NULLPTR": 561103,
    }


# ---- Documented limits ----


def violations(op, out, into, scales=(0.0, 0.0, 0.0), dtype=aclDataType.ACL_FLOAT):
    def seen(shape):
        one = np.zeros(1, np.float16 if dtype == aclDataType.ACL_FLOAT16 else np.float32)
        return AclTensor.from_array(np.broadcast_to(one, shape))

    return aclnn.documented_limit_violations(op, seen(out), out[2:], into, scales, seen(into))


@pytest.mark.parametrize(
    "name", [n for op in OPS.values() for n in (op.function, op.operator.name)]
)
def test_a_legal_call_breaks_no_limit(name):
    assert violations(name, (2, 2, 4, 8, 12), (2, 2, 2, 4, 8), (2.0, 2.0, 1.5)) == []


M = 2**20
LIMITS = [
    ((1, 1, 1, 1, M), (1, 1, 1, 1, M), [], {}),
    ((1, 1, 1, 1, M + 1), (1, 1, 1, 1, M), ["W of outputSize is 1048577"], {}),
    ((1, 1, 1, 1, M), (1, 1, M + 1, 1, 1), ["D of inputSize is 1048577"], {}),
    ((M + 1, 1, 1, 1, 1), (M + 1, 1, 1, 1, 1), ["N of inputSize is 1048577"], {}),
    (
        (1, 1, 1, HUGE, 1), (1, 1, 1, 1, 1),
        ["H of outputSize is 2147483648, documented: at most 2^31 - 1", "H of outputSize", "N * C"],
        {},
    ),
    ((1, 1, M, 2048, 1), (1, 1, 1, 1, 1), ["N * C * oD * oH is 2147483648"], {}),
    ((1, 1, M, 2047, 1), (1, 1, 1, 1, 1), [], {}),
    ((1, 1, 1, 1, 1), (1, 1, 1, M, 2048), ["iW * iH is 2147483648"], {}),
    ((1, 1, 1, 1, 1), (1, 1, 1, M, 2047), [], {}),
    # 4 x 2^32 elements of 4 bytes are 64 GiB; of 2 bytes 32. An element fewer than 60 GiB passes.
    ((4, 4, 512, 512, 1024), (4, 4, 512, 512, 1024), ["N * C * (oD"], {}),
    ((4, 4, 512, 512, 1024), (4, 4, 512, 512, 1024), [], {"dtype": aclDataType.ACL_FLOAT16}),
    ((15, 1, 1024, 1024, 256), (15, 1, 1024, 1024, 256), ["N * C * (oD"], {}),
    ((15, 1, 1024, 1024, 256), (15, 1, 1023, 1024, 256), [], {}),
    ((0, 2, 1, 1, 1), (0, 2, 1, 1, 1), ["N of inputSize is 0", "gradOut has", "gradInput has"], {}),
    ((1, 1, 4, 8, 12), (1, 1, 2, 4, 8), ["D of outputSize is 4, documented: floor(2 * scalesD) = "
     "floor(2 * 2.5) = 5", "H of outputSize is 8"], {"scales": (2.5, 2.49, 1.5)}),
    ((1, 1, 4, 8, 12), (1, 1, 2, 4, 8), [], {"scales": (2.5, 2.5, 0.0)}),
    ((1, 1, 4, 8, 12), (1, 1, 2, 4, 8), ["W of outputSize"], {"scales": (2.0, 2.0, INF)}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("out", "into", "messages", "options"), LIMITS, ids=[str(k) for k in range(len(LIMITS))]
)
@each_op
def test_limits(op, out, into, messages, options):
    got = violations(op.function, out, into, **options)
    assert len(got) == len(messages), got
    assert all(g.startswith(m) for g, m in zip(got, messages, strict=True)), got


def test_limits_of_what_has_no_sizes():
    given = arguments(outputSize=(3, 4))
    with pytest.raises(up.ParameterError, match="outputSize is"):
        aclnn.documented_limit_violations(
            "nearest_backward", given["gradOut"], (3, 4), same((2, 2, 6, 8, 10))["inputSize"],
            (0.0, 0.0, 0.0), given["gradInput"],
        )  # fmt: skip
    with pytest.raises(up.ParameterError, match="op is 'nearest'"):
        aclnn.documented_limit_violations("nearest", None, None, None, (0, 0, 0), None)


# ---- The operators' system tests ----

CASES = json.loads((Path(__file__).parent / "data" / "opscv_st.json").read_text())
TOLERANCE = {"float32": 2.0**-13, "float16": 2.0**-10, "bfloat16": 2.0**-7}
LIMIT = 8 * 2**20


def cases():
    for number, case in enumerate(CASES):
        size = math.prod(case["grad_output_shape"]) * itemsize(case["dtype"])
        marks = [pytest.mark.slow] if size > LIMIT else []
        yield pytest.param(number, case, id=case["id"], marks=marks)


@pytest.mark.parametrize(("number", "case"), list(cases()))
def test_system_test_of_the_operators(number, case):
    op = next(op for op in OPS.values() if op.function == case["op"])
    shape, size, dtype = tuple(case["grad_output_shape"]), tuple(case["input_size"]), case["dtype"]
    align_corners = case.get("align_corners", False)
    format = (NCDHW, NDHWC, ND)[number % 3]
    i, o = size[2:], shape[2:]

    def result(g):
        order = "NDHWC" if format == NDHWC else "NCDHW"
        grad_input = AclTensor.from_array(
            np.full(in_format(size, format), 7, oracle.numpy_dtype(dtype)), format
        )
        grad_out = AclTensor.from_array(oracle.to_format(g, order), format)
        run(op, grad_out, grad_input, i, o, align_corners=align_corners)
        return as_ncdhw(grad_input)

    def truth(g):
        return oracle.answer(case["op"], g, i, o, align_corners=align_corners)

    ones = np.ones(shape, oracle.numpy_dtype(dtype))
    got = result(ones)
    close(got[:1, :1], truth(ones[:1, :1]), dtype)
    assert (got == got[0, 0]).all()

    random = gradient(dtype, shape, number)
    true = truth(random)
    close(result(random), true, dtype)

    rng = np.random.default_rng(number)
    plus, minus = (np.zeros(shape, np.float32) for _ in range(2))
    for places in (plus, minus):
        places.flat[rng.integers(0, places.size, max(1, places.size // 5000))] = 1
    infinite = (plus + minus) > 0
    finite = np.where(infinite, 0, random).astype(random.dtype)
    with_inf = np.where(plus > 0, INF, np.where(minus > 0, -INF, random)).astype(random.dtype)
    up_, down = (truth(m).value > 0 for m in (plus, np.where(plus > 0, 0, minus)))
    got = result(with_inf)
    assert np.array_equal(np.isnan(got), up_ & down)
    assert np.array_equal(got == INF, up_ & ~down)
    assert np.array_equal(got == -INF, down & ~up_)
    close(got, truth(finite), dtype, where=~(up_ | down))


def close(got, true, dtype, where=None):
    """Relative to sum |w g|: the mean below T, the largest below 10 T."""
    floor = float(ml_dtypes.finfo(oracle.numpy_dtype(dtype)).smallest_subnormal) / 2
    where = np.ones(got.shape, bool) if where is None else where
    error = np.abs(got[where].astype(np.float64) - true.value[where])
    magnitude = true.magnitude[where]
    assert (error[magnitude == 0] == 0).all()
    relative = np.maximum(error - floor, 0) / np.where(magnitude == 0, 1, magnitude)
    assert relative.size == 0 or relative.mean() < TOLERANCE[dtype]
    assert relative.max(initial=0) < 10 * TOLERANCE[dtype]
