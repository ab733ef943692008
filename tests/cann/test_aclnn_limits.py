# SPDX-License-Identifier: Apache-2.0
"""The documented limits that the first phase lets pass."""

from __future__ import annotations

import numpy as np
import pytest
from aclnn_calls import HUGE, INF, OPS, arguments, each_op

import upsample3d as up
from upsample3d import aclnn
from upsample3d.aclnn import AclTensor, aclDataType


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
    # Three ratios, so that no product can be exchanged for another: 59.72 GiB and 60.94 GiB.
    ((1024, 49, 64, 96, 40), (1024, 49, 32, 32, 8), [], {}),
    (
        (1024, 50, 64, 96, 40), (1024, 50, 32, 32, 8),
        ["N * C * (oD * oH * oW + iD * iH * iW + oD * oH * iW + oD * iH * iW) elements take "
         "65431142400 bytes (60.94 GiB)"], {},
    ),
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


@pytest.mark.parametrize(
    "scales",
    [None, 2.0, (), (2.0, 2.0), (2.0,) * 4, {2.0, 3.0, 4.0}, (2.0, "2", 2.0), (None,) * 3, "222"],
    ids=str,
)
@each_op
def test_scales_that_are_not_three_numbers(op, scales):
    given = arguments()
    with pytest.raises((up.ParameterError, up.ParameterTypeError), match="scales") as caught:
        aclnn.documented_limit_violations(
            op.function, given["gradOut"], (3, 4, 5), (2, 2, 6, 8, 10), scales, given["gradInput"]
        )
    assert caught.value.status == 161002


def test_limits_of_what_has_no_sizes():
    given = arguments(outputSize=(3, 4))
    with pytest.raises(up.ParameterError, match="outputSize is"):
        aclnn.documented_limit_violations(
            "nearest_backward", given["gradOut"], (3, 4), (2, 2, 6, 8, 10),
            (0.0, 0.0, 0.0), given["gradInput"],
        )  # fmt: skip
    with pytest.raises(up.ParameterError, match="op is 'nearest'"):
        aclnn.documented_limit_violations("nearest", None, None, None, (0, 0, 0), None)
