# SPDX-License-Identifier: Apache-2.0
"""Tensors of any memory, of subclasses, and out=, with the override on, against it off."""

from __future__ import annotations

import itertools

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from aten_calls import LAST, MODES, PLAIN, aten, backward, corners, forward, integers  # noqa: E402

import upsample3d.torch as backend  # noqa: E402

VIEWS = {
    "expanded": lambda g: g[:1, :1, :1, :1, :1].expand(g.shape),
    "expanded_channels": lambda g: g[:, :1].expand(g.shape),
    "sliced": lambda g: torch.cat([g, g], 4)[..., 3 : 3 + g.shape[4]],
    "every_second": lambda g: torch.stack([g, -g], 5)[..., 0],
    "transposed": lambda g: g.transpose(2, 4).contiguous().transpose(2, 4),
    "batch_last": lambda g: g.permute(1, 2, 3, 4, 0).contiguous().permute(4, 0, 1, 2, 3),
    "sliced_channels_last": lambda g: torch.cat([g, g], 1).contiguous(memory_format=LAST)[:, 1:4],
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("mode", MODES)
def test_any_strides_without_a_copy(mode, view, runs):
    g = VIEWS[view](integers(2, 3, 8, 6, 4))
    arguments = (list(g.shape[2:]), [2, 3, 4, 3, 2], *corners(mode), 2.0, 2.0, 2.0)
    wanted = backward(mode)(g, *arguments)
    with backend.enabled():
        found = backward(mode)(g, *arguments)
        with torch.profiler.profile() as profile:
            backward(mode)(g, *arguments)
    assert torch.equal(found, wanted)
    assert len(runs) == 2
    copies = {"aten::copy_", "aten::clone", "aten::_to_copy"}
    assert not copies & {event.name for event in profile.events()}


AMBIGUOUS = [(2, 1, 4, 5, 6), (2, 3, 1, 1, 1), (1, 1, 1, 1, 1), (1, 3, 1, 1, 4), (1, 2, 3, 1, 1)]


@pytest.mark.parametrize("shape", AMBIGUOUS, ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_shapes_whose_memory_format_is_ambiguous(mode, shape, runs):
    """Strides are stock's: of trilinear in both directions, of nearest forward."""
    for x in (integers(*shape), integers(*shape, memory_format=LAST)):
        size = [2 * n for n in shape[2:]]
        arguments = (size, shape, *corners(mode), None, None, None)
        y = forward(mode)(x, size, *corners(mode))
        trilinear = aten.upsample_trilinear3d_backward(y, size, shape, False)
        plain = backward(mode)(y, *arguments)
        with backend.enabled():
            assert forward(mode)(x, size, *corners(mode)).stride() == y.stride()
            found = backward(mode)(y, *arguments)
        assert len(runs) == 2
        runs.clear()
        assert torch.equal(found, plain)
        assert found.stride() == trilinear.stride()


def test_strict_strides_by_choice():
    g = integers(1, 3, 4, 4, 4, memory_format=LAST)
    for mode, keep in itertools.product(MODES, (True, False)):
        arguments = ([4, 4, 4], [1, 3, 2, 2, 2], *corners(mode), 2.0, 2.0, 2.0)
        stock = backward(mode)(g, *arguments)
        with backend.enabled(keep_format=keep):
            found = backward(mode)(g, *arguments)
            fake = backward(mode)(g.to("meta"), *arguments)
        assert found.stride() == fake.stride()
        assert torch.equal(found, stock)
        if keep:
            assert found.is_contiguous(memory_format=LAST)
        else:
            assert found.stride() == stock.stride()


@pytest.mark.skipif(not hasattr(torch.library, "get_kernel"), reason="out= stays stock's there")
@pytest.mark.parametrize("mode", MODES)
def test_out_overloads(mode, runs):
    x, g = integers(2, 3, 2, 3, 4), integers(2, 3, 4, 6, 8)
    sizes = [4, 6, 8], [2, 3, 2, 3, 4]
    scales = (*corners(mode), 2.0, 2.0, 2.0)
    y, stock = forward(mode)(x, sizes[0], *scales), backward(mode)(g, *sizes, *scales)
    for memory_format in (PLAIN, LAST):
        out = torch.empty_like(y, memory_format=memory_format)
        grad_input = torch.empty_like(stock, memory_format=memory_format)
        with backend.enabled():
            assert forward(mode).out(x, sizes[0], *scales, out=out) is out
            assert backward(mode).grad_input(g, *sizes, *scales, grad_input=grad_input) is (
                grad_input
            )
        assert torch.equal(out, y)
        assert torch.equal(grad_input, stock)
    assert len(runs) == 4
    with torch.no_grad(), backend.enabled():
        leaf = torch.empty_like(y, requires_grad=True)
        assert torch.equal(forward(mode).out(x.requires_grad_(), sizes[0], *scales, out=leaf), y)
        x.requires_grad_(False)
    assert len(runs) == 5
    with backend.enabled():
        resized = backward(mode).grad_input(g, *sizes, *scales, grad_input=torch.empty(0))
        assert torch.equal(resized, stock)
        with pytest.raises(RuntimeError, match="dtype"):
            forward(mode).out(x, sizes[0], *scales, out=torch.empty(0, dtype=torch.float64))
        whole = torch.zeros(2, 3, 4, 6, 8)
        over = whole[:, :, :2, :3, :4]  # lies over its source
        backward(mode).grad_input(whole, *sizes, *scales, grad_input=over)
        assert torch.equal(over, torch.zeros_like(over))
    assert len(runs) == 5


@pytest.mark.skipif(not hasattr(torch.library, "get_kernel"), reason="out= stays stock's there")
def test_out_in_any_memory(runs):
    """Where out lies over its source, in storages of their own too, or is not aligned: stock's."""
    x = integers(1, 2, 3, 2, 2)
    wanted = aten.upsample_nearest3d(x, [6, 4, 4])

    def up(source, out):
        with backend.enabled():
            aten.upsample_nearest3d.out(source, [6, 4, 4], out=out)
        return len(runs)

    memory = torch.zeros(300)
    ahead, whole, behind = memory[8:32], memory[32:224], memory[224:248]
    for source in (ahead, behind):
        out = whole.view(wanted.shape)
        assert up(source.view(x.shape).copy_(x), out) == 1
        assert torch.equal(out, wanted)
        runs.clear()
    for begin in (9, 33, 128, 223):
        source = memory[begin : begin + 24]
        for shared in (source, torch.from_numpy(source.numpy())):
            assert up(shared.view(x.shape), whole.view(wanted.shape)) == 0
    out = torch.frombuffer(bytearray(800), dtype=torch.float32, offset=1, count=192)
    assert up(x, out.view(wanted.shape)) == 0
    assert torch.equal(out.view(wanted.shape), wanted)


def test_negative_views_and_zero_tensors():
    z = torch.complex(integers(1, 2, 4, 4, 4), integers(1, 2, 4, 4, 4) + 1)
    g = z.conj().imag
    assert g.is_neg()
    zero = torch._efficientzerotensor((1, 2, 4, 4, 4))
    for mode in MODES:
        arguments = ([4, 4, 4], [1, 2, 2, 2, 2], *corners(mode))
        wanted = [backward(mode)(each, *arguments) for each in (g, zero)]
        with backend.enabled():
            found = [backward(mode)(each, *arguments) for each in (g, zero)]
        assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))


