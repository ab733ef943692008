# SPDX-License-Identifier: Apache-2.0
"""The override in odd circumstances, against the stock kernels: modes, wrappers, memory, floats."""

from __future__ import annotations

import copy
import functools
import itertools
import pickle
import threading

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

import upsample3d.torch as backend  # noqa: E402
from upsample3d.frameworks import torch_run  # noqa: E402
from upsample3d.geometry.kinds import OPERATIONS  # noqa: E402

LAST, PLAIN = torch.channels_last_3d, torch.contiguous_format
MODES = ("nearest", "nearest-exact", "trilinear")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def forward(mode):
    return getattr(torch.ops.aten, OPERATIONS[mode.replace("-", "_")].aten)


def backward(mode):
    return getattr(torch.ops.aten, OPERATIONS[mode.replace("-", "_") + "_backward"].aten)


def corners(mode):
    return (False,) if mode == "trilinear" else ()


def integers(*shape, dtype=torch.float32, memory_format=PLAIN):
    """Small integers: their sums are exact in every type."""
    found = torch.randint(-4, 5, shape, generator=torch.Generator().manual_seed(5)).to(dtype)
    return found.contiguous(memory_format=memory_format)


# ---- What PyTorch's users do with tensors and modules ----


class Wrapper(torch.Tensor):
    """A tensor without memory, around one that has some."""

    @staticmethod
    def __new__(cls, inner):
        found = torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, device=inner.device, strides=inner.stride()
        )
        found.inner = inner
        return found

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), options=None):
        plain = [each.inner if isinstance(each, Wrapper) else each for each in arguments]
        found = function(*plain, **(options or {}))
        return cls(found) if isinstance(found, torch.Tensor) else found


def twice_differentiated(up):
    x = integers(2, 3, 3, 2, 4, dtype=torch.float64).requires_grad_()
    (first,) = torch.autograd.grad(up(x).pow(3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.square().sum(), x, create_graph=True)
    return first, second, *torch.autograd.grad(second.sum(), x)


def from_a_result(up):
    x = integers(1, 4, 3, 2, 4, memory_format=LAST).requires_grad_()
    h = x * 2
    h.retain_grad()
    up(h).square().sum().backward()
    return x.grad, h.grad


def in_inference_mode(up):
    with torch.inference_mode():
        x = integers(1, 2, 3, 2, 4)
        found = up(x)
    weight = torch.ones(1, requires_grad=True)
    (up(x) * weight).sum().backward()
    return found, up(x), weight.grad


def copied_modules(up):
    module = torch.nn.Sequential(torch.nn.ConstantPad3d(1, 2.0), Upsample(up))
    x = integers(1, 2, 3, 2, 4)
    return module(x), copy.deepcopy(module)(x), pickle.loads(pickle.dumps(module))(x)


class Upsample(torch.nn.Module):
    def __init__(self, up):
        super().__init__()
        self.mode = up.keywords["mode"]

    def forward(self, x):
        return F.interpolate(x, scale_factor=1.5, mode=self.mode)


def traced(up):
    x = integers(1, 2, 2, 2, 4)
    return torch.jit.trace(Upsample(up), x)(x + 1), torch.func.functionalize(up)(x)


def checkpointed(up):
    x = integers(1, 2, 3, 2, 4).requires_grad_()
    again = torch.utils.checkpoint.checkpoint
    again(lambda x: up(x).sin(), x, use_reentrant=False).sum().backward()
    return (x.grad,)


def wrapped(up):
    found = up(Wrapper(integers(1, 5, 3, 2, 4, memory_format=LAST)))
    return type(found) is Wrapper, found.inner


def on_meta(up):
    x = integers(1, 5, 3, 2, 4, memory_format=LAST).to("meta").requires_grad_()
    return up(x).stride(), up(x).shape


def of_lazy_copies(up):
    x = integers(1, 2, 3, 2, 4)
    y = torch._lazy_clone(x)
    found = up(y)
    y.add_(1)
    return found, up(y), x


def in_threads(up):
    found = {}

    def work(k):
        x = integers(1, 2, 3 + k, 2, 4).requires_grad_()
        up(x).sum().backward()
        found[k] = x.grad

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[k] for k in range(4)]


