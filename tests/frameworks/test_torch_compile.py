# SPDX-License-Identifier: Apache-2.0
"""Compiled code: what torch.compile does with the custom operators, and with the override."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch._dynamo")
pytest.importorskip("torch._inductor.config")

import torch.nn.functional as F  # noqa: E402

import upsample3d.torch as backend  # noqa: E402

# PyTorch's compiler warns about itself.
pytestmark = pytest.mark.filterwarnings("ignore")

LAST, PLAIN = torch.channels_last_3d, torch.contiguous_format
FORMATS = pytest.mark.parametrize("memory_format", [PLAIN, LAST], ids=["NCDHW", "NDHWC"])
MODES = ("nearest", "nearest-exact", "trilinear")


@pytest.fixture(autouse=True)
def runs(runs, one_thread):
    """In every test; nothing compiled is reused."""
    torch._dynamo.reset()
    with torch._inductor.config.patch(force_disable_caches=True, compile_threads=1):
        yield runs
    torch._dynamo.reset()


class Decoder(torch.nn.Module):
    """A decoder's step: convolve, up-sample by an interpolate, convolve."""

    def __init__(self, interpolate, mode):
        super().__init__()
        torch.manual_seed(0)
        self.before, self.after = torch.nn.Conv3d(3, 4, 1), torch.nn.Conv3d(4, 2, 3, padding=1)
        self.interpolate, self.mode = interpolate, mode

    def forward(self, x):
        x = self.interpolate(self.before(x).relu(), scale_factor=2, mode=self.mode)
        return self.after(x.sigmoid())


def step(module, x):
    """(output, gradients of the parameters and of x), and forget them."""
    x = x.detach().clone().requires_grad_()
    y = module(x)
    y.square().sum().backward()
    found = [y.detach(), x.grad, *(p.grad for p in module.parameters())]
    for parameter in module.parameters():
        parameter.grad = None
    return found


@pytest.mark.long
@FORMATS
@pytest.mark.parametrize("mode", MODES)
def test_inductor_runs_our_forward_and_backward(mode, memory_format, runs):
    x = torch.randn(1, 3, 4, 3, 5).contiguous(memory_format=memory_format)
    wanted = step(Decoder(F.interpolate, mode).to(memory_format=memory_format), x)
    module = Decoder(backend.interpolate, mode).to(memory_format=memory_format)
    compiled = torch.compile(module, fullgraph=True)
    found = step(compiled, x)
    ours = mode.replace("-", "_")
    assert runs == [ours, ours + "_backward"]
    found = step(compiled, x)
    assert len(runs) == 4
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)
    assert found[1].is_contiguous(memory_format=memory_format)


@pytest.mark.long
@pytest.mark.skipif(not hasattr(torch.library, "register_vmap"), reason="guards fail in 2.4")
def test_dynamic_shapes(runs):
    compiled = torch.compile(
        lambda x: backend.interpolate(x, scale_factor=1.7, mode="trilinear") * 2,
        fullgraph=True, dynamic=True,
    )  # fmt: skip
    with torch._dynamo.config.patch(error_on_recompile=True):
        for size in (4, 7, 9):
            x = torch.randn(2, 3, size, size + 1, 6, requires_grad=True)
            y = x.detach().requires_grad_()
            stock = F.interpolate(y, scale_factor=1.7, mode="trilinear") * 2
            g = torch.randn_like(stock)
            compiled(x).backward(g)
            stock.backward(g)
            torch.testing.assert_close(x.grad, y.grad, atol=1e-4, rtol=1e-4)
    assert len(runs) == 6


