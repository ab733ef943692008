# SPDX-License-Identifier: Apache-2.0
"""Numbers are judged alike in whatever floating-point mode their reader is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from modes import FTZ_DAZ, TO_ZERO, UPWARD, Mode, x86

import upsample3d as up
from upsample3d import aclnn, graph, reference, tiling
from upsample3d.cann.acl import AclTensor

pytestmark = x86

SIZE, SHAPE = (1, 1, 2, 3, 4), (1, 1, 4, 6, 8)
X = np.arange(24, dtype=np.float32).reshape(SIZE) - 12
G = np.arange(192, dtype=np.float32).reshape(SHAPE) - 96

SCALES = (
    1e38, 3e-39, 2.0**-127, 3.4e38, 3.5e38, 1e-45, 7e-46, 5e-324, 1.7e308, 2, 0.1 + 0.2, 49 / 300,
    np.float32(3e-39), np.float32(1e-45), np.float16(6e-8),
)  # fmt: skip
"""In float32 some of them, or their reciprocals, are denormal, and some are none."""


def signed(scales: Any) -> Any:
    grad_out, grad_input = AclTensor.from_array(G), AclTensor.from_array(np.zeros(SIZE, np.float32))
    return grad_out, SHAPE[2:], SIZE, *scales, grad_input


READERS: dict[str, Callable[[Any], Any]] = {
    "forward": lambda s: up.trilinear(X, SHAPE[2:], (2, s, 2)),
    "backward": lambda s: up.nearest_backward(G, SIZE, (2, 2, s)),
    "size": lambda s: up.nearest(X, scales=(s, 2, 2)).shape,
    "plan": lambda s: up.Plan("nearest", SIZE, "f4", output_size=SHAPE[2:], scales=s).spec,
    "bands": lambda s: up.bands("trilinear", 3, 6, s).lo,
    "reference": lambda s: reference.trilinear_backward(G, SIZE, (2, s, 2)),
    "device": lambda s: reference.nearest_backward(G, SIZE, (2, s, 2), order="device"),
    "aclnn": lambda s: aclnn.aclnnUpsampleTrilinear3dBackwardGetWorkspaceSize(
        *signed((False, 2, 2, s))
    )[:2],
    "limits": lambda s: aclnn.documented_limit_violations(
        "nearest_backward", *signed(((2, 2, s),))
    ),
    "infer_shape": lambda s: graph.UpsampleNearest3dGrad.infer_shape(SHAPE, SIZE, (), (2, 2, s)),
    "graph": lambda s: graph.UpsampleTrilinear3dBackward(G, SHAPE[2:], SIZE, False, 2.0, s, 0.5),
    "950": lambda s: tiling.nearest_950(SHAPE, SIZE, "float32", (2, 2, s)),
    "a2": lambda s: tiling.nearest_a2(SHAPE, SIZE, "float32", (2, 2, s)),
    "trilinear_a2": lambda s: tiling.trilinear_a2(SHAPE, SIZE, "float32", (2, 2, s)),
}


def answers(reader: Callable[[Any], Any]) -> list[str]:
    """What a reader makes of every scale: its answer, or its error."""
    found = []
    for scale in SCALES:
        try:
            found.append(repr(reader(scale)))
        except (ValueError, TypeError) as error:
            found.append(f"{type(error).__name__}: {error}")
    return found


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize("bits", [FTZ_DAZ, UPWARD, FTZ_DAZ | TO_ZERO], ids=hex)
def test_no_mode_reaches_the_readers(reader, bits):
    wanted, mode = answers(reader), Mode()
    before = mode.get()
    try:
        mode.set(before | bits)
        found = answers(reader)
        after = mode.get()
    finally:
        mode.set(before)
    assert found == wanted
    assert after & ~0x3F == (before | bits) & ~0x3F  # operations raise flags


def test_the_scales_at_the_ends_are_told_apart():
    """Both 1e38 and 3e-39, whose reciprocal and itself are denormal in float32, are scales."""
    refused = [s for s, said in zip(SCALES, answers(READERS["backward"]), strict=True)
               if "finite in float32" in said]  # fmt: skip
    assert refused == [3.5e38, 1e-45, 7e-46, 5e-324, 1.7e308, np.float32(1e-45)]
    with np.errstate(all="ignore"):
        for scale in SCALES:
            single, inverse = np.float32(scale), np.float32(1 / float(scale))
            inside = 0 < single < np.inf and 0 < inverse < np.inf
            assert inside == (scale not in refused), scale


def test_torch_flushing():
    torch = pytest.importorskip("torch")
    wanted = [up.trilinear_backward(G, SIZE, s) for s in (1e38, 3e-39)]
    assert torch.set_flush_denormal(True)
    try:
        found = [up.trilinear_backward(G, SIZE, s) for s in (1e38, 3e-39)]
    finally:
        torch.set_flush_denormal(False)
    assert [a.tobytes() for a in found] == [a.tobytes() for a in wanted]
