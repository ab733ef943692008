# SPDX-License-Identifier: Apache-2.0
"""The first phases: every row of ops-cv's op_api unit tests by its name, and every corner case."""

from __future__ import annotations

import math

import numpy as np
import pytest
from aclnn_calls import (
    BF16,
    DOUBLE,
    FLOAT16,
    HUGE,
    INF,
    LAST,
    NAN,
    NCDHW,
    NDHWC,
    OK,
    OPS,
    SCALED,
    I,
    N,
    answer,
    arguments,
    each_op,
    same,
)

from upsample3d.aclnn import aclDataType, aclFormat

ROWS = [
    ("case_float_normal", OK, {}),
    ("case_float16_normal", OK, {"types": FLOAT16}),
    ("case_shape_0_2_3_4_5_normal", OK, {"gradOut": (0, 2, 3, 4, 5), **same((0, 2, 6, 8, 10))}),
    ("case_shape_2_0_3_4_5_normal", OK, {"gradOut": (2, 0, 3, 4, 5), **same((2, 0, 6, 8, 10))}),
    ("case_shape_2_2_0_4_5_abnormal", I, {"gradOut": (2, 2, 0, 4, 5)}),
    ("case_shape_2_2_3_0_5_abnormal", I, {"gradOut": (2, 2, 3, 0, 5)}),
    ("case_shape_2_2_3_4_0_abnormal", I, {"gradOut": (2, 2, 3, 4, 0)}),
    ("case_2d_abnormal", I, {"gradOut": (2, 2)}),
    ("case_6d_abnormal", I, {"gradOut": (2, 2, 3, 4, 5, 6)}),
    ("case_grad_out_nullptr_abnormal", N, {"gradOut": None}),
    ("case_output_size_nullptr_abnormal", N, {"outputSize": None}),
    ("case_input_size_nullptr_abnormal", N, {"inputSize": None}),
    ("case_grad_input_nullptr_abnormal", N, {"gradInput": None}),
    ("case_output_size_3_4_abnormal", I, {"outputSize": (3, 4)}),
    ("case_output_size_0_4_5_abnormal", I, {"outputSize": (0, 4, 5)}),
    ("case_input_size_2_2_6_8_abnormal", I, same((2, 2, 6, 8))),
    ("case_input_size_2_2_0_8_10_abnormal", I, same((2, 2, 0, 8, 10))),
    ("case_scales_normal", OK, SCALED),
]
NEAREST_ROWS = [
    ("case_bfloat16_normal", OK, {"types": BF16}),
    ("case_nc_diff_abnormal", I, same((2, 3, 6, 8, 10))),
    ("case_dhw_diff_abnormal", I, {"outputSize": (3, 8, 5)}),
]
MIXED_TYPES = {"types": (aclDataType.ACL_FLOAT, aclDataType.ACL_DOUBLE)}
UNIT_TESTS = {
    "exact": [*ROWS, *NEAREST_ROWS, ("case_float_normal_ndhwc", OK, LAST)],
    "nearest": [
        *ROWS,
        *NEAREST_ROWS,
        ("case_float_double_abnormal", I, MIXED_TYPES),
        ("Ascend910B2_case_float16", OK, {"types": FLOAT16}),
        ("Ascend910B2_case_bfloat16", OK, {"types": BF16}),
        ("case_format_ndhwc_normal", OK, LAST),
    ],
    "trilinear": [
        *ROWS,
        ("case_float_with_scale_normal", OK, {"alignCorners": True}),
        ("case_float_double_abnormal", I, MIXED_TYPES),
        # Not asserted there, and what the code answers: the first two are consistent.
        ("case_nc_diff_abnormal", OK, {"gradOut": (2, 3, 3, 4, 5), **same((2, 3, 6, 8, 10))}),
        ("case_dhw_diff_abnormal", OK, {"gradOut": (2, 2, 3, 8, 5), "outputSize": (3, 8, 5)}),
        ("case_ndhwc_normal", OK, LAST),
    ],
}


def expand(table):
    return [
        pytest.param(OPS[name], *rest, id=f"{name}-{case}")
        for name, rows in table.items()
        for case, *rest in rows
    ]


@pytest.mark.parametrize(("op", "expected", "changes"), expand(UNIT_TESTS))
def test_unit_test_of_the_operators(op, expected, changes):
    assert answer(op, **changes)[0] == expected


REFUSED = {
    "exact": "UINT8 INT8 INT16 INT32 INT64 DOUBLE BOOL STRING COMPLEX64 COMPLEX128",
    "nearest": "UINT8 INT8 INT16 INT32 INT64 BOOL STRING COMPLEX64 COMPLEX128",
    "trilinear": "UINT8 INT8 INT16 INT32 INT64 BOOL STRING COMPLEX64 COMPLEX128",
}


