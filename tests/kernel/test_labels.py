# SPDX-License-Identifier: Apache-2.0
"""Label maps: the forward nearest ops move elements of any type, bit for bit."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import oracle
import pytest
from arrays import placed

import upsample3d as up

DTYPES = [
    "?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "M8[s]",
    "S1", "V2", ml_dtypes.float8_e5m2, ml_dtypes.bfloat16,
]  # fmt: skip
INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
OPS = ["nearest", "nearest_exact"]
SIZES = [
    *(((3, 2, w), (5, 4, 2 * w)) for w in (1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65)),
    ((4, 5, 6), (4, 5, 6)),
    ((4, 5, 6), (9, 5, 6)),
    ((4, 5, 6), (7, 9, 6)),
    ((9, 8, 70), (4, 5, 23)),
    ((6, 7, 40), (7, 20, 177)),
    ((2, 3, 2), (41, 4, 98)),  # where torch's float64 has indices of its own
]
ORDERS = [(0, 1, 2, 3, 4), (0, 2, 3, 4, 1), (4, 3, 2, 1, 0), (1, 0, 4, 2, 3)]


def elements(dtype, shape, seed=3):
    """An array of any bit patterns; a bool's are two."""
    dtype = np.dtype(dtype)
    bits = np.random.default_rng(seed).integers(0, 256, (*shape, dtype.itemsize), np.uint8)
    return (bits & 1 if dtype.kind == "b" else bits).view(dtype)[..., 0]


def bits(x):
    return np.ascontiguousarray(x).tobytes()


def indices(op, i, o, scale, rule, double):
    """The input index of every output index, -1 where there is none."""
    exact = op == "nearest_exact"
    if rule == "torch":
        found = [oracle.torch_source(x, i, o, scale, exact, False, double) for x in range(o)]
        return np.array(found)
    edges = [oracle.window_edge(k, i, o, scale, 0.5 * exact) for k in range(i + 1)]
    found = np.full(o, -1)
    for k in range(i):
        found[edges[k] : edges[k + 1]] = k
    return found


def picked(op, x, o, scales=(None, None, None), rule="aclnn"):
    """The answer by NumPy's indexing."""
    for axis in (2, 3, 4):
        double = x.dtype == np.float64
        index = indices(op, x.shape[axis], o[axis - 2], scales[axis - 2], rule, double)
        x = np.take(x, index, axis)
        x[(slice(None),) * axis + (index < 0,)] = np.zeros((), x.dtype)
    return x


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("op", OPS)
def test_numpy_picks_the_same(op, dtype):
    for (i, o), rule in itertools.product(SIZES, ["aclnn", "torch"]):
        x = elements(dtype, (2, 3, *i))
        got = getattr(up, op)(x, o, rule=rule)
        assert got.dtype == x.dtype
        assert bits(got) == bits(picked(op, x, o, rule=rule)), (i, o, rule)