def in_ambiguous_and_empty_shapes(up):
    for n, c, memory_format in itertools.product((0, 1, 2), (0, 1, 4), (PLAIN, LAST)):
        for d, h, w in ((3, 4, 5), (1, 1, 1), (1, 3, 1), (2, 1, 3)):
            x = integers(n, c, d, h, w, memory_format=memory_format).requires_grad_()
            try:
                y = up(x)
            except RuntimeError as error:
                yield str(error).splitlines()[0]
                continue
            yield from (y, y.stride(), *torch.autograd.grad(y, x, torch.ones_like(y)))


def of_what_is_not_strided(up):
    x = integers(1, 2, 3, 2, 4)
    nested = torch.nested.nested_tensor([x[0], x[0]])
    for each in (x.to_sparse(), x.to_mkldnn(), nested):
        with pytest.raises(Exception) as error:  # noqa: PT011
            up(each)
        yield type(error.value)


CASES = [
    twice_differentiated, from_a_result, in_inference_mode, copied_modules, traced, checkpointed,
    wrapped, on_meta, of_lazy_copies, in_threads, in_ambiguous_and_empty_shapes,
    of_what_is_not_strided,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")  # of what PyTorch has deprecated, or not finished
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("mode", MODES)
def test_as_from_the_stock_kernels(mode, case, runs):
    up = functools.partial(F.interpolate, scale_factor=1.5, mode=mode)
    stock = list(case(up))
    assert not runs
    with backend.enabled():
        found = list(case(up))
    assert bool(runs) == (case not in (on_meta, of_what_is_not_strided))
    assert len(found) == len(stock)
    for a, b in zip(found, stock, strict=True):
        if isinstance(a, torch.Tensor):
            assert a.is_inference() == b.is_inference()
            torch.testing.assert_close(a, b)
        else:
            assert a == b


# ---- Floating-point modes ----


@pytest.mark.parametrize("mode", MODES)
def test_denormal_numbers_are_kept(mode):
    """Whatever set_flush_denormal says, which PyTorch's trilinear kernels follow."""
    x = torch.full((1, 2, 2, 2, 2), 2.0**-140)
    g = torch.full((1, 2, 4, 4, 4), 2.0**-140)
    arguments = ([4, 4, 4], [1, 2, 2, 2, 2], *corners(mode))
    wanted = forward(mode)(x, [4, 4, 4], *corners(mode)), backward(mode)(g, *arguments)
    assert torch.equal(wanted[1], torch.full_like(x, 2.0**-137))
    try:
        torch.set_flush_denormal(True)
        with backend.enabled():
            found = forward(mode)(x, [4, 4, 4], *corners(mode)), backward(mode)(g, *arguments)
    finally:
        torch.set_flush_denormal(False)
    assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize("mode", MODES)
def test_scales_are_read_whatever_set_flush_denormal_says(mode, runs):
    """Of some the reciprocal is denormal, or they are themselves."""
    scales = (1e38, 3e38, 8.5e37, 1e-38, 3e-39, 1.7)

    def answers():
        torch_run._prepare.cache_clear()
        for scale, dtype in itertools.product(scales, (torch.float32, torch.float64)):
            x = integers(1, 2, 2, 3, 2, dtype=dtype)
            g = integers(1, 2, 4, 4, 4, dtype=dtype)
            each = (*corners(mode), scale, None, scale)
            yield forward(mode)(x, [4, 4, 4], *each)
            yield backward(mode)(g, [4, 4, 4], [1, 2, 2, 3, 2], *each)

    with backend.enabled():
        wanted = list(answers())
        assert len(runs) == len(wanted) == 24
        try:
            torch.set_flush_denormal(True)
            found = list(answers())
        finally:
            torch.set_flush_denormal(False)
    assert len(runs) == 2 * 24
    assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))


# ---- Memory ----


@pytest.mark.parametrize("left", [0, 40])
@pytest.mark.parametrize("mode", MODES)
def test_memory_that_was_taken_away_is_not_read(mode, left, runs):
    """As sharded training frees it: PyTorch's error."""
    x = integers(1, 2, 3, 3, 3)
    x.untyped_storage().resize_(left)
    with pytest.raises(RuntimeError, match="out of bounds for storage"):
        F.interpolate(x, size=4, mode=mode)
    with backend.enabled(), pytest.raises(RuntimeError, match="out of bounds for storage"):
        F.interpolate(x, size=4, mode=mode)
    with pytest.raises(RuntimeError, match="out of bounds for storage"):
        backend.interpolate(x, size=4, mode=mode)
    assert not runs
    x.untyped_storage().resize_(54 * 4)
    with backend.enabled():
        F.interpolate(x, size=4, mode=mode)
    assert len(runs) == 1
