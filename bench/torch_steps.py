# SPDX-License-Identifier: Apache-2.0
"""PyTorch with and without upsample3d.torch, in turn: `python bench/torch_steps.py --help`.

ops: F.interpolate and its backward, (1, 16, 32^3 -> 64^3) and smaller, float32. Each round runs the
stock kernels, ours, and two overrides that do no work: one hands out fresh results, the other also
writes them once, as page faults are PyTorch's. networks: training steps of MONAI's SegResNet
(`pip install monai`) and of a decoder as nnU-Net has it; the profiler says what up-sampling takes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import upsample3d.torch
from upsample3d.frameworks.torch_run import memory_format

NAMES = ("upsample_nearest3d", "_upsample_nearest_exact3d", "upsample_trilinear3d")
FORMATS = {"NCDHW": torch.contiguous_format, "NDHWC": torch.channels_last_3d}


@contextmanager
def nothing(write: bool):
    """An override that does no work, but for writing its results once where `write` says so."""

    def made(source, size):
        result = torch.empty(tuple(size), memory_format=memory_format(source))
        return result.fill_(1) if write else result

    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in NAMES:
            library.impl(name, lambda x, size, *_: made(x, (*x.shape[:2], *size)), "CPU")
            library.impl(f"{name}_backward", lambda g, _, size, *rest: made(g, size), "CPU")
    try:
        yield
    finally:
        library._destroy()


SIDES: dict[str, Callable] = {
    "stock": nullcontext,
    "ours": upsample3d.torch.enabled,
    "fresh": lambda: nothing(False),
    "written": lambda: nothing(True),
}


def in_turn(work: Callable[[], object], rounds: int, sides=tuple(SIDES)) -> dict[str, np.ndarray]:
    """Seconds per call of each side, [round]."""
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(rounds):
        for side in sides:
            with SIDES[side]():
                begin = time.perf_counter()
                work()
                repeats = max(1, int(0.02 / (time.perf_counter() - begin)))
                for _ in range(
                    repeats
                ):  # a switch leaves the heap in pieces: results are new pages
                    work()
                begin = time.perf_counter()
                for _ in range(repeats):
                    work()
                seconds[side].append((time.perf_counter() - begin) / repeats)
    return {side: np.array(found) for side, found in seconds.items()}


def ops(rounds: int) -> None:
    for mode in ("trilinear", "nearest", "nearest-exact"):
        for name, format_ in FORMATS.items():
            for shape in ((1, 16, 32, 32, 32), (1, 2, 3, 3, 3), (1, 1, 1, 1, 1)):
                x = torch.rand(shape).contiguous(memory_format=format_).requires_grad_()
                y = F.interpolate(x, scale_factor=2, mode=mode)
                g = torch.rand(y.shape).contiguous(memory_format=format_)

                def backward(x=x, y=y, g=g):
                    torch.autograd.grad(y, x, g, retain_graph=True)

                def both(x=x, g=g, mode=mode):
                    F.interpolate(x, scale_factor=2, mode=mode).backward(g)
                    x.grad = None

                one, two = in_turn(backward, rounds), in_turn(both, rounds)
                print(
                    f"{mode:13} {name} {shape[1:3]!s:8}"
                    f" backward {np.median(one['ours']) * 1e6:9.1f} us, stock"
                    f" {np.median(one['stock'] / one['ours']):6.2f}x | both"
                    f" {np.median(two['ours']) * 1e6:9.1f} us, stock"
                    f" {np.median(two['stock'] / two['ours']):6.2f}x, fresh"
                    f" {np.median(two['fresh'] / two['ours']):5.2f}x, written"
                    f" {np.median(two['written'] / two['ours']):5.2f}x",
                    flush=True,
                )


class Decoder(nn.Module):
    """Two stages of a decoder as nnU-Net has them: up-sample, join the skip, convolve twice."""

    def __init__(self, mode: str = "trilinear", channels: tuple[int, ...] = (64, 32, 16)) -> None:
        super().__init__()
        self.mode, stages = mode, []
        for wide, narrow in pairwise(channels):
            stages.append(
                nn.Sequential(
                    nn.Conv3d(wide + narrow, narrow, 3, padding=1),
                    nn.InstanceNorm3d(narrow, affine=True),
                    nn.LeakyReLU(0.01),
                    nn.Conv3d(narrow, narrow, 3, padding=1),
                    nn.InstanceNorm3d(narrow, affine=True),
                    nn.LeakyReLU(0.01),
                )
            )
        self.stages, self.head = nn.ModuleList(stages), nn.Conv3d(channels[-1], 3, 1)
        self.channels = channels

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for stage in self.stages:
            x = F.interpolate(x, scale_factor=2, mode=self.mode)
            skip = torch.ones(len(x), stage[0].out_channels, *x.shape[2:])
            x = stage(torch.cat([x, skip], 1))
        return self.head(x)


def segresnet() -> nn.Module:
    from monai.networks.nets import SegResNet

    return SegResNet(
        spatial_dims=3, init_filters=16, in_channels=1, out_channels=3,
        blocks_down=(1, 2, 2, 4), blocks_up=(1, 1, 1), upsample_mode="nontrainable",
    )  # fmt: skip


def losses(network: nn.Module, x: torch.Tensor, steps: int) -> list[float]:
    """Losses of `steps` steps of SGD."""
    found, optimizer = [], torch.optim.SGD(network.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = network(x).square().mean()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def share(work: Callable[[], object]) -> float:
    """How much of the CPU time PyTorch's up-sampling operators take, forward and backward."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        work()
    rows = profile.key_averages()
    up = sum(row.cpu_time_total for row in rows if row.key.removeprefix("aten::") in ASIDE)
    return up / sum(row.self_cpu_time_total for row in rows)


ASIDE = {name + end for name in NAMES for end in ("", "_backward")}


def networks(rounds: int) -> None:
    made = {
        "SegResNet, 1 x 1 x 64^3": (segresnet, (1, 1, 64, 64, 64)),
        "decoder, 1 x 64 x 16^3": (Decoder, (1, 64, 16, 16, 16)),
    }
    for name, (make, shape) in made.items():
        for layout, format_ in FORMATS.items():
            torch.manual_seed(0)
            network = make().to(memory_format=format_)
            start = {key: value.clone() for key, value in network.state_dict().items()}
            x = torch.rand(shape).contiguous(memory_format=format_)
            found, shares = {}, {}
            for side in ("stock", "ours"):
                network.load_state_dict(start)
                with SIDES[side]():
                    found[side] = losses(network, x, 3)
                    shares[side] = share(lambda: losses(network, x, 1))  # noqa: B023
            seconds = in_turn(lambda: losses(network, x, 1), rounds, ("stock", "ours"))  # noqa: B023
            off = max(abs(a - b) for a, b in zip(found["stock"], found["ours"], strict=True))
            print(
                f"{name:24} {layout} step {np.median(seconds['ours']) * 1e3:7.1f} ms, stock"
                f" {np.median(seconds['stock'] / seconds['ours']):5.2f}x; up-sampling"
                f" {shares['stock']:.1%} -> {shares['ours']:.1%}; losses differ by {off:.1e}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "what", nargs="*", default=["ops", "networks"], help="ops, networks or both"
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    for what in asked.what:
        {"ops": ops, "networks": networks}[what](asked.rounds)


if __name__ == "__main__":
    main()
