# SPDX-License-Identifier: Apache-2.0
"""The override on and off: twice, nested, in threads, without what older versions lack."""

from __future__ import annotations

import inspect
import threading
import warnings

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

import upsample3d.torch as backend  # noqa: E402
from upsample3d.frameworks import torch_override  # noqa: E402

LAST = torch.channels_last_3d
OVERLOADS = [
    f"{name}{overload}"
    for name in ("upsample_nearest3d", "_upsample_nearest_exact3d", "upsample_trilinear3d")
    for overload in ("", ".out", "_backward", "_backward.grad_input")
]


@pytest.fixture
def ours(runs):
    """Whether a forward and backward call run on our kernels, both or neither."""

    def answer():
        runs.clear()
        x = torch.ones(1, 1, 2, 2, 2, requires_grad=True)
        F.interpolate(x, scale_factor=2, mode="trilinear").sum().backward()
        assert torch.equal(x.grad, torch.full_like(x, 8))
        assert len(runs) in (0, 2)
        return len(runs) == 2

    yield answer
    backend.disable()
    assert not answer()


def python_kernels():
    """The overloads whose CPU kernel, or Meta kernel, PyTorch says that the backend registered."""
    found, file = [], inspect.getsourcefile(backend.enable)
    for name in OVERLOADS:
        for line in torch._C._dispatch_dump(f"aten::{name}").splitlines():
            if line.startswith(("CPU:", "Meta:")) and file in line:
                found.append(f"{name} {line.split(':')[0]}")
    return found


@pytest.fixture
def alone(monkeypatch):
    """The threads that earlier tests left to PyTorch and others do not count."""
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    backend.disable()


def test_on_twice_and_off_twice(ours):
    assert not ours()
    backend.enable()
    backend.enable()
    assert ours()
    backend.disable()
    assert not ours()
    backend.disable()
    assert not ours()
    backend.enable()
    assert ours()


@pytest.mark.skipif(not hasattr(torch.library, "get_kernel"), reason="out= stays stock's there")
def test_every_overload_is_registered_and_gone_again(ours, alone):
    assert python_kernels() == []
    with backend.enabled():
        found = set(python_kernels())
        assert {f"{name} CPU" for name in OVERLOADS} <= found
        assert len(found) == 14  # and the Meta kernels of two gradients
    assert python_kernels() == []


def test_nested_contexts(ours):
    with backend.enabled():
        with backend.enabled():
            assert ours()
        assert ours()
    assert not ours()
    backend.enable()
    with backend.enabled():
        pass
    assert ours()
    with backend.enabled():
        backend.disable()
        assert not ours()
        with backend.enabled():
            assert ours()
        assert not ours()
    assert not ours()
    with backend.enabled():
        backend.disable()
        backend.enable()
    assert ours()


def test_an_exception_inside_switches_off(ours):
    def fails():
        with backend.enabled():
            assert ours()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert not ours()


def test_a_failed_registration_leaves_nothing(ours, alone, monkeypatch):
    def fails(stock):
        raise MemoryError

    meta = torch_override._meta
    monkeypatch.setattr(torch_override, "_meta", fails)
    for _ in range(2):
        with pytest.raises(MemoryError):
            backend.enable()
        assert python_kernels() == []
    monkeypatch.setattr(torch_override, "_meta", meta)
    with backend.enabled():
        assert ours()
    assert python_kernels() == []


def test_the_last_keep_format_counts(ours):
    def keeps():
        g = torch.ones(1, 2, 4, 4, 4).contiguous(memory_format=LAST)
        found = torch.ops.aten.upsample_nearest3d_backward(g, [4, 4, 4], [1, 2, 2, 2, 2])
        return found.is_contiguous(memory_format=LAST)

    assert not keeps()
    backend.enable()
    assert keeps()
    with backend.enabled(keep_format=False):
        assert not keeps()
        with backend.enabled():
            assert keeps()
        assert not keeps()
    assert keeps()
    backend.enable(keep_format=False)
    assert not keeps()


@pytest.mark.parametrize("hidden", ["get_kernel", "allow_override", "both"])
def test_without_what_older_versions_lack(ours, alone, monkeypatch, hidden):
    if hidden != "allow_override":
        monkeypatch.delattr(torch.library, "get_kernel", raising=False)
    if hidden != "get_kernel":
        impl = torch.library.Library.impl

        def older(self, op_name, fn, dispatch_key="", *, with_keyset=False):
            impl(self, op_name, fn, dispatch_key, with_keyset=with_keyset)

        monkeypatch.setattr(torch.library.Library, "impl", older)
    g = torch.rand(1, 2, 4, 4, 4).contiguous(memory_format=LAST)
    sizes = [4, 4, 4], [1, 2, 2, 2, 2]
    aten = torch.ops.aten
    wanted = aten.upsample_nearest3d_backward(g, *sizes)
    with backend.enabled():
        assert ours()
        into = any(".out" in name for name in python_kernels())
        assert into == (hidden == "allow_override" and hasattr(torch.library, "get_kernel"))
        found = aten.upsample_nearest3d_backward(g, *sizes)
        fake = aten.upsample_nearest3d_backward(g.to("meta"), *sizes)
        assert found.stride() == fake.stride() == (16, 1, 8, 4, 2)
        torch.testing.assert_close(found, wanted)
        into = aten.upsample_nearest3d_backward.grad_input(g, *sizes, grad_input=torch.empty(0))
        torch.testing.assert_close(into, wanted)
        with pytest.raises(RuntimeError, match="not implemented for 'Long'"):
            aten.upsample_trilinear3d_backward(g.long(), *sizes, False)
        with pytest.raises(RuntimeError, match="greater than 0"):
            aten.upsample_nearest3d(torch.ones(1, 1, 0, 2, 2), [2, 2, 2])
        assert aten.upsample_nearest3d(torch.ones(0, 1, 2, 2, 2), [4, 4, 4]).shape[0] == 0
        assert aten.upsample_nearest3d(g.to(torch.uint8), [2, 2, 2]).dtype == torch.uint8
    assert not ours()


def test_threads_that_call_while_others_switch(ours, monkeypatch):
    """As long as there are other threads kernels stay, and pass on."""
    x = torch.rand(1, 2, 4, 5, 6)
    wanted = F.interpolate(x, size=(8, 10, 13))
    wrong, stop = [], threading.Event()

    def call():
        torch.set_num_threads(1)
        try:
            while not stop.is_set():
                y = x.clone().requires_grad_()
                z = F.interpolate(y, size=(8, 10, 13))
                z.sum().backward()
                if not torch.equal(z, wanted) or y.grad.sum() != z.numel():
                    wrong.append(z)
        except BaseException as error:
            wrong.append(error)

    def switch():
        try:
            for _ in range(30):
                with backend.enabled():
                    F.interpolate(x, size=3)
        except BaseException as error:
            wrong.append(error)

    callers = [threading.Thread(target=call) for _ in range(4)]
    switchers = [threading.Thread(target=switch) for _ in range(2)]
    for thread in callers + switchers:
        thread.start()
    for thread in switchers:
        thread.join()
    stop.set()
    for thread in callers:
        thread.join()
    assert not wrong
    assert python_kernels() != []
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # of those that may call
    with backend.enabled():
        pass
    assert python_kernels() == []


def test_warnings_of_others_are_not_touched():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with backend.enabled():
            warnings.warn("mine", stacklevel=1)
    assert [str(warning.message) for warning in seen] == ["mine"]
