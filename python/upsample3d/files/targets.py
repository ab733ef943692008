# SPDX-License-Identifier: Apache-2.0
"""Which grid a result in a file has: by sizes, scales, a voxel size, or a reference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..geometry.grids import Matrix, edges, placement, voxels_apart
from ..geometry.kinds import OPERATIONS
from ..geometry.sizes import counting_scale, scaled_size
from ..kernel import cpu
from ..plan.plan import Plan
from ..spec.arguments import MOST, boolean, integers, number, one_of, scales_of, text
from ..spec.errors import ParameterError, ParameterTypeError
from ..spec.opspec import RULES
from ..spec.types import Op, Rule
from . import nifti
from .formats import naming

Three = tuple[int, int, int]
Scales = tuple[float | None, ...]

RELATIVE = 1e-6
"""Of a size: what the few digits of scales and of voxel sizes in files take from it or add."""

MOST_LOST = 0.01
"""Voxels that this may be at most."""

LIKE = 1e-3
"""Voxels that a reference may lie off its place."""


@dataclass(frozen=True)
class Asked:
    """What a caller said of a result's grid; `asked` checks it.

    size: D, H, W of the result. like: a NIfTI file.
    """

    op: Op
    size: tuple[int, ...] | None
    scales: Scales
    spacing: tuple[float, ...] | None
    like: Path | None
    align_corners: bool
    rule: Rule

    @property
    def backward(self) -> bool:
        """Whether the op is a gradient."""
        return OPERATIONS[self.op].backward


@dataclass(frozen=True)
class Target:
    """A result's grid: its D, H, W (None: as the plan finds them), how it lies, and whose it is.

    scales: those that drive the arithmetic. reference: the header whose grid it is to the bit;
    None: what the placement says.
    """

    size: tuple[int, ...] | None
    scales: Scales
    align_corners: bool
    reference: Any = None


def asked(
    op: str, size: Any, scales: Any, spacing: Any, like: Path | None, align_corners: Any, rule: Any
) -> Asked:
    """What a caller said, where it is one thing, and possible. size is called by its own name."""
    name = OPERATIONS[op].size
    ways = {name: size, "scales": scales, "spacing": spacing, "like": like}
    if name == "input_size":
        del ways["scales"], ways["spacing"]
    given = [way for way, said in ways.items() if said is not None]
    if not given:
        raise ParameterTypeError(
            f"{' and '.join(ways)} are None, wanted one of them"
            if len(ways) == 2
            else f"{', '.join(ways)} are all None, wanted one of them"
        )
    if len(given) > 1 and given != ["output_size", "scales"]:
        raise ParameterError(
            f"{' and '.join(given)} each say the size of the result, wanted one of them"
        )
    return Asked(
        cast(Op, op),
        None if size is None else integers(name, size, 3, "3 integers (D, H, W)"),
        cpu.in_default_mode(scales_of, scales),
        None if spacing is None else _three_lengths(spacing),
        like,
        boolean("align_corners", align_corners),
        cast(Rule, one_of("rule", rule, RULES)),
    )


def target(wanted: Asked, path: Path, sizes: Three, header: Any, turned: bool) -> Target:
    """The grid of the result of a file with these D, H, W and this header (None: it has none).

    turned: its D, H, W are a reference's z, y, x.
    """
    if wanted.like is not None:
        return _like(wanted, wanted.like, path, sizes, header, turned)
    if wanted.spacing is not None:
        size = _spaced(wanted, wanted.spacing, path, sizes, header)
        return Target(size, wanted.scales, wanted.align_corners)
    if wanted.size is not None or wanted.backward or not all(map(_counts, wanted.scales)):
        return Target(wanted.size, wanted.scales, wanted.align_corners)
    axes = [(i, s) for i, s in zip(sizes, wanted.scales, strict=True) if s is not None]
    return Target(
        tuple(scaled_size(i, scale, wanted.rule, RELATIVE) for i, scale in axes),
        tuple(counting_scale(i, scale, wanted.rule) for i, scale in axes),
        wanted.align_corners,
    )


def _counts(scale: float | None) -> bool:
    return scale is not None and scale > 0


def plan(wanted: Asked, goal: Target, shape: tuple[int, ...], work: np.dtype[Any]) -> Plan:
    """The Plan that makes the result of a source of this shape (N, C, D, H, W) and dtype."""
    size: dict[str, Any] = {"output_size": goal.size}
    if wanted.backward:
        size = {"input_size": (*shape[:2], *(goal.size or ()))}
    return Plan(
        wanted.op, shape, work, scales=goal.scales, align_corners=goal.align_corners,
        rule=wanted.rule, **size,
    )  # fmt: skip


def place(made: Plan) -> Matrix:
    """4 x 4: indices D, H, W of the plan's result -> those of its source."""
    about = made.spec
    i, o, scales = zip(*about.axes, strict=True)
    found = placement(about.op, i, o, scales, about.align_corners)
    if about.operation.backward:
        found = np.linalg.inv(found).astype(np.float64)
    return found


