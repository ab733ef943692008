# SPDX-License-Identifier: Apache-2.0
"""Every check alone, and for every pair of neighbours, that the first decides."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from aclnn_calls import HUGE, NCDHW, NDHWC, OK, OPS, I, N, answer, arguments, each_op, same

from upsample3d import aclnn
from upsample3d.aclnn import AclTensor, aclDataType, aclFormat
from upsample3d.cann import call as aclnn_call
from upsample3d.cann import checks

INPUT_SIDE = (2, 2, 6, 8, 10)


def misaligned():
    memory = np.zeros(4 * math.prod(INPUT_SIDE) + 1, np.uint8)
    return AclTensor.from_array(memory[1:].view(np.float32).reshape(INPUT_SIDE))


def read_only():
    array = np.zeros(INPUT_SIDE, np.float32)
    array.flags.writeable = False
    return AclTensor.from_array(array)


def huge_read_only():
    one = np.frombuffer(bytes(4), np.float32)
    return AclTensor.from_array(np.broadcast_to(one, (2, 2, HUGE, 8, 10)))


def folded(array=None):
    """gradInput whose D axis stands still."""
    array = np.zeros(INPUT_SIDE, np.float32) if array is None else array
    view = np.lib.stride_tricks.as_strided(
        array, INPUT_SIDE, (array.strides[0], array.strides[1], 0, *array.strides[3:])
    )
    return AclTensor.from_array(view)


def unaligned_folded():
    return folded(misaligned().view)


def locked_misaligned():
    made = misaligned()
    made.view.flags.writeable = False
    return made


def shared(fold=False):
    """Both tensors in one buffer, one element apart in common."""
    memory = np.zeros(4000, np.float32)
    out = memory[:240].reshape(2, 2, 3, 4, 5)
    into = memory[239 : 239 + math.prod(INPUT_SIDE)].reshape(INPUT_SIDE)
    return {
        "gradOut": AclTensor.from_array(out),
        "gradInput": folded(into) if fold else AclTensor.from_array(into),
    }


class Alone:
    """A change that makes one check fail, what its message begins with, and the check."""

    def __init__(self, check, message, *, status=I, **changes):
        self.check, self.message, self.status, self.changes = check, message, status, changes

    def made(self):
        return {k: v() if callable(v) else v for k, v in self.changes.items()}


CHECKS = {
    "gradOut null": Alone(None, "gradOut is None", status=N, gradOut=None),
    "outputSize null": Alone(None, "outputSize is None", status=N, outputSize=None),
    "inputSize null": Alone(None, "inputSize is None", status=N, inputSize=None),
    "gradInput null": Alone(None, "gradInput is None", status=N, gradInput=None),
    "gradOut type": Alone(None, "gradOut is a ndarray, wanted", gradOut=np.zeros((2, 2, 3, 4, 5))),
    "outputSize type": Alone(None, "outputSize is (3, '4', 5), wanted", outputSize=(3, "4", 5)),
    "inputSize type": Alone(None, "inputSize is 12, wanted a seq", inputSize=12),
    "alignCorners type": Alone(None, "alignCorners is 1, wanted", alignCorners=1),
    "scalesD type": Alone(None, "scalesD is None, wanted", scalesD=None),
    "scalesH type": Alone(None, "scalesH is '1', wanted", scalesH="1"),
    "scalesW type": Alone(None, "scalesW is 1j, wanted", scalesW=1j),
    "gradInput type": Alone(None, "gradInput is a list", gradInput=[1]),
    "dtype": Alone("dtype_known", "gradOut has dtype", types=(aclDataType.ACL_INT32,) * 2),
    "dtypes": Alone(
        "dtypes_equal", "gradInput has dtype ACL_FLOAT16",
        types=(aclDataType.ACL_FLOAT, aclDataType.ACL_FLOAT16),
    ),
    "rank": Alone("grad_out_rank", "gradOut has shape (2, 2), wanted 5", gradOut=(2, 2)),
    "outputSize": Alone("output_size_length", "outputSize is (3, 4), wanted 3", outputSize=(3, 4)),
    "inputSize": Alone(
        "input_size_length", "inputSize is (2, 2, 6, 8), wanted 5", inputSize=(2, 2, 6, 8)
    ),
    "format": Alone(
        "grad_out_format", "gradOut has format ACL_FORMAT_NCHW",
        formats=(aclFormat.ACL_FORMAT_NCHW, NCDHW),
    ),
    "sizes": Alone("sizes_positive", "inputSize is (2, 2, 0, 8, 10)", **same((2, 2, 0, 8, 10))),
    "gradOut shape": Alone("grad_out_shape", "gradOut has shape", outputSize=(3, 8, 5)),
    "gradInput shape": Alone("grad_input_shape", "gradInput has shape", gradInput=(2, 2, 6, 8, 9)),
    "formats": Alone(
        "formats_equal", "gradOut has format ACL_FORMAT_NDHWC",
        gradOut=(2, 3, 4, 5, 2), formats=(NDHWC, NCDHW),
    ),
    "scales": Alone("scales_limited", "scalesD is 60.0", scalesD=60.0),
    "int32": Alone(
        "sizes_in_int32", "gradInput has shape",
        gradOut=(2, 0, 3, 4, 5), **same((2, 0, HUGE, 8, 10)),
    ),
    "read-only": Alone("grad_input_writable", "gradInput is read-only", gradInput=read_only),
    "misaligned": Alone("grad_input_aligned", "gradInput is misaligned", gradInput=misaligned),
    "folded": Alone("grad_input_once", "gradInput has strides of", gradInput=folded),
    "shared": Alone("grad_input_apart", "gradInput overlaps gradOut", **shared()),
}  # fmt: skip

ORDER = {
    name: [key for key in CHECKS if key not in without]
    for name, without in {
        "exact": {"alignCorners type", "format"},
        "nearest": {"alignCorners type", "format", "scales"},
        "trilinear": {"scales"},
    }.items()
}

# Where two changes touch the same argument: the change that both of them mean.
BOTH = {
    ("dtype", "dtypes"): {"types": (aclDataType.ACL_INT32, aclDataType.ACL_FLOAT16)},
    ("inputSize", "sizes"): {"inputSize": (2, 2, 6, 8), "outputSize": (0, 4, 5)},
    ("formats", "int32"): {
        "gradOut": (2, 3, 4, 5, 0), **same((2, 0, HUGE, 8, 10)), "formats": (NDHWC, NCDHW)
    },
    ("int32", "read-only"): {
        "inputSize": (2, 2, HUGE, 8, 10), "gradInput": huge_read_only,
    },
    ("read-only", "misaligned"): {"gradInput": locked_misaligned},
    ("misaligned", "folded"): {"gradInput": unaligned_folded},
    ("folded", "shared"): shared(fold=True),
}  # fmt: skip


def pairs():
    for name, order in ORDER.items():
        for first, second in itertools.pairwise(order):
            yield pytest.param(OPS[name], first, second, id=f"{name}-{first}-{second}")


@pytest.mark.parametrize(
    ("op", "key"), [pytest.param(OPS[n], k, id=f"{n}-{k}") for n, ks in ORDER.items() for k in ks]
)
def test_check_alone(op, key):
    case = CHECKS[key]
    status, message = answer(op, **case.made())
    assert status == case.status
    assert message.startswith(case.message)
    if case.check is not None:
        others = {check.__name__ for check in (*op.operator.checks, *checks.MEMORY)}
        assert failing(op, case.made(), others - IMPLIED.get(case.check, set())) == [case.check]


# A wrong number of sizes is a wrong shape too; and no ratio can be had of sizes that are none.
SHAPES = {"grad_out_shape", "grad_input_shape"}
IMPLIED = {
    "grad_out_rank": SHAPES,
    "output_size_length": SHAPES | {"scales_limited"},
    "input_size_length": SHAPES | {"scales_limited"},
    "sizes_positive": {"scales_limited"},
}


@pytest.mark.parametrize(("op", "first", "second"), list(pairs()))
def test_the_first_of_two_decides(op, first, second):
    one, two = CHECKS[first], CHECKS[second]
    changes = BOTH.get((first, second)) or {**two.changes, **one.changes}
    changes = {k: v() if callable(v) else v for k, v in changes.items()}
    status, message = answer(op, **changes)
    assert status == one.status
    assert message.startswith(" ".join(one.message.split()[:3]))
    if two.check is not None and one.check is not None:
        both = failing(op, changes, {one.check, two.check})
        assert both == [one.check, two.check]
    else:
        assert set(one.changes).isdisjoint(two.changes)
    assert not message.startswith(two.message)


def failing(op, changes, asked):
    """Which of the op's checks fail, of those that are asked, each for itself, in order."""
    given = arguments(**changes)
    names = ("gradOut", "outputSize", "inputSize", "alignCorners")
    scales = tuple(given[f"scales{axis}"] for axis in "DHW")
    call, *arrays = aclnn_call.read(
        op.operator, *(given[name] for name in names), scales, given["gradInput"]
    )
    memory = () if call.empty else checks.MEMORY
    found = {c.__name__: c(call) for c in op.operator.checks if c.__name__ in asked}
    found |= {c.__name__: c(*arrays) for c in memory if c.__name__ in asked}
    return [name for name, wrong in found.items() if wrong is not None]


