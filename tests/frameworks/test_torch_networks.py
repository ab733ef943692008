# SPDX-License-Identifier: Apache-2.0
"""Networks train the same with the override on: losses of three steps, and the kernels used."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import upsample3d.torch as backend  # noqa: E402

sys.path.append(str(Path(__file__).parent.parent.parent / "bench"))
import torch_steps  # noqa: E402

FORMATS = pytest.mark.parametrize("memory_format", torch_steps.FORMATS)


@pytest.fixture(autouse=True)
def runs(runs, one_thread):
    """In every test."""
    return runs


def both(network, x, runs):
    """Losses of three steps from the same weights, (stock's, ours)."""
    start = {key: value.clone() for key, value in network.state_dict().items()}
    stock = torch_steps.losses(network, x, 3)
    assert not runs
    network.load_state_dict(start)
    with backend.enabled():
        return stock, torch_steps.losses(network, x, 3)


@FORMATS
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "trilinear"])
def test_decoder_as_nnu_net_has_it(mode, memory_format, runs):
    torch.manual_seed(0)
    format_ = torch_steps.FORMATS[memory_format]
    network = torch_steps.Decoder(mode, (16, 8, 4)).to(memory_format=format_)
    x = torch.rand(1, 16, 5, 4, 6).contiguous(memory_format=format_).requires_grad_()
    stock, ours = both(network, x, runs)
    assert len(runs) == 3 * 2 * 2
    assert ours == pytest.approx(stock, abs=1e-5)
    assert stock[0] != stock[2]


@FORMATS
def test_segresnet(memory_format, runs):
    pytest.importorskip("monai.networks.nets", exc_type=ImportError)
    torch.manual_seed(0)
    format_ = torch_steps.FORMATS[memory_format]
    network = torch_steps.segresnet().to(memory_format=format_)
    x = torch.rand(1, 1, 16, 24, 16).contiguous(memory_format=format_)
    stock, ours = both(network, x, runs)
    assert len(runs) == 3 * 3 * 2
    assert ours == pytest.approx(stock, abs=1e-5)
    assert stock[0] != stock[2]