def spaced_size(size: int, edge: float, spacing: float, corners: bool = False) -> int:
    """Voxels of `spacing` that fill what `size` voxels of `edge` fill, to nearest; at least 1.

    Halves go up, and what misses a half by rounding alone counts as one. corners: what is filled
    is from the centre of the first voxel to that of the last.
    """
    ends = 1 if corners and size > 1 else 0
    steps = (size - ends) * (edge / spacing)
    if not steps <= MOST:
        raise ParameterError(f"spacing is {spacing:g} for {size} voxels of {edge:g}, wanted fewer")
    return max(1, math.floor(steps + 0.5 + min(RELATIVE * steps, MOST_LOST)) + ends)


def _three_lengths(given: Any) -> tuple[float, ...]:
    if isinstance(given, (int, float, np.number)):
        given = (given, given, given)
    try:
        lengths = tuple(number("spacing", length) for length in islice(given, 4))
    except MemoryError:
        raise
    except Exception:  # a caller's object raises whatever it likes
        lengths = ()
    if len(lengths) != 3:
        raise ParameterTypeError(f"spacing is {text(given)}, wanted a number or three (D, H, W)")
    if not all(0 < length < math.inf for length in lengths):
        raise ParameterError(f"spacing is {text(given)}, wanted positive lengths")
    return lengths


def _spaced(
    wanted: Asked, spacing: tuple[float, ...], path: Path, sizes: Three, header: Any
) -> tuple[int, ...]:
    if header is None:
        raise ParameterError(
            f"spacing is {text(spacing)}, and {path} has no voxel size, as NIfTI has; "
            "wanted output_size or scales"
        )
    lengths = edges(nifti.affine(header))
    if not all(0 < length < math.inf for length in lengths):
        raise ParameterError(
            f"spacing is {text(spacing)}, and {path} has voxels of {text(lengths)}, "
            "wanted output_size or scales"
        )
    corners = wanted.align_corners and OPERATIONS[wanted.op].kind.align_corners
    return tuple(
        spaced_size(size, edge, length, corners)
        for size, edge, length in zip(sizes, lengths, spacing, strict=True)
    )


def _like(wanted: Asked, like: Path, path: Path, sizes: Three, header: Any, turned: bool) -> Target:
    with naming(like):
        reference = nifti.header(like)
        shape = reference.get_data_shape()
        if len(shape) < 3 or 0 in shape:
            raise ValueError(f"has the sizes {shape}, wanted x, y, z")
    size = shape[:3]
    if header is None:
        size = size[::-1] if turned else size
        return Target(size, wanted.scales, wanted.align_corners, reference)
    here, there = nifti.affines_in_one_unit(header, reference)
    grids = [(size, there), (sizes, here)] if wanted.backward else [(sizes, here), (size, there)]
    apart = {}
    for corners in (False, True):
        (i, inner), (o, outer) = grids
        among = placement(wanted.op, i, o, wanted.scales, corners)
        apart[corners] = voxels_apart(inner @ among, outer, o)
    for corners in _possible(wanted):
        if apart[corners] <= LIKE:
            return Target(size, wanted.scales, corners, reference)
    raise ParameterError(_elsewhere(wanted, like, path, here, there, apart))


def _possible(wanted: Asked) -> tuple[bool, ...]:
    """Whether corner voxels' centres may coincide, the likeliest first."""
    if not OPERATIONS[wanted.op].kind.align_corners:
        return (False,)
    if wanted.align_corners:
        return (True,)
    return (False,) if any(map(_counts, wanted.scales)) else (False, True)


def _elsewhere(
    wanted: Asked, like: Path, path: Path, here: Matrix, there: Matrix, apart: dict[bool, float]
) -> str:
    """What is wrong with a reference that lies elsewhere than the file."""
    said = f"like is {like}, whose grid does not cover that of {path}: "
    finite = np.isfinite([here, there]).all()
    if finite and (a := nifti.orientation(there)) != (b := nifti.orientation(here)):
        return f"{said}its x, y, z run {a} and the other's {b}, wanted one orientation"
    of_trilinear = "" if True in _possible(wanted) else " (which only trilinear may align)"
    return (
        f"{said}its box is {apart[False]:.3g} voxels off, its corner voxels' centres "
        f"{apart[True]:.3g}{of_trilinear}; wanted one of them within {LIKE:g}"
    )