@each_op
def test_tensors_that_lie_between_each_other_are_apart(op):
    memory = np.zeros((2, 2, 6, 8, 20), np.float32)
    grad_out = memory[:, :, ::2, ::2, ::4]
    for into, expected in ((memory[..., 1::2], OK), (memory[..., ::2], I)):
        made = {"gradOut": AclTensor.from_array(grad_out), "gradInput": AclTensor.from_array(into)}
        status, message = answer(op, **made)
        assert status == expected
        assert message.startswith("gradInput overlaps gradOut" if expected else "")


@each_op
def test_memory_of_empty_tensors_is_not_looked_at(op):
    empty = np.broadcast_to(np.zeros((), np.float32), (0, 2, 6, 8, 10))
    assert not empty.flags.writeable
    made = {"gradOut": (0, 2, 3, 4, 5), "gradInput": AclTensor.from_array(empty)}
    assert answer(op, **made, inputSize=empty.shape) == (OK, "")


class Sizes(tuple):
    """Sizes that do something while they are read."""

    def __len__(self):
        self.action()
        return super().__len__()


@each_op
def test_a_tensor_destroyed_meanwhile_is_still_what_was_read(op):
    given = arguments()
    given["outputSize"] = Sizes((3, 4, 5))
    given["outputSize"].action = lambda: aclnn.aclDestroyTensor(given["gradOut"])
    status, size, executor = op.prepare(given)
    assert repr(given["gradOut"]) == "AclTensor(destroyed)"
    assert status == OK
    assert op.second(bytearray(size), size, executor, None) == OK
