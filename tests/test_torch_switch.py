# SPDX-License-Identifier: Apache-2.0
"""The override on and off: twice, nested, in threads, after a fork, in any order of imports."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

import upsample3d.torch as backend  # noqa: E402

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
    found = []
    for name in OVERLOADS:
        for line in torch._C._dispatch_dump(f"aten::{name}").splitlines():
            if line.startswith(("CPU:", "Meta:")) and backend.__file__ in line:
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

    meta = backend._meta
    monkeypatch.setattr(backend, "_meta", fails)
    for _ in range(2):
        with pytest.raises(MemoryError):
            backend.enable()
        assert python_kernels() == []
    monkeypatch.setattr(backend, "_meta", meta)
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


def test_silent_but_for_other_warnings(ours):
    code = """
import warnings, torch
warnings.simplefilter("error")
import upsample3d.torch as backend
backend.enable()
backend.disable()
torch.set_warn_always(True)
with backend.enabled():
    pass
assert warnings.filters[0][:3] == ("error", None, Warning)
library = torch.library.Library("aten", "IMPL")
try:
    library.impl("upsample_nearest3d", lambda *a: 0, "CPU")
except UserWarning:
    print("others still warn")
"""
    assert python(code) == "others still warn"


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


# ---- Other processes ----


def python(code: str, **environment: str) -> str:
    """What a program prints; one that hangs fails."""
    run = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True,
        text=True, timeout=120,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_without_the_allocator_of_compiled_code():
    """A private function of PyTorch's, which a version may lack."""
    code = """
import torch
del torch._C._dynamo.guards._empty_strided_cpu
import upsample3d.torch as backend
g = torch.ones(1, 2, 4, 4, 4, dtype=torch.float64).contiguous(memory_format=torch.channels_last_3d)
with backend.enabled(), torch.device("meta"):
    x = torch.ops.aten.upsample_nearest3d_backward(g, [4, 4, 4], [1, 2, 2, 2, 2])
print(x.device, x.dtype, x.stride(), bool((x == 8).all()))
"""
    assert python(code) == "cpu torch.float64 (16, 1, 8, 4, 2) True"


def test_upsample3d_alone_does_not_import_torch():
    code = """
import sys, upsample3d
assert "torch" not in sys.modules and "upsample3d.torch" not in sys.modules
print("fine")
"""
    assert python(code) == "fine"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.skipif(
    any(Path(torch.__file__).parent.glob("lib/libgomp-*")), reason="a wheel with a renamed libgomp"
)
@pytest.mark.parametrize("first", ["import torch, upsample3d", "import upsample3d, torch"])
def test_one_openmp_runtime_whoever_is_imported_first(first):
    code = f"""
{first}
import upsample3d.torch as backend
backend.enable()
x = torch.ones(1, 8, 32, 32, 32, requires_grad=True)
y = torch.nn.functional.interpolate(x, scale_factor=2, mode="trilinear")
y.backward(torch.ones_like(y))
assert (x.grad == 8).all()
(x.detach() @ x.detach().mT).sum()
files = {{line.split()[-1] for line in open("/proc/self/maps") if "omp" in line.split("/")[-1]}}
print(sum("libgomp" in name or "libomp" in name or "libiomp" in name for name in files))
"""
    assert python(code) == "1"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_forked_workers_of_a_dataloader_after_use():
    code = """
import warnings, torch
import upsample3d.torch as backend
warnings.simplefilter("ignore")
class Volumes(torch.utils.data.Dataset):
    def __len__(self): return 6
    def __getitem__(self, k):
        x = torch.full((1, 8, 32, 32, 32), float(k), requires_grad=True)
        y = torch.nn.functional.interpolate(x, scale_factor=2, mode="trilinear")
        y.sum().backward()
        return y.mean().detach(), x.grad.mean()
backend.enable()
wanted = [Volumes()[k] for k in range(6)]
loader = torch.utils.data.DataLoader(
    Volumes(), batch_size=1, num_workers=2, multiprocessing_context="fork")
found = [(float(a), float(b)) for a, b in loader]
assert found == [(float(a), float(b)) for a, b in wanted] == [(k, 8.0) for k in range(6)]
print("fine")
"""
    assert python(code, OMP_NUM_THREADS="4") == "fine"


WORKERS = """
import sys, warnings, torch
import upsample3d.torch as backend
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_all_start_methods, get_context
from torch.utils.data import DataLoader

warnings.simplefilter("ignore")

# An infinity times a weight of zero is a NaN from PyTorch's kernel, and none from ours.
def gradient(k):
    g = torch.rand(1, 2, 4, 4, 4, generator=torch.Generator().manual_seed(k))
    g[0, 0, 0, 0, 0] = torch.inf
    return torch.ops.aten.upsample_trilinear3d_backward(g, [4, 4, 4], [1, 2, 2, 2, 2], False)

class Volumes(torch.utils.data.Dataset):
    def __len__(self): return 3
    def __getitem__(self, k): return gradient(k)

def spawned(k, out):
    backend.enable_worker()
    out[k] = gradient(k)

def same(found, wanted):
    return all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))

if __name__ == "__main__":
    stock = [gradient(k) for k in range(3)]
    with backend.enabled():
        ours = [gradient(k) for k in range(3)]
    assert all(a.isnan().any() and not b.isnan().any() for a, b in zip(stock, ours))

    def load(method, init=None):
        return list(DataLoader(Volumes(), batch_size=None, num_workers=1, worker_init_fn=init,
                               multiprocessing_context=method))

    for method in get_all_start_methods():
        assert same(load(method, backend.enable_worker), ours), method
    backend.enable()
    assert not same(load("spawn"), ours)
    assert "fork" not in get_all_start_methods() or same(load("fork"), ours)
    with ProcessPoolExecutor(1, get_context("spawn"), backend.enable_worker) as pool:
        assert same(pool.map(gradient, range(3)), ours)
    out = torch.zeros(1, *ours[0].shape).share_memory_()
    torch.multiprocessing.spawn(spawned, (out,))
    assert same(out, ours[:1])
    print("fine")
"""


def test_workers_however_they_are_started(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(WORKERS)
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "fine\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_fork_while_another_thread_switches():
    """The child can switch, too: it is not left a lock, or half of the kernels."""
    code = """
import os, threading, time, warnings, torch
import upsample3d.torch as backend
warnings.simplefilter("ignore")
torch.set_num_threads(1)
def switch():
    while not stop.is_set():
        with backend.enabled():
            pass
stop = threading.Event()
thread = threading.Thread(target=switch)
thread.start()
late = time.monotonic() + 100  # a child that hangs is killed, or it would outlive the test
ends = []
for _ in range(20):
    child = os.fork()
    if child == 0:
        with backend.enabled():
            y = torch.nn.functional.interpolate(torch.ones(1, 1, 2, 2, 2), scale_factor=2)
        os._exit(0 if (y == 1).all() else 1)
    while (end := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < late:
        time.sleep(0.002)
    if end == (0, 0):
        os.kill(child, 9)
        end = os.waitpid(child, 0)
    ends.append(end[1])
stop.set()
thread.join()
print(sum(ends))
"""
    assert python(code) == "0"


def test_warnings_of_others_are_not_touched():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with backend.enabled():
            warnings.warn("mine", stacklevel=1)
    assert [str(warning.message) for warning in seen] == ["mine"]
