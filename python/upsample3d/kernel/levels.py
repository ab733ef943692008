# SPDX-License-Identifier: Apache-2.0
"""The kernel of the best CPU level that is built and this machine has, chosen once, at import.

UPSAMPLE3D_LEVEL=v2|v3|v4 forces one (base on machines without levels).
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from . import cpu

if TYPE_CHECKING:  # one stub describes the kernels of all levels
    from .gather import Job as Job


def _built(level: str) -> bool:
    try:
        return find_spec(f"{__package__}.{level}.gather") is not None
    except ModuleNotFoundError:
        return False


def _choose() -> str:
    forced = os.environ.get("UPSAMPLE3D_LEVEL")
    if not forced:
        return levels[0]
    if forced not in levels:
        raise ImportError(
            f"UPSAMPLE3D_LEVEL={forced!r} cannot be had here; possible: {', '.join(levels)}"
        )
    return forced


levels: tuple[str, ...] = tuple(level for level in cpu.levels() if _built(level))
"""The levels that are built and this machine has, best first."""

if not levels:
    raise ImportError(f"no kernel is built for this machine, which has {', '.join(cpu.levels())}")

level: str = _choose()
"""The level in use."""

if not TYPE_CHECKING:
    Job = import_module(f"{__package__}.{level}.gather").Job
