# SPDX-License-Identifier: Apache-2.0
"""rule="torch" against PyTorch's own kernels: nearest index for index, trilinear in bounds."""

import math

import differences
import numpy as np
import oracle
import pytest

import upsample3d as up

torch = pytest.importorskip("torch")

aten = torch.ops.aten
FORWARD = {
    "nearest": aten.upsample_nearest3d,
    "nearest_exact": aten._upsample_nearest_exact3d,
    "trilinear": aten.upsample_trilinear3d,
}
BACKWARD = {
    "nearest": aten.upsample_nearest3d_backward,
    "nearest_exact": aten._upsample_nearest_exact3d_backward,
    "trilinear": aten.upsample_trilinear3d_backward,
}
SHIFTS = {"nearest_exact": 0.5, "nearest": 0.0}
TO_40 = [(i, o, None) for i in range(1, 41) for o in range(1, 41)]
GIVEN = [
    (i, o, s)
    for s in (1.1, 1.2, 1.25, 1.295275651786123, 1.3, 1.5, 1.7, 2.0, 2.3, 2.5, 0.7, 0.1, 100.0)
    for i in (*range(1, 11), 16, 40)
    for o in sorted({max(1, math.floor(i * s)), i, 2 * i, 7})
    if o <= 200
]


def stock_forward(mode, x, o, scale, align_corners=()):
    """PyTorch's result along W for x, [N, i]: [N, o]. C = 1 keeps off its channels-last kernel."""
    line = torch.from_numpy(x)[:, None, None, None, :]
    return FORWARD[mode](line, [1, 1, o], *align_corners, None, None, scale)[:, 0, 0, 0].numpy()


def stock_backward(mode, g, i, scale, align_corners=()):
    """PyTorch's gradient along W for g, [N, o]: [N, i]."""
    n, o = g.shape
    line = torch.from_numpy(g)[:, None, None, None, :]
    size = [n, 1, 1, 1, i]
    return BACKWARD[mode](line, [1, 1, o], size, *align_corners, None, None, scale)[
        :, 0, 0, 0
    ].numpy()


def ours(op, x, i, scale, **options):
    """Our result along W for x, [N, source]: [N, result]; i: the result's length."""
    line = x[:, None, None, None, :]
    size = (len(x), 1, 1, 1, i) if op.endswith("_backward") else (1, 1, i)
    scales = (None, None, scale)
    return getattr(up, op)(line, size, scales, rule="torch", **options)[:, 0, 0, 0]


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Lines this short are slower with more."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["nearest", "nearest_exact"])
def test_nearest_gradients_index_for_index(mode, dtype):
    for i, o, scale in TO_40 + GIVEN:
        # Ones count an input's outputs; the squares, summed exactly below 2^24, tell which.
        g = np.stack([np.ones(o), np.arange(o) ** 2]).astype(dtype)
        got = ours(mode + "_backward", g, i, scale)
        assert np.array_equal(got, stock_backward(mode, g, i, scale)), (i, o, scale)


# PyTorch's AVX kernels fuse a multiply and an add that its default kernels and we round apart:
# (in, out) where one output of nearest-exact lands on the next input.
FUSED = {(2, 41), (2, 47), (2, 55), (2, 83), (2, 97), (2, 107), (2, 109), (2, 121), (2, 123)}


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["nearest", "nearest_exact"])
def test_nearest_results_index_for_index(mode, dtype):
    for i, o, scale in TO_40 + GIVEN:
        if mode == "nearest_exact" and (i, o) in FUSED:
            continue
        x = np.stack([np.arange(i), np.arange(i) ** 2]).astype(dtype)
        got = ours(mode, x, o, scale)
        assert np.array_equal(got, stock_forward(mode, x, o, scale)), (i, o, scale)


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("align_corners", [False, True])
def test_trilinear_weights(align_corners, dtype):
    # The position of an output is rounded three times by at most i eps / 2; fused on PyTorch's
    # AVX levels, not on its default one. A weight moves by as much.
    eps = np.finfo(dtype).eps
    options = {"align_corners": align_corners}
    for i, o, scale in TO_40[::3] + GIVEN[::3]:
        bound = 3 * i * eps
        got = ours("trilinear", np.eye(i, dtype=dtype), o, scale, **options)
        stock = stock_forward("trilinear", np.eye(i, dtype=dtype), o, scale, (align_corners,))
        assert (np.abs(got - stock) <= bound).all(), (i, o, scale)
        got = ours("trilinear_backward", np.eye(o, dtype=dtype), i, scale, **options)
        stock = stock_backward("trilinear", np.eye(o, dtype=dtype), i, scale, (align_corners,))
        assert (np.abs(got - stock) <= bound).all(), (i, o, scale)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize("mode", oracle.OPS)
