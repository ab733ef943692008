# SPDX-License-Identifier: Apache-2.0
"""aten's operators with the override on, against the same operators with it off."""

from __future__ import annotations

import pytest

import upsample3d.plan.plan

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from aten_calls import LAST, MODES, PLAIN, backward, corners, integers  # noqa: E402

import upsample3d.torch as backend  # noqa: E402

DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


def close(ours, stock, magnitude, terms):
    """Trilinear: `terms` products of three rounded weights, added in another order, and stored.

    stock: in float32 where ours has 16 bits, for stock forward ops round each of their three steps.
    """
    unit = torch.finfo(stock.dtype).eps
    store = torch.finfo(ours.dtype).eps / 2 * stock.double().abs()
    bound = 2 * (terms + 3) * unit * magnitude.double() + store
    return bool(((ours.double() - stock.double()).abs() <= bound).all())


def wide(x):
    """x in float32 if it has 16 bits."""
    return x.float() if x.dtype.itemsize == 2 else x


@pytest.mark.parametrize("memory_format", [PLAIN, LAST], ids=["NCDHW", "NDHWC"])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: str(dtype)[6:])
@pytest.mark.parametrize("mode", MODES)
def test_interpolate_and_its_gradient(mode, dtype, memory_format, runs):
    ours = mode.replace("-", "_")
    for asked in ({"size": (8, 3, 13)}, {"scale_factor": 2}, {"scale_factor": (1.7, 0.6, 2.3)}):
        x = integers(2, 3, 4, 5, 6, dtype=dtype, memory_format=memory_format).requires_grad_()
        stock = F.interpolate(x, mode=mode, **asked)
        g = torch.ones_like(stock) * 3  # sums of up to 27 of them are exact in bfloat16
        (stock_gradient,) = torch.autograd.grad(stock, x, g)
        with backend.enabled():
            found = F.interpolate(x, mode=mode, **asked)
            (gradient,) = torch.autograd.grad(found, x, g)
        assert runs == [ours, ours + "_backward"]
        runs.clear()
        assert found.dtype is gradient.dtype is dtype
        assert found.stride() == stock.stride()
        assert gradient.is_contiguous(memory_format=memory_format)
        if mode == "trilinear":
            x = wide(x)
            stock = F.interpolate(x, mode=mode, **asked)
            (stock_gradient,) = torch.autograd.grad(stock, x, wide(g))
            assert close(found, stock, torch.full_like(stock, 4), 8)
            assert close(gradient, stock_gradient, stock_gradient.abs(), 200)
        else:
            assert torch.equal(found, stock)
            assert torch.equal(gradient, stock_gradient)


REFUSED = {
    "shape": lambda op: op(torch.ones(1, 2, 4, 4, 5), [4, 4, 4], [1, 2, 2, 2, 2]),
    "channels": lambda op: op(torch.ones(1, 2, 4, 4, 4), [4, 4, 4], [1, 3, 2, 2, 2]),
    "dimensions": lambda op: op(torch.ones(2, 4, 4, 4), [4, 4, 4], [1, 2, 2, 2, 2]),
    "sizes": lambda op: op(torch.ones(1, 2, 4, 4, 4), [4, 4], [1, 2, 2, 2, 2]),
    "no_depth": lambda op: op(torch.ones(1, 2, 0, 4, 4), [0, 4, 4], [1, 2, 2, 2, 2]),
    "negative": lambda op: op(torch.ones(1, 2, 4, 4, 4), [4, 4, 4], [1, 2, -2, 2, 2]),
    "integers": lambda op: op(torch.ones(1, 2, 4, 4, 4).long(), [4, 4, 4], [1, 2, 2, 2, 2]),
    "complex": lambda op: op(torch.ones(1, 2, 4, 4, 4) + 1j, [4, 4, 4], [1, 2, 2, 2, 2]),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("mode", MODES)
def test_what_is_refused_gets_the_stock_kernel_s_error(mode, case):
    def op(g, output_size, input_size):
        return backward(mode)(g, output_size, input_size, *corners(mode))

    with pytest.raises(RuntimeError) as stock:
        REFUSED[case](op)
    with backend.enabled(), pytest.raises(type(stock.value)) as ours:
        REFUSED[case](op)
    assert str(ours.value).splitlines()[0] == str(stock.value).splitlines()[0]


@pytest.mark.parametrize("mode", MODES)
def test_empty_tensors_and_other_types_and_scales_get_the_stock_kernel(mode, runs):
    def answers():
        x = torch.ones(0, 2, 2, 2, 2, requires_grad=True)
        y = F.interpolate(x, scale_factor=2, mode=mode)
        y.sum().backward()
        yield from (y, x.grad)
        g = torch.ones(2, 0, 4, 4, 4)
        yield backward(mode)(g, [4, 4, 4], [2, 0, 2, 2, 2], *corners(mode))
        for scale in (1e-50, float("inf"), float("nan"), -1.0):
            scales = (scale, None, None)
            g = integers(1, 2, 4, 4, 4, memory_format=LAST)
            yield backward(mode)(g, [4, 4, 4], [1, 2, 2, 2, 2], *corners(mode), *scales)
        if mode != "trilinear":
            yield F.interpolate(integers(1, 2, 2, 2, 2, dtype=torch.uint8), size=3, mode=mode)

    stock = list(answers())
    with backend.enabled():
        ours = list(answers())
    assert all(torch.equal(a, b) for a, b in zip(ours, stock, strict=True))
    assert len(runs) == 2  # a scale that is not given: NaN and -1


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # nearest-exact, stock too
@pytest.mark.parametrize("mode", MODES)
def test_second_derivatives_vmap_autocast(mode, runs):
    x = torch.rand(1, 2, 3, 4, 2, dtype=torch.float64, requires_grad=True)

    def f(x):
        return F.interpolate(x, scale_factor=2, mode=mode)

    def answers():
        (first,) = torch.autograd.grad(f(x).square().sum(), x, create_graph=True)
        yield first
        yield from torch.autograd.grad(first.square().sum(), x)
        yield torch.func.vmap(torch.func.grad(lambda x: f(x).square().sum()))(x[None] * 2)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            yield f(torch.nn.functional.conv3d(x.float(), torch.ones(2, 2, 1, 1, 1)))
            yield f(x.float())

    stock = list(answers())
    assert not runs
    with backend.enabled():
        found = list(answers())
    assert len(runs) >= 8
    for a, b in zip(found, stock, strict=True):
        assert a.dtype is b.dtype
        torch.testing.assert_close(a, b)


def test_threads_are_torch_s(monkeypatch):
    planned = []
    execute = upsample3d.plan.plan.Plan.execute

    def spy(plan, *arrays):
        planned.append(plan.schedule.threads)
        return execute(plan, *arrays)

    monkeypatch.setattr(upsample3d.plan.plan.Plan, "execute", spy)
    x, before = torch.ones(1, 4, 64, 64, 64), torch.get_num_threads()
    try:
        with backend.enabled():
            for threads in (1, 2):
                torch.set_num_threads(threads)
                F.interpolate(x, scale_factor=2)
    finally:
        torch.set_num_threads(before)
    assert planned == [1, min(2, upsample3d.get_num_threads())]