@pytest.mark.parametrize(
    ("op", "name"),
    [pytest.param(OPS[op], t, id=f"{op}-{t}") for op, ts in REFUSED.items() for t in ts.split()],
)
def test_case_invalid_dtype_abnormal(op, name):
    status, message = answer(op, types=(aclDataType[f"ACL_{name}"],) * 2)
    assert status == I
    assert message.startswith(f"gradOut has dtype ACL_{name}, wanted ACL_FLOAT or ")


# What follows from the operators' code, where their tests say nothing.

CORNERS = {
    "exact": [
        ("only D positive is judged", I, {"scalesD": 60.0}, "scalesD is 60.0"),
        ("only H positive is judged", I, {"scalesH": 51.0}, "scalesH is 51.0"),
        ("only W positive is judged", I, {"scalesW": 1e300}, "scalesW is 1e+300"),
        ("infinite", I, {"scalesH": INF}, "scalesH is inf"),
        ("just above 50", I, {"scalesW": math.nextafter(50, 60)}, "scalesW is 50.00000000000001"),
        ("exactly 50", OK, {"scalesD": 50.0, "scalesH": 50.0, "scalesW": 50.0}, ""),
        (
            "ratio 51",
            I,
            {"gradOut": (2, 2, 3, 4, 51), "outputSize": (3, 4, 51), **same((2, 2, 6, 8, 1))},
            "outputSize[2] / inputSize[4] is 51.0",
        ),
        (
            "a scale stands for a ratio of 51",
            OK,
            {
                "gradOut": (2, 2, 3, 4, 51), "outputSize": (3, 4, 51), **same((2, 2, 6, 8, 1)),
                "scalesW": 2.0,
            },
            "",
        ),
        ("double", I, {"types": DOUBLE}, "gradOut has dtype ACL_DOUBLE"),
    ],
    "nearest": [("double", OK, {"types": DOUBLE}, "")],
    "trilinear": [("double", OK, {"types": DOUBLE}, "")],
}  # fmt: skip
for rows in CORNERS.values():
    rows += [
        ("one positive scale is ignored", OK, {"scalesD": 2.0}, ""),
        ("negative, zero and NaN are unset", OK, {"scalesD": -3.0, "scalesW": NAN}, ""),
        ("minus infinity is unset", OK, {"scalesD": -INF, "scalesH": -0.0, "scalesW": -1e-320}, ""),
        (
            "ratio exactly 50",
            OK,
            {"gradOut": (2, 2, 50, 4, 5), "outputSize": (50, 4, 5), **same((2, 2, 1, 8, 10))},
            "",
        ),
        (
            "a short inputSize comes before a gradInput of four axes",
            I,
            same((2, 2, 6, 8)),
            "inputSize is (2, 2, 6, 8), wanted 5",
        ),
        ("a longer gradInput", I, {"gradInput": (2, 2, 6, 8, 10, 1)}, "gradInput has shape"),
        (
            "the first index that differs", I, {"outputSize": (3, 8, 6)},
            "gradOut has shape (2, 2, 3, 4, 5) in ACL_FORMAT_NCDHW, wanted (2, 2, 3, 8, 6), "
            "first at index 3, as inputSize (N, C, D, H, W) and outputSize (D, H, W) say",
        ),
        (
            "the last index that differs", I, {"gradInput": (2, 2, 6, 8, 9)},
            "gradInput has shape (2, 2, 6, 8, 9) in ACL_FORMAT_NCDHW, wanted (2, 2, 6, 8, 10), "
            "first at index 4, as inputSize (N, C, D, H, W) says",
        ),
        (
            "the index of another format", I, {**LAST, "inputSize": (2, 6, 4, 6, 8)},
            "gradOut has shape (2, 2, 3, 4, 5) in ACL_FORMAT_NDHWC, wanted (2, 2, 3, 4, 6), "
            "first at index 4",
        ),
        (
            "gradOut alone past int32", I,
            {"gradOut": (2, 0, HUGE, 4, 5), "outputSize": (HUGE, 4, 5),
             **same((2, 0, HUGE // 2, 8, 10))},
            "gradOut has shape (2, 0, 2147483648, 4, 5), wanted sizes up to 2147483647",
        ),
        (
            "both just within int32", OK,
            {"gradOut": (2, 0, HUGE - 1, 4, 5), "outputSize": (HUGE - 1, 4, 5),
             **same((2, 0, HUGE - 1, 8, 10))}, "",
        ),
        ("a long outputSize", I, {"outputSize": [3] * 1000}, "outputSize is (3, 3"),
        (
            "a long inputSize after a wrong dtype", I,
            {"inputSize": [3] * 65, "types": (aclDataType.ACL_INT32,) * 2}, "gradOut has dtype",
        ),
        ("what stands behind 64 numbers", I, {"outputSize": [3] * 64 + ["x"]}, "outputSize is"),
        ("a negative N", I, {"inputSize": (-2, 2, 6, 8, 10)}, "gradOut has shape"),
        ("scales that disagree with the sizes", OK, {k: 7.5 for k in SCALED if "scales" in k}, ""),
        (
            "a size above 2^20",
            OK,
            {
                "gradOut": (1, 1, 1, 1, 2**20 + 1), "outputSize": (1, 1, 2**20 + 1),
                **same((1, 1, 1, 1, 2**20 + 1)), "types": FLOAT16,
            },
            "",
        ),
        ("ND", OK, {"formats": (aclFormat.ACL_FORMAT_ND,) * 2}, ""),
        ("ND and NCDHW are one", OK, {"formats": (aclFormat.ACL_FORMAT_ND, NCDHW)}, ""),
        (
            "gradInput alone NDHWC", I,
            {**LAST, "gradOut": (2, 5, 2, 3, 4), "formats": (NCDHW, NDHWC)},
            "gradOut has format ACL_FORMAT_NCDHW",
        ),
    ]  # fmt: skip
for name in ("nearest", "trilinear"):
    CORNERS[name] += [
        (f"scale {s}", OK, {"scalesD": s, "scalesH": s, "scalesW": s}, "")
        for s in (60.0, 1e39, INF)
    ]
    CORNERS[name] += [
        (
            "ratio 51",
            OK,
            {"gradOut": (2, 2, 51, 4, 5), "outputSize": (51, 4, 5), **same((2, 2, 1, 8, 10))},
            "",
        )
    ]


@pytest.mark.parametrize(("op", "expected", "changes", "message"), expand(CORNERS))
def test_corner(op, expected, changes, message):
    got, said = answer(op, **changes)
    assert got == expected
    assert said.startswith(message)


@pytest.mark.parametrize("format", [f for f in aclFormat if f != NDHWC], ids=lambda f: f.name)
@each_op
def test_other_formats(op, format):
    status, message = answer(op, formats=(format, NCDHW))
    refused = op.name == "trilinear" and format not in (NCDHW, aclFormat.ACL_FORMAT_ND)
    assert status == (I if refused else OK)
    if refused:
        assert message == f"gradOut has format {format.name}, wanted NCDHW, NDHWC or ND"
    assert answer(op, formats=(NCDHW, format))[0] == OK  # gradInput's is never looked at


@pytest.mark.parametrize("sizes", [(0, 2), (2, 0), (0, 0)])
@each_op
def test_empty_needs_nothing_and_runs(op, sizes):
    shape = {"gradOut": (*sizes, 3, 4, 5), **same((*sizes, 6, 8, 10))}
    status, size, executor = op.prepare(arguments(**shape))
    assert (status, size) == (OK, 0)
    assert op.second(None, 0, executor, None) == OK


@pytest.mark.parametrize("scale", [5e-324, 1e-320, 1e-46, 1e-45, 1e-40, 1.5e-38, 49.0])
@pytest.mark.parametrize("name", list(OPS))
def test_tiny_scales_never_fail_and_never_leave_bounds(name, scale):
    finite_scale(OPS[name], scale)


@pytest.mark.parametrize("scale", [1e38, 3.4e38, 1e39, 1e45, 2e45, 1e46, 1e308, INF])
@pytest.mark.parametrize("name", ["nearest", "trilinear"])
def test_giant_scales_never_fail_and_never_leave_bounds(name, scale):
    finite_scale(OPS[name], scale)


def finite_scale(op, scale):
    given = arguments(**SCALED) | dict.fromkeys(("scalesD", "scalesH", "scalesW"), scale)
    given["gradOut"].view[...] = 1
    status, size, executor = op.prepare(given)
    assert status == OK
    assert op.second(bytearray(size), size, executor, None) == OK
    got = given["gradInput"].view[0, 0]
    counts = [axis_counts(op, i, o, scale) for i, o in ((2, 4), (4, 8), (8, 12))]
    wanted = np.einsum("d,h,w->dhw", *counts)
    # wanted is a sum in double of weights that the op rounds to float32; a wrong weight is far off.
    np.testing.assert_allclose(got, wanted, rtol=1e-5)


def axis_counts(op, i, o, scale):
    """Sums of the weights of one axis: the operator's rules with its float32 scales."""
    with np.errstate(all="ignore"):
        s, inverse = np.float32(scale), np.float32(1 / scale)
    if op.name != "trilinear":
        if s == 0:  # the kernel asks "scale > 0", and takes the sizes' ratio if not
            s = np.float32(o) / np.float32(i)
        shift = 0.5 if op.name == "exact" else 0.0
        edge = [0] + [
            o if float(k) * float(s) > 2 * o else min(math.ceil(k * float(s) - shift), o)
            for k in range(1, i + 1)
        ]
        return np.diff(np.maximum(edge, 0))
    if inverse == 0:
        inverse = np.float32(i) / np.float32(o)
    counts = np.zeros(i)
    for x in range(o):
        r = min(max(float(inverse) * (x + 0.5) - 0.5, 0.0), i - 1.0)
        low = min(int(r), i - 1)
        counts[low] += 1 - (r - low)
        counts[min(low + 1, i - 1)] += r - low
    return counts
