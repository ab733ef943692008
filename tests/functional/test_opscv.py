# SPDX-License-Identifier: Apache-2.0
"""The 300 system-test cases of the ops-cv operator library, against the oracle.

Its suite feeds gradients of ones; here every case also meets random and integer gradients, and
data formats and strided views rotate over the cases. Cases above 32 MiB of source are slow.
"""

import itertools

import numpy as np
import oracle
import pytest
from arrays import inside
from opscv import CASES, gradient, parts, source_bytes

import upsample3d as up

LIMIT = 32 * 2**20
LAYOUTS = [*itertools.product((np.ascontiguousarray, inside), ("NCDHW", "NDHWC"))]


def parameters():
    for number, case in enumerate(CASES):
        slow = [pytest.mark.slow] if source_bytes(case) > LIMIT else []
        yield pytest.param(number, case, id=case["id"], marks=slow)


def kinds(number, case):
    """Which gradients a case meets: all three, or ones and another in turn above 16 MiB."""
    if source_bytes(case) <= 16 * 2**20:
        return ("ones", "integers", "random")
    return ("ones", ("integers", "random")[number // 4 % 2])


@pytest.mark.parametrize(("number", "case"), list(parameters()))
def test_case(number, case):
    op, shape, size = case["op"], case["grad_output_shape"], case["input_size"]
    i, o = tuple(size[2:]), tuple(shape[2:])
    align_corners = case.get("align_corners", False)
    options = {"align_corners": align_corners} if op == "trilinear_backward" else {}
    for turn, kind in enumerate(kinds(number, case)):
        g = gradient(kind, shape, case["dtype"], number)
        lay, data_format = LAYOUTS[(number + turn) % len(LAYOUTS)]
        x = lay(np.moveaxis(g, 1, -1) if data_format == "NDHWC" else g)
        got = getattr(up, op)(x, size, data_format=data_format, **options)
        got = oracle.from_format(got, data_format)
        assert got.shape == tuple(size)
        if kind == "ones":
            # Every plane is the same: one is compared with the oracle, the others with it.
            compare(op, g[:1, :1], got[:1, :1], i, o, align_corners, kind)
            assert (got == got[0, 0]).all()
            continue
        for part in parts(shape, 3):
            compare(op, g[part], got[part], i, o, align_corners, kind)


def compare(op, g, got, i, o, align_corners, kind):
    truth = oracle.answer(op, g, i, o, align_corners=align_corners)
    if kind != "random" and op != "trilinear_backward":
        # Sums of integers below 2^24: the float32 sum is exact, the store rounds it once.
        assert truth.magnitude.max() < 2**24
        expected = truth.value.astype(np.float32).astype(got.dtype)
        assert np.array_equal(got, expected)
    else:
        truth.check(got, f"{op} {i} -> {o}, {kind}")
