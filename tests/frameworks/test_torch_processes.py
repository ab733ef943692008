# SPDX-License-Identifier: Apache-2.0
"""The override in processes of their own: workers, forks, any order of imports, warnings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")


def python(code: str, **environment: str) -> str:
    """What a program prints; one that hangs fails."""
    run = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True,
        text=True, timeout=120,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_silent_but_for_other_warnings():
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
