# SPDX-License-Identifier: Apache-2.0
"""The system-test and kernel-test cases of the ops-cv operator library, through the two phases."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import oracle
import pytest
from aclnn_calls import INF, NCDHW, NDHWC, OPS
from aclnn_runs import ND, as_ncdhw, in_format, run
from opscv import CASES, gradient, parts, source_bytes

from upsample3d.aclnn import AclTensor

# The thresholds T of the operators' own precision standard: the mean error below T, the largest
# below 10 T.
TOLERANCE = {"float32": 2.0**-13, "float16": 2.0**-10, "bfloat16": 2.0**-7}
LIMIT = 8 * 2**20


def cases():
    for number, case in enumerate(CASES):
        marks = [pytest.mark.slow] if source_bytes(case) > LIMIT else []
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

    ones = gradient("ones", shape, dtype, number)
    got = result(ones)
    close(got[:1, :1], truth(ones[:1, :1]), dtype)
    assert (got == got[0, 0]).all()

    g = gradient("random", shape, dtype, number)
    got = result(g)
    for part in parts(shape, 1):
        close(got[part], truth(g[part]), dtype)

    rng = np.random.default_rng(number)
    sign = np.zeros(shape, np.int8)
    for one in (1, -1):
        sign.flat[rng.integers(0, sign.size, max(1, sign.size // 5000))] = one
    spoiled = np.nonzero(sign)
    g[spoiled] = np.copysign(INF, sign[spoiled]).astype(g.dtype)
    got = result(g)
    g[spoiled] = 0
    for part in parts(shape, 1):
        reach = truth(sign[part])  # |value| is the magnitude to the bit where all signs are one
        plus, minus = reach.magnitude > -reach.value, reach.magnitude > reach.value
        assert np.array_equal(np.isnan(got[part]), plus & minus)
        assert np.array_equal(got[part] == INF, plus & ~minus)
        assert np.array_equal(got[part] == -INF, minus & ~plus)
        close(got[part], truth(g[part]), dtype, where=~(plus | minus))


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


KERNEL_TESTS = [
    ("exact", "float32", 4), ("exact", "float16", 16), ("nearest", "float32", 4),
    ("nearest", "float16", 4), ("nearest", "bfloat16", 4), ("trilinear", "float32", 4),
    ("trilinear", "float16", 4), ("trilinear", "bfloat16", 4),
]  # fmt: skip


@pytest.mark.parametrize(("name", "dtype", "side"), KERNEL_TESTS)
def test_kernel_test_of_the_operators(name, dtype, side):
    """Side -> 16; nearest ones with their own output as gradient, trilinear with scale 4."""
    op, i, o = OPS[name], (side,) * 3, (16,) * 3
    g = gradient("random", (1, 1, *(o if name == "trilinear" else i)), dtype, 5)
    if name != "trilinear":
        g = oracle.answer(op.function.removesuffix("_backward"), g, i, o).value.astype(g.dtype)
    scales = (4.0, 4.0, 4.0) if name == "trilinear" else (0.0, 0.0, 0.0)
    out = np.full((1, 1, *i), 7, g.dtype)
    run(op, AclTensor.from_array(g), AclTensor.from_array(out), i, o, scales=scales)
    wanted = oracle.answer(op.function, g, i, o, scales).value
    rtol = 1e-4 if dtype == "float32" and name != "trilinear" else 1e-2
    atol = 1e-2 if name == "trilinear" else 0
    np.testing.assert_allclose(out.astype(np.float64), wanted, rtol=rtol, atol=atol)
