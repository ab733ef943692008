# SPDX-License-Identifier: Apache-2.0
"""The override index for index over sizes and scales, and trilinear in bounds, against stock."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import oracle
import pytest

torch = pytest.importorskip("torch")

import upsample3d.torch as backend  # noqa: E402
from upsample3d.frameworks import torch_run  # noqa: E402
from upsample3d.geometry.kinds import bands  # noqa: E402

LAST, PLAIN = torch.channels_last_3d, torch.contiguous_format
aten = torch.ops.aten
NEAREST = {
    "nearest": (aten.upsample_nearest3d, aten.upsample_nearest3d_backward),
    "nearest_exact": (aten._upsample_nearest_exact3d, aten._upsample_nearest_exact3d_backward),
}
SCALES = (1.1, 1.25, 1.3, 1.5, 1.7, 2.0, 2.3, 2.5, 0.7)
PAIRS = [(i, o, None) for i in range(1, 129) for o in range(1, 129)]
SCALED = [(i, int(i * s), s) for s in SCALES for i in range(1, 129) if int(i * s)]
SAMPLE = PAIRS[::37] + SCALED[::5] + [(2, 41, None), (2, 61, None), (5, 1, None)]
ROWS = 32  # so that the worst error of a size is not luck
EVERY = pytest.param(PAIRS + SCALED, marks=pytest.mark.slow, id="every")
CASES = pytest.mark.parametrize("cases", [pytest.param(SAMPLE, id="sample"), EVERY])


pytestmark = pytest.mark.usefixtures("one_thread")


def both(op, *arguments):
    """(ours, stock's)."""
    stock = op(*arguments)
    with backend.enabled():
        return op(*arguments), stock


def answers(cases, ask):
    """[(case, ours, stock's)]. The override is switched once, for switching is slow."""
    stock = [ask(*case) for case in cases]
    with backend.enabled():
        return list(zip(cases, [ask(*case) for case in cases], stock, strict=True))


# PyTorch has two kernels of each nearest op forward: one for channels-last memory of more than
# three channels, and another. They disagree for float64, with given scales, and where products and
# sums are fused.
KERNELS = {"NCDHW": (8, PLAIN), "NDHWC, C = 3": (3, LAST), "NDHWC": (8, LAST)}
EACH = pytest.mark.parametrize("kernel", KERNELS)
TYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["f32", "f64"])


def line(values, kernel, axis=4):
    """Rows [c, n] as a source of a kernel's channels and memory, along one axis."""
    channels, memory_format = KERNELS[kernel]
    shape = [1, channels, 1, 1, 1]
    shape[axis] = values.shape[1]
    rows = [values[k % len(values)] for k in range(channels)]
    return torch.stack(rows).reshape(shape).contiguous(memory_format=memory_format)


@EACH
@TYPES
@CASES
@pytest.mark.parametrize("mode", NEAREST)
def test_nearest_gradients_are_stock_s(mode, cases, dtype, kernel):
    def ask(i, o, s):
        # Ones count an input's outputs; the squares, summed exactly below 2^24, tell which.
        g = line(torch.stack([torch.ones(o), torch.arange(o).float() ** 2]).to(dtype), kernel)
        return NEAREST[mode][1](g, [1, 1, o], [1, g.shape[1], 1, 1, i], None, None, s)

    for case, ours, stock in answers(cases, ask):
        assert torch.equal(ours, stock), case


@EACH
@TYPES
@CASES
@pytest.mark.parametrize("mode", NEAREST)
def test_nearest_results_are_stock_s(mode, cases, dtype, kernel):
    def ask(i, o, s):
        x = line(torch.stack([torch.arange(i), torch.arange(i) ** 2]).to(dtype), kernel)
        return NEAREST[mode][0](x, [1, 1, o], None, None, s)

    for case, ours, stock in answers(cases, ask):
        assert torch.equal(ours, stock), case


@EACH
@TYPES
@pytest.mark.parametrize("mode", NEAREST)
def test_every_index_up_to_100_is_stock_s(mode, dtype, kernel):
    """By the rule that the switch chooses: 10,000 pairs of sizes, of which its plans are few."""
    wide = "float64" if dtype is torch.float64 else "float32"
    for i in range(1, 101):
        x = line(torch.arange(i)[None].to(dtype), kernel)
        rule = torch_run.rule_of(mode, dtype, tuple(x.shape), x.stride())
        for o in range(1, 101):
            stock = NEAREST[mode][0](x, [1, 1, o])[0, -1, 0, 0].double().numpy()
            found = bands(mode, i, o, rule=rule, dtype=wide).lo
            assert np.array_equal(found, stock), (i, o)


REPORTED = [  # (op, dtype, kernel, in, out, x): where the float32 of one kernel is not the other's
    ("nearest", torch.float64, "NDHWC", 2, 94, 47),
    ("nearest_exact", torch.float64, "NDHWC", 2, 61, 30),
    ("nearest_exact", torch.float32, "NCDHW", 2, 41, 20),
    ("nearest_exact", torch.float32, "NDHWC, C = 3", 2, 41, 20),
    ("nearest_exact", torch.bfloat16, "NCDHW", 2, 41, 20),
]