@pytest.mark.parametrize("dtype", ["u1", "u2"])
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("ratio", [0.4, 0.7, 1, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.5, 2, 3, 7])
def test_rows_around_vectors_of_bytes(ratio, op, dtype):
    """The sources of a vector's results lie in one vector, 16 by 16 bytes, or too far apart."""
    for w in (1, 2, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 100, 128, 129, 191, 257, 300, 700):
        x = elements(dtype, (1, 2, 2, 3, 2 * round(w / ratio) or 2))[..., ::2]
        assert bits(getattr(up, op)(x, (2, 5, w))) == bits(picked(op, x, (2, 5, w))), w


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4"])
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("channels", [1, 2, 3])
def test_rows_that_shrink_to_fewer_results_than_asked_for(op, dtype, channels):
    """By a given scale: the last results with sources are no multiple of a vector."""
    random = np.random.default_rng(channels)
    cases = [(44, 22, 0.473039), (115, 56, 0.470455), (25, 13, 0.45383), (15, 8, 0.390715)]
    for scale in random.uniform(0.3, 0.65, 150):
        w = int(random.integers(8, 200))
        cases.append((w, max(1, int(w * scale) + int(random.integers(0, 4))), float(scale)))
    for w, o, scale in cases:
        x = placed(elements(dtype, (1, channels, 1, 1, w)), (0, 2, 3, 4, 1))
        scales = None, None, scale
        got = getattr(up, op)(x, (1, 1, o), scales)
        assert bits(got) == bits(picked(op, x, (1, 1, o), scales)), (w, o, scale)


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "i8", "c16"])
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("channels", [1, 2, 5, 16, 33])
def test_any_layout_of_source_and_result(op, dtype, channels):
    sizes = [((3, 2, 17), (5, 4, 34)), ((4, 5, 6), (9, 5, 6)), ((6, 7, 40), (7, 9, 97))]
    for (i, o), order, out_order, step in itertools.product(sizes, ORDERS, ORDERS, [1, 3]):
        x = elements(dtype, (2, channels, *i))
        out = placed(np.zeros((2, channels, *o), dtype), out_order, step)
        assert getattr(up, op)(placed(x, order, step), o, out=out) is out
        assert bits(out) == bits(picked(op, x, o)), (i, o, order, out_order, step)


