# SPDX-License-Identifier: Apache-2.0
"""3-D up-sampling and its gradients on CPUs: fast, and with bits that never change."""

from __future__ import annotations

from .wait_policy import cpu as _cpu  # isort: skip  (before all others: it loads OpenMP)

from . import levels as _levels
from .bands import Band
from .functional import (
    bands,
    get_num_threads,
    nearest,
    nearest_backward,
    nearest_exact,
    nearest_exact_backward,
    set_num_threads,
    trilinear,
    trilinear_backward,
)
from .plan import Plan
from .status import ParameterError, ParameterTypeError, Status

__version__ = "0.1.0"


def build_info() -> dict[str, object]:
    """How this copy was built and what it runs on.

    version; level in use and levels to be had, best first; compiler; openmp, the specification
    (yyyymm) and the runtime's file, or None where the build has none; threads that a call may use.
    """
    return {
        "version": __version__,
        "level": _levels.level,
        "levels": _levels.levels,
        "compiler": _cpu.compiler(),
        "openmp": _cpu.openmp(),
        "threads": get_num_threads(),
    }


__all__ = [
    "Band",
    "ParameterError",
    "ParameterTypeError",
    "Plan",
    "Status",
    "bands",
    "build_info",
    "get_num_threads",
    "nearest",
    "nearest_backward",
    "nearest_exact",
    "nearest_exact_backward",
    "set_num_threads",
    "trilinear",
    "trilinear_backward",
]