@pytest.mark.parametrize(("mode", "dtype", "kernel", "i", "o", "at"), REPORTED, ids=str)
@pytest.mark.parametrize("axis", [2, 3, 4])
def test_reported_indices(mode, dtype, kernel, i, o, at, axis):
    x = line(torch.arange(i)[None].to(dtype), kernel, axis)
    size = [1, 1, 1]
    size[axis - 2] = o
    ours, stock = both(NEAREST[mode][0], x, size)
    assert torch.equal(ours, stock)
    other = dict(zip(KERNELS, ("NDHWC", "NDHWC", "NCDHW"), strict=True))[kernel]
    y = line(torch.arange(i)[None].to(dtype), other, axis)
    theirs, stock = both(NEAREST[mode][0], y, size)
    assert torch.equal(theirs, stock)
    differ = (ours[0, 0] != theirs[0, 0]).flatten().nonzero().flatten().tolist()
    assert differ == ([at] if dtype is torch.float64 or torch_run._fuses() else [])


def test_kernels_that_are_not_fused_are_followed_too():
    """PyTorch's default level, wherever these tests run, in a process of its own."""
    code = """
import torch, upsample3d.torch
op = torch.ops.aten._upsample_nearest_exact3d
x = torch.arange(2.).reshape(1, 1, 1, 1, 2)
stock = op(x, [1, 1, 41])
with upsample3d.torch.enabled():
    print(torch.equal(op(x, [1, 1, 41]), stock))
"""
    run = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "ATEN_CPU_CAPABILITY": "default"},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert run.stdout.strip() == "True", run.stderr


def magnitude(x, i, o, s, align_corners, backward):
    """(fp64 answer, sum |w x|, terms) along W with PyTorch's float32 weights, from the oracle."""
    op = "trilinear_backward" if backward else "trilinear"
    m = oracle.matrix(op, i, o, s, align_corners, "torch")
    m = m if backward else m.T
    terms = (m != 0).sum(axis=0)
    return x.astype(np.float64) @ m, np.abs(x).astype(np.float64) @ m, terms


@CASES
@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("align_corners", [False, True])
def test_trilinear_is_within_rounding_of_stock(align_corners, backward, cases):
    """|ours - stock| <= n 2^-23 sum |w g|; against fp64, stock's worst and an ulp, but for luck.

    Forward this holds for every size. Of the 35,070 gradients it does for all but 13, in each of
    which a single element of up to 1,248 is off by 1.8 to 3.1 ulp of sum |w g| where stock's worst
    is 0.5 to 1.7; in 14 others it is stock whose worst is more than an ulp beyond ours. What stock
    does otherwise, and that nothing else differs, says the next test.
    """
    random = np.random.default_rng(2)

    def source(i, o):
        return random_of[i, o]

    random_of = {
        (i, o): random.standard_normal((ROWS, o if backward else i)).astype(np.float32)
        for i, o, _ in cases
    }

    def ask(i, o, s):
        x = torch.from_numpy(source(i, o)).reshape(ROWS, 1, 1, 1, -1)
        if backward:
            size = [ROWS, 1, 1, 1, i]
            return aten.upsample_trilinear3d_backward(
                x, [1, 1, o], size, align_corners, None, None, s
            )
        return aten.upsample_trilinear3d(x, [1, 1, o], align_corners, None, None, s)

    excess = []
    for (i, o, s), ours, stock in answers(cases, ask):
        truth, total, terms = magnitude(source(i, o), i, o, s, align_corners, backward)
        a, b = (each.reshape(ROWS, -1).double().numpy() for each in (ours, stock))
        assert (np.abs(a - b) <= terms * 2.0**-23 * total).all(), (i, o, s)
        ulp = np.spacing(total.astype(np.float32)).astype(np.float64)
        beyond = np.abs(a - truth) / ulp - np.max(np.abs(b - truth) / ulp)
        assert np.sum(beyond > 1) <= backward, (i, o, s)
        excess.append(np.max(beyond))
    assert np.sum(np.array(excess) > 1) <= max(1, len(cases) / 2000)
    assert np.mean(excess) < 0.2
    assert np.max(excess) < 2.5


def sums(x, m, fused):
    """x m in float32, ascending; products round before they are added, or, fused, do not."""
    found = np.zeros((len(x), m.shape[1]), np.float32)
    for element, row in zip(x.T, m, strict=True):
        (reached,) = np.nonzero(row)
        products = element[:, None].astype(np.float64) * row[reached]  # exact
        if not fused:
            products = products.astype(np.float32)
        found[:, reached] = (found[:, reached] + products.astype(np.float64)).astype(np.float32)
    return found


