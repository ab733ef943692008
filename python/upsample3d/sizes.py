# SPDX-License-Identifier: Apache-2.0
"""The size of an axis that only a scale gives."""

from __future__ import annotations

import math

NEAREST = 0.01
"""Voxels that a product may be off an integer at most and still count as it."""


def scaled_size(size: int, scale: float, rule: str = "aclnn", relative: float = 0.0) -> int:
    """The output size of an axis of `size` elements under `scale` > 0.

    The floor of the product, but a product that misses an integer by rounding alone counts as that
    integer: within 4 ulp, or within `relative` of it (scales in files have fewer digits). At least
    1. rule="torch": the plain floor, as PyTorch has it, which may be 0.
    """
    product = size * scale
    if rule == "torch":
        return math.floor(product)
    whole = round(product)
    slack = max(4 * math.ulp(whole), relative * whole)
    if abs(product - whole) <= min(slack, NEAREST):
        return max(whole, 1)
    return max(math.floor(product), 1)