def test_gradients_in_three_dimensions(mode, dtype, channels_last):
    random = np.random.default_rng(11)
    for i, o in [((2, 3, 5), (5, 4, 7)), ((3, 8, 9), (6, 5, 21)), ((7, 2, 33), (3, 4, 33))]:
        g = torch.from_numpy(random.integers(-4, 5, (2, 5, *o))).to(getattr(torch, dtype))
        if channels_last:
            g = g.contiguous(memory_format=torch.channels_last_3d)
        corners = (False,) if mode == "trilinear" else ()
        stock = BACKWARD[mode](g, list(o), [2, 5, *i], *corners, None, None, None)
        g, stock = as_numpy(g), as_numpy(stock)
        got = getattr(up, mode + "_backward")(g, (2, 5, *i), rule="torch")
        if mode != "trilinear":
            assert np.array_equal(got, stock), (i, o)
            continue
        # PyTorch adds the n = n_d n_h n_w products of three weights one by one, each position
        # moved by up to 3 i eps (above); both round once more when they store.
        bands = [up.bands("trilinear_backward", *size) for size in zip(i, o, strict=True)]
        n = np.prod([(band.hi - band.lo).max() for band in bands])
        eps = np.finfo(dtype if dtype == "float64" else "float32").eps
        truth = oracle.answer("trilinear_backward", g, i, o, rule="torch")
        store = truth.bound(dtype) + (n + 3) * eps * truth.magnitude
        moved = 3 * 3 * max(i) * eps * n * np.abs(g).max()
        error = np.abs(got.astype(np.float64) - stock.astype(np.float64))
        assert (error <= 2 * store + moved).all(), (i, o)


def as_numpy(tensor):
    """A tensor as an array, bfloat16 included."""
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(oracle.bfloat16)
    return tensor.numpy()


@pytest.mark.parametrize("scale", differences.GIVEN)
def test_how_often_the_rules_differ_with_a_given_scale(scale):
    """PyTorch's maps; and the operators' edges, ceil(k s - shift), as the oracle has them."""
    found = np.zeros(5, int)
    for i in range(1, 301):
        o = math.floor(i * scale)
        if o < 1:
            continue
        ones, numbers = np.ones((1, o), np.float32), np.arange(i, dtype=np.float32)[None]
        windows = {(m, s): stock_backward(m, ones, i, s)[0] for m in SHIFTS for s in (scale, None)}
        edges = {
            m: [oracle.window_edge(k, i, o, scale, shift) for k in range(i + 1)]
            for m, shift in SHIFTS.items()
        }
        exact, near = (windows[m, scale] for m in SHIFTS)
        found += [
            not np.array_equal(np.diff(edges["nearest_exact"]), exact),
            not np.array_equal(np.diff(edges["nearest"]), near),
            not np.array_equal(
                stock_forward("nearest", numbers, o, scale)[0],
                np.repeat(np.arange(i), near.astype(int)),
            ),
            not np.array_equal(windows["nearest_exact", None], exact),
            not np.array_equal(windows["nearest", None], near),
        ]
    assert tuple(found) == differences.GIVEN[scale]