def operator_calls():
    x = torch.randn(1, 2, 3, 2, 4, dtype=torch.float64)
    y = torch.randn(1, 2, 6, 4, 8, dtype=torch.float64)
    for memory_format in (PLAIN, LAST):
        for mode in ("nearest", "nearest_exact", "trilinear"):
            rest = (False, 2.0, None, 2.0) if mode == "trilinear" else (2.0, None, 2.0)
            a = x.contiguous(memory_format=memory_format).requires_grad_()
            b = y.contiguous(memory_format=memory_format).requires_grad_()
            ops = torch.ops.upsample3d
            yield getattr(ops, mode).default, (a, [6, 4, 8], *rest)
            yield getattr(ops, mode + "_backward").default, (b, [6, 4, 8], list(x.shape), *rest)


@pytest.mark.parametrize("k", range(12))
def test_opcheck(k):
    op, arguments = list(operator_calls())[k]
    found = torch.library.opcheck(op, arguments)
    assert set(found.values()) == {"SUCCESS"}
    assert len(found) == 4


def test_fake_kernels_refuse_what_has_not_five_dimensions():
    with pytest.raises(RuntimeError, match="wanted a 5-D tensor"):
        torch.ops.upsample3d.nearest(torch.empty(1, 2, 3, 3, device="meta"), [6, 6, 6])


def named(mode):
    """A function whose graph names the backward op itself, which eager code never compiles."""
    op = {
        "nearest": torch.ops.aten.upsample_nearest3d_backward,
        "nearest-exact": torch.ops.aten._upsample_nearest_exact3d_backward,
        "trilinear": torch.ops.aten.upsample_trilinear3d_backward,
    }[mode]
    corners = (False,) if mode == "trilinear" else ()

    def f(g):
        return op(g.relu(), [4, 4, 4], [1, 3, 2, 2, 2], *corners) * 2

    return f


@FORMATS
@pytest.mark.parametrize("keep", [True, False], ids=["keep_format", "strict"])
@pytest.mark.parametrize("mode", MODES)
def test_graphs_that_name_the_backward_op_agree_on_strides(mode, keep, memory_format, runs):
    g = torch.randn(1, 3, 4, 4, 4).contiguous(memory_format=memory_format)
    f = named(mode)
    wanted = f(g)
    torch.compile(f, fullgraph=True)(g)  # what stock's fake tensors say must not be remembered
    torch._dynamo.reset()
    with backend.enabled(keep_format=keep):
        found = torch.compile(f, fullgraph=True)(g)
        eager = f(g)
    torch.testing.assert_close(found, wanted)
    assert found.stride() == eager.stride()
    assert len(runs) == 2
    torch._dynamo.reset()
    found = torch.compile(f, fullgraph=True)(g)
    assert found.stride() == wanted.stride()


def test_strict_strides_hold_for_graphs_of_either_time(runs):
    """A graph compiled while the override was off runs while it is on, and the other way round."""
    g = torch.randn(1, 3, 4, 4, 4).contiguous(memory_format=LAST)
    compiled = torch.compile(named("nearest"), fullgraph=True)
    wanted = compiled(g)
    with backend.enabled(keep_format=False):
        torch.testing.assert_close(compiled(g), wanted)
        assert len(runs) == 1
        torch._dynamo.reset()
        torch.testing.assert_close(compiled(g), wanted)
    torch.testing.assert_close(compiled(g), wanted)


def test_compiled_f_interpolate_is_not_reached_and_not_broken(runs):
    """docs/torch.md: torch.compile takes F.interpolate apart before kernels are looked up."""
    x = torch.randn(1, 3, 3, 3, 3).contiguous(memory_format=LAST)
    wanted = step(Decoder(F.interpolate, "trilinear"), x)
    with backend.enabled():
        found = step(torch.compile(Decoder(F.interpolate, "trilinear"), fullgraph=True), x)
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)
    assert not runs


def test_export(runs):
    module = Decoder(backend.interpolate, "trilinear")
    x = torch.randn(1, 3, 3, 3, 3)
    exported = torch.export.export(module, (x,))
    assert "upsample3d.trilinear" in exported.graph_module.code
    torch.testing.assert_close(exported.module()(x), module(x))