@CASES
@pytest.mark.parametrize("align_corners", [False, True])
def test_trilinear_gradients_are_stock_s_but_for_fused_products(align_corners, cases):
    """Along one axis both are, to the bit, the same sums: of rounded products ours, as they are the
    same on every CPU; of unrounded ones stock's, whose compiler makes FMAs of them (but at the last
    input, to which stock adds some outputs in two parts)."""
    random = np.random.default_rng(2)
    source = {(i, o): random.standard_normal((4, o)).astype(np.float32) for i, o, _ in cases}

    def ask(i, o, s):
        g = torch.from_numpy(source[i, o]).reshape(4, 1, 1, 1, o)
        return aten.upsample_trilinear3d_backward(
            g, [1, 1, o], [4, 1, 1, 1, i], align_corners, None, None, s
        )

    fuses = torch.backends.cpu.get_cpu_capability() != "DEFAULT"
    for (i, o, s), *found in answers(cases, ask):
        ours, stock = (each.reshape(4, i).numpy() for each in found)
        m = oracle.matrix("trilinear_backward", i, o, s, align_corners, "torch")
        assert (ours == sums(source[i, o], m, fused=False)).all(), (i, o, s)
        if fuses:
            assert (stock == sums(source[i, o], m, fused=True))[:, :-1].all(), (i, o, s)


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last_3d])
@pytest.mark.parametrize("align_corners", [False, True])
def test_trilinear_in_three_dimensions(align_corners, memory_format):
    random = np.random.default_rng(4)
    for i, o in (((8, 8, 8), (16, 16, 16)), ((5, 9, 4), (11, 7, 9)), ((16, 5, 33), (7, 5, 64))):
        g = random.standard_normal((2, 3, *o)).astype(np.float32)
        truth = oracle.answer("trilinear_backward", g, i, o, None, align_corners, "torch")
        tensor = torch.from_numpy(g).contiguous(memory_format=memory_format)
        ours, stock = both(aten.upsample_trilinear3d_backward, tensor, o, (2, 3, *i), align_corners)
        a, b = ours.double().numpy(), stock.double().numpy()
        windows = [
            (oracle.matrix("trilinear_backward", *axis, None, align_corners, "torch") != 0).sum(0)
            for axis in zip(i, o, strict=True)
        ]
        n = windows[0][:, None, None] * windows[1][:, None] * windows[2]
        assert (np.abs(a - b) <= n * 2.0**-23 * truth.magnitude).all()
        ulp = np.spacing(truth.magnitude.astype(np.float32)).astype(np.float64)
        error = [np.max(np.abs(each - truth.value) / ulp) for each in (a, b)]
        assert error[0] <= error[1] + 1


@pytest.mark.parametrize("mode", ["nearest", "nearest_exact", "trilinear"])
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last_3d])
def test_what_is_not_finite_is_not_in_stock_either(mode, memory_format):
    random = np.random.default_rng(8)
    trilinear = aten.upsample_trilinear3d, aten.upsample_trilinear3d_backward
    forward, backward = NEAREST.get(mode, trilinear)
    for corners in ((False,), (True,)) if mode == "trilinear" else ((),):
        for i, o in (((4, 4, 4), (8, 8, 8)), ((3, 5, 7), (7, 5, 3)), ((2, 1, 6), (4, 3, 9))):
            for special in (math.inf, -math.inf, math.nan):
                for op, shape, sizes in (
                    (forward, i, ([*o],)), (backward, o, ([*o], [1, 2, *i])),
                ):  # fmt: skip
                    x = random.standard_normal((1, 2, *shape)).astype(np.float32)
                    x.flat[random.integers(0, x.size, 3)] = special
                    x = torch.from_numpy(x).contiguous(memory_format=memory_format)
                    ours, stock = both(op, x, *sizes, *corners)
                    assert not (~ours.isfinite() & stock.isfinite()).any()
                    assert not ours.isfinite().all() or stock.isfinite().all() or min(i) < 4
                    both_finite = ours.isfinite() & stock.isfinite()
                    torch.testing.assert_close(ours[both_finite], stock[both_finite])


@pytest.mark.parametrize("align_corners", [False, True])
def test_given_scales_drive_each_axis(align_corners):
    """Three different scales, sizes that disagree with them: stock's answer, whatever it is."""
    x = torch.randint(-4, 5, (1, 2, 4, 6, 5), generator=torch.Generator().manual_seed(1)).float()
    for scales in ((1.3, 2.3, 0.7), (None, 100.0, 0.1), (-1.0, 1.25, None)):
        for o in ((5, 13, 3), (4, 12, 10)):
            ours, stock = both(aten.upsample_trilinear3d, x, o, align_corners, *scales)
            torch.testing.assert_close(ours, stock, atol=1e-5, rtol=1e-5)
            for mode, (forward, backward) in NEAREST.items():
                ours, stock = both(forward, x, o, *scales)
                assert torch.equal(ours, stock), mode
                g = torch.ones_like(stock)
                ours, stock = both(backward, g, o, x.shape, *scales)
                assert torch.equal(ours, stock), mode
