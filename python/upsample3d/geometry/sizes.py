# SPDX-License-Identifier: Apache-2.0
"""The size of an axis that only a scale gives."""

from __future__ import annotations

import math
import struct

NEAREST = 0.01
"""Voxels that a product may be off an integer at most and still count as it."""

_MIDDLE = 0.5 * (1 + 2**-20)
"""Half a voxel, and more than what float32's roundings of a scale and a product take from it."""


def scaled_size(size: int, scale: float, rule: str = "aclnn", relative: float = 0.0) -> int:
    """The output size of an axis of `size` elements under `scale` > 0.

    The floor of the product, but a product that misses an integer by rounding alone counts as that
    integer: within 4 ulp, or within `relative` of it (scales in files have fewer digits), and never
    more than 0.01 away. The ulp is float32's where the scale is a float32. At least 1.
    rule="torch": the plain floor, as PyTorch has it, which may be 0.
    """
    product = size * scale
    if rule == "torch":
        return math.floor(product)
    whole = round(product)
    ulp = math.ulp(whole) * (2**29 if _is_float32(scale) else 1)
    if abs(product - whole) <= min(max(4 * ulp, relative * whole), NEAREST):
        return max(whole, 1)
    return max(math.floor(product), 1)


def counting_scale(size: int, scale: float, rule: str = "aclnn") -> float | None:
    """The scale of the axis whose size `scaled_size` gave: None where it cannot be `scale`.

    That is where less than half a voxel became one: its middle would lie outside the axis, and no
    source near it. The sizes' ratio then makes one voxel of the whole axis.
    """
    return None if rule != "torch" and size * scale <= _MIDDLE else scale


def _is_float32(number: float) -> bool:
    try:
        single: float = struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return False
    return single == number
