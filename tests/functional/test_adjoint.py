# SPDX-License-Identifier: Apache-2.0
"""What defines a gradient: <up(x), g> equals <x, backward(g)> for every x and g."""

import math

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import upsample3d as up

sizes = st.tuples(*[st.integers(1, 24)] * 3)
scale = st.one_of(st.none(), st.floats(0.3, 4.0))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", oracle.OPS)
@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(
    planes=st.tuples(st.integers(2, 3), st.integers(1, 5)),
    i=sizes,
    o=sizes,
    scales=st.tuples(scale, scale, scale),
    align_corners=st.booleans(),
    data_format=st.sampled_from(["NCDHW", "NDHWC"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_forward_and_backward_are_adjoint(
    op, dtype, planes, i, o, scales, align_corners, data_format, seed
):
    random = np.random.default_rng(seed)
    options = {"data_format": data_format, "rule": "aclnn"}
    if op == "trilinear":
        options["align_corners"] = align_corners
    order = ((0, 4, 1, 2, 3), (0, 1, 2, 3, 4))[data_format == "NCDHW"]
    n, c = planes
    shapes = [(n, *size, c) if data_format == "NDHWC" else (n, c, *size) for size in (i, o)]
    x, g = (random.standard_normal(shape).astype(dtype) for shape in shapes)

    y = getattr(up, op)(x, o, scales, **options)
    gx = getattr(up, op + "_backward")(g, (n, c, *i), scales, **options)
    assert y.shape == g.shape
    assert gx.shape == x.shape

    # Both sides are sums of g w x. With S = sum |g w x|, a side is off by at most n eps / 2 * S,
    # n = n_d + n_h + n_w terms per result (one product and n - 1 additions per axis), and its dot
    # product by eps64 * S: each product rounds once and fsum once. 1.001: n eps / 2 compounded.
    left = math.fsum((y.astype(np.float64) * g).ravel())
    right = math.fsum((gx.astype(np.float64) * x).ravel())
    roundings, total = 0, np.abs(x).astype(np.float64).transpose(order)
    for axis in range(3):
        m = oracle.matrix(op, i[axis], o[axis], scales[axis], align_corners, dtype=dtype)
        roundings += int((m != 0).sum(axis=0).max() + (m != 0).sum(axis=1).max())
        total = np.moveaxis(np.tensordot(total, m, axes=(axis + 2, 1)), -1, axis + 2)
    total = float((total * np.abs(g).transpose(order)).sum())
    unit = np.finfo(dtype).eps / 2
    assert abs(left - right) <= (roundings * unit + 2 * np.finfo(np.float64).eps) * total * 1.001
