# SPDX-License-Identifier: Apache-2.0
"""3-D up-sampling and its gradients on CPUs: fast, and with bits that never change."""

from . import commands as _commands  # before all else, even __future__: see there

# isort: split
from importlib import import_module as _import_module
from typing import TYPE_CHECKING

# isort: split
from .kernel.wait_policy import cpu as _cpu  # before what needs the kernels: it loads OpenMP

# isort: split
try:
    from .kernel import levels as _levels
except ImportError as _failure:
    _commands.refuse(_failure)
    raise
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
from .geometry.band import Band
from .plan.plan import Plan
from .spec.errors import (
    InferShapeError,
    KernelNotFoundError,
    ParameterError,
    ParameterTypeError,
    Status,
    TilingError,
)

__version__ = "0.1.0"

_MODULES = ("aclnn", "graph", "reference", "tiling", "volumes")
"""Modules that are imported where they are first named: `upsample3d.volumes`. So is torch, which
`dir` does not list, lest those who look at all that it lists import PyTorch."""

if TYPE_CHECKING:
    from . import aclnn as aclnn
    from . import graph as graph
    from . import reference as reference
    from . import tiling as tiling
    from . import torch as torch
    from . import volumes as volumes
else:  # hidden from type checkers, which would take every name

    def __getattr__(name):
        if name in (*_MODULES, "torch"):
            return _import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *_MODULES})


def build_info() -> dict[str, object]:
    """Return how this copy was built and what it runs on.

    Returns
    -------
    dict
        "version"; "level", the CPU level in use; "levels", those available, best first; "compiler";
        "openmp", its specification (yyyymm) and the file of its runtime, or None in a build without
        it; "threads", how many a call may use.

    Examples
    --------
    >>> import upsample3d as up
    >>> sorted(up.build_info())
    ['compiler', 'level', 'levels', 'openmp', 'threads', 'version']
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
    "InferShapeError",
    "KernelNotFoundError",
    "ParameterError",
    "ParameterTypeError",
    "Plan",
    "Status",
    "TilingError",
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