@pytest.mark.parametrize("dtype", ["?", "u1", "u2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("scales", [(1.5, 1.7, 1.3), (0.7, 0.6, 0.9), (0.1, 2, 2), (2, 2, 0.01)])
def test_outputs_outside_every_window_are_zero(op, dtype, scales):
    for order, o in itertools.product(ORDERS, [(8, 9, 70), (4, 7, 11)]):
        x = placed(elements(dtype, (2, 3, 4, 7, 11)), order)
        for out in (None, *(placed(np.zeros((2, 3, *o), dtype), order) for order in ORDERS)):
            got = getattr(up, op)(x, o, scales, out=out)
            assert bits(got) == bits(picked(op, x, o, scales)), (o, order)


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8", "c16"])
@pytest.mark.parametrize("order", [ORDERS[0], ORDERS[2]])
@pytest.mark.parametrize("scales", [None, (1.9, 1.9, 1.9)])
def test_large_results_go_past_the_cache(dtype, order, scales):
    x = elements(dtype, (1, 2, 40, 30, 140 + 8 // np.dtype(dtype).itemsize))
    o = tuple(2 * size for size in x.shape[2:])
    o = (o[0] * max(1, 8 // x.itemsize), *o[1:])
    scales = scales and (scales[0] * max(1, 8 // x.itemsize), *scales[1:])
    plan = up.Plan("nearest_exact", x.shape, dtype, output_size=o, scales=scales)
    assert plan.schedule.tiles.stream
    got = up.nearest_exact(placed(x, order), o, scales)
    assert bits(got) == bits(picked("nearest_exact", x, o, scales or (None, None, None)))


@pytest.mark.parametrize("sch_id", [1, 2, 3])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_any_schedule_and_threads(sch_id, threads):
    i, o = (20, 33, 18), (41, 50, 37)
    for dtype, order in itertools.product(["u1", "u2", "f4", "f8", "c16"], ORDERS):
        x = elements(dtype, (2, 3, *i))
        lies = placed(x, order)
        plan = up.Plan("nearest", x.shape, dtype, strides=lies.strides, output_size=o,
                       schedule=sch_id, num_threads=threads)  # fmt: skip
        assert bits(plan(lies)) == bits(picked("nearest", x, o)), order


def test_broadcast_and_backward_sources():
    x = elements("u1", (2, 3, 4, 5, 36))
    for view in (x[:, :, ::-1, ::-2, ::-1], np.broadcast_to(x[:, :1, :1], (2, 3, 4, 5, 36))):
        o = (9, 7, 70)
        assert bits(up.nearest(view, o)) == bits(picked("nearest", view, o))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", OPS)
def test_masks_hold_their_labels_and_no_others(op, dtype):
    ends = np.iinfo(dtype)
    labels = np.array([ends.min, ends.min + 1, 0, 1, 2, ends.max - 1, ends.max], dtype)
    x = np.random.default_rng(0).choice(labels, (1, 1, 6, 7, 8))
    got = getattr(up, op)(x, scales=2)
    assert bits(np.unique(got)) == bits(np.unique(labels))
    assert bits(got) == bits(x.repeat(2, 2).repeat(2, 3).repeat(2, 4))


def test_packed_sources_of_every_size():
    """Rows that are not contiguous are turned by blocks, and elements of one byte too."""
    for dtype in ("u1", "u2", "f4", "f8"):
        x = elements(dtype, (1, 1, 37, 70, 45))
        lies = placed(x, (0, 1, 4, 3, 2))
        plan = up.Plan("nearest", x.shape, dtype, strides=lies.strides, scales=2)
        assert plan.schedule.tiles.pack
        assert bits(plan(lies)) == bits(picked("nearest", x, plan.out_shape[2:]))


@pytest.mark.parametrize(
    ("dtype", "told"),
    [
        ("O", "object"), (">i2", ">i2"), (">f4", ">f4"), (">c8", ">c8"), ("S3", "S3"),
        ("S32", "S32"), ([("r", "u1"), ("g", "u1")], "('r', 'u1')"),
        (np.dtype(("u1", (4,))), "wanted plain"),
        ("nonsense", "nonsense"),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("op", OPS)
def test_what_cannot_be_moved_is_refused(op, dtype, told):
    with pytest.raises(up.ParameterTypeError, match="1, 2, 4, 8 or 16 bytes in native") as caught:
        up.Plan(op, (1, 1, 2, 2, 2), dtype, scales=2)
    assert told in str(caught.value)


def test_strings_of_variable_length_are_refused():
    x = np.full((1, 1, 2, 2, 2), "a", np.dtypes.StringDType()) if hasattr(
        np.dtypes, "StringDType"
    ) else np.full((1, 1, 2, 2, 2), "a", object)  # fmt: skip
    with pytest.raises(up.ParameterTypeError, match="native byte order"):
        up.nearest(x, scales=2)


@pytest.mark.parametrize("op", ["trilinear", "nearest_backward", "trilinear_backward"])
def test_other_ops_compute_and_take_four_types(op):
    with pytest.raises(up.ParameterTypeError, match="wanted float32 or"):
        up.Plan(op, (1, 1, 4, 4, 4), "i2", input_size=(1, 1, 4, 4, 4), output_size=(4, 4, 4))


PROGRAM = """
import numpy as np, upsample3d as up
for dtype in ("u1", "u2", "f4", "f8", "c16"):
    for w in (*range(1, 20), 31, 32, 33, 63, 65, 130):
        n = 4 * 5 * w * 3 * np.dtype(dtype).itemsize
        x = (np.arange(n) * 7 % 251).astype("u1").view(dtype).reshape(1, 3, 4, 5, w)
        for view in (x, x.transpose(0, 1, 4, 3, 2), np.moveaxis(x.reshape(1, 4, 5, w, 3), -1, 1)):
            o = [2 * size + 1 for size in view.shape[2:]]
            for op in ("nearest", "nearest_exact"):
                d, h, w = (up.bands(op, *axis).lo for axis in zip(view.shape[2:], o))
                wanted = view[:, :, d][:, :, :, h][..., w]
                assert getattr(up, op)(view, o).tobytes() == wanted.tobytes()
"""


@pytest.mark.parametrize("level", up.build_info()["levels"])
def test_every_level(level):
    subprocess.run(
        [sys.executable, "-c", PROGRAM], check=True, env=os.environ | {"UPSAMPLE3D_LEVEL": level}
    )
