# SPDX-License-Identifier: Apache-2.0
"""aten's operators of three dimensions, by mode, and tensors for them."""

from __future__ import annotations

import torch

aten = torch.ops.aten
LAST, PLAIN = torch.channels_last_3d, torch.contiguous_format
MODES = ("nearest", "nearest-exact", "trilinear")
NAMES = {
    "nearest": "upsample_nearest3d",
    "nearest-exact": "_upsample_nearest_exact3d",
    "trilinear": "upsample_trilinear3d",
}


def forward(mode):
    return getattr(aten, NAMES[mode])


def backward(mode):
    return getattr(aten, NAMES[mode] + "_backward")


def corners(mode):
    return (False,) if mode == "trilinear" else ()


def integers(*shape, dtype=torch.float32, memory_format=PLAIN):
    """Small integers: their sums are exact in every type."""
    found = torch.randint(-4, 5, shape, generator=torch.Generator().manual_seed(5)).to(dtype)
    return found.contiguous(memory_format=memory_format)