def test_subclasses_and_default_devices_are_left_alone(runs):
    class Named(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, arguments=(), options=None):
            calls.append(getattr(function, "__name__", str(function)))
            return super().__torch_function__(function, types, arguments, options)

    calls: list[str] = []
    x = integers(1, 2, 2, 2, 2).as_subclass(Named).requires_grad_()
    with torch.device("meta"), backend.enabled():
        y = F.interpolate(x, scale_factor=2)
        y.sum().backward()
    assert runs == ["nearest", "nearest_backward"]
    assert y.device.type == "cpu"
    assert not {"data_ptr", "stride"} & set(calls)
    assert torch.equal(x.grad, torch.full_like(x, 8))


@pytest.mark.parametrize("mode", MODES)
def test_subclasses_see_no_more_than_from_stock(mode, runs):
    """Neither their __torch_function__ nor their methods: PyTorch's kernels are not in Python."""

    class Nosy(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, arguments=(), options=None):
            calls.append(getattr(function, "__name__", str(function)))
            return super().__torch_function__(function, types, arguments, options)

        def stride(self, *axes):
            calls.append("my stride")
            return super().stride(*axes)

    def step():
        """As when a hook makes the gradient a subclass: autograd runs the kernel on it."""
        x = integers(1, 2, 2, 2, 2).requires_grad_()
        y = F.interpolate(x, scale_factor=2, mode=mode)
        y.register_hook(lambda g: g.as_subclass(Nosy))
        (gradient,) = torch.autograd.grad(y, x, torch.ones_like(y))
        out = torch.zeros(1, 2, 4, 4, 4).as_subclass(Nosy)
        assert forward(mode).out(x.detach(), [4, 4, 4], *corners(mode), out=out) is out
        return gradient, out

    calls: list[str] = []
    wanted = step()
    by_stock = calls.copy()
    calls.clear()
    with backend.enabled():
        found = step()
    assert calls == by_stock
    assert runs[:2] == [mode.replace("-", "_"), mode.replace("-", "_") + "_backward"]
    for a, b in zip(found, wanted, strict=True):
        assert type(a) is type(b)
        torch.testing.assert_close(a, b)
