# SPDX-License-Identifier: Apache-2.0
"""A volume worked through part by part, from file to file."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm import tqdm  # type: ignore[import-untyped]

from ..geometry.grids import turned as turned_place
from ..plan.plan import Plan
from ..spec.arguments import element, one_of
from . import formats, headers, notices, places, targets
from .axes import FORMATS, ORDERS, Array, Axes, names_of, parts, turned
from .elements import computed_in, stored_in, values
from .formats import naming
from .process import undone_at_end
from .targets import Asked
from .volume import PathLike, array_name, path_of

PART = 8 << 20
"""Bytes of a part of a volume, source and result each: all the memory beside what a file holds.
It takes some 10 ms, after which an interrupt is heard and the bar moves."""

PATIENCE = 1.0
"""Seconds of work before a bar appears."""


@dataclass(frozen=True)
class Written:
    """What `forward` or `backward` wrote.

    Attributes
    ----------
    shape : tuple of ints
        Of the array, in the file's axis order.
    dtype : numpy.dtype
        Of the array as it is stored.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def resample(
    path: PathLike,
    out: PathLike,
    asked: Asked,
    stored_as: tuple[str | None, str, str],
    dtype: Any,
    force: bool,
    progress: bool,
) -> Written:
    """stored_as: array, axes, data_format."""
    array, axes, data_format = stored_as
    path, out, array = path_of("path", path), path_of("out", out), array_name(array)
    data_format = one_of("data_format", data_format, ("NCDHW", "NDHWC"))
    zyx = one_of("axes", axes, ORDERS) == "zyx"
    dtype = None if dtype is None else element("dtype", dtype).numpy
    with naming(out):
        suffix = formats.suffix_of(out)
    places.check_place(out, force)
    with naming(path):
        content = formats.read(path, array)
        fmt = data_format if content.header is None else "NIfTI"
        lies = _axes_of(content.data, names_of(fmt, content.data.shape))
        work = computed_in(asked.op, content, dtype)
    source = lies.five(content.data)
    is_array = content.header is None
    goal = targets.target(asked, path, source.shape[2:], content.header, zyx and is_array)
    plan = targets.plan(asked, goal, source.shape, work)

    is_nifti = suffix.startswith(".nii")
    stored = stored_in(work, is_nifti)
    other_way = zyx and is_nifti == is_array
    names = FORMATS["NIfTI" if is_nifti else data_format][content.data.ndim]
    into = Axes(turned(names) if other_way else names, is_nifti or lies.fortran != other_way)
    shape, header = into.own(plan.out_shape), None
    if is_nifti:
        place = targets.place(plan)
        done = headers.Resampling(
            asked.op, turned_place(place) if other_way else place, goal.reference
        )
        with naming(out):
            header = headers.header_of(content.header, shape, stored, done)
    for notice in (
        *notices.of_labels(path, content, asked.op, dtype),
        *notices.of_grids(path, out, content, header, goal.reference is not None),
    ):
        warnings.warn(notice, stacklevel=3)
    with (
        formats.writing(out, shape, stored, into.fortran, header, force) as write,
        tqdm(
            total=math.prod(shape) * stored.itemsize, desc=path.name, unit="B", unit_scale=True,
            delay=PATIENCE, disable=not (progress and sys.stderr and sys.stderr.isatty()),
        ) as bar,
        undone_at_end(bar.close),
    ):  # fmt: skip
        valued = naming(path)(lambda x: values(content, x, work))
        for part in _parts_of(plan, source, into, valued):
            write(part.astype(stored, copy=False))
            bar.update(part.size * stored.itemsize)
    return Written(shape, stored)


def _axes_of(data: Array, names: str) -> Axes:
    return Axes(names, data.flags.f_contiguous and not data.flags.c_contiguous)


def _parts_of(
    plan: Plan, source: Array, into: Axes, values: Callable[[Array], Array]
) -> Iterator[Array]:
    """The parts of the result, as they follow in memory; each lasts until the next is asked for."""
    memory = into.memory
    buffer = np.empty(0, plan.dtype)
    for part in parts(source.shape, plan.out_shape, memory, plan.dtype.itemsize, PART):
        shape = [part[axis][1] - part[axis][0] for axis in memory]
        if buffer.size < math.prod(shape):
            buffer = np.empty(math.prod(shape), plan.dtype)
        lying = buffer[: math.prod(shape)].reshape(shape)
        result = lying.transpose([memory.index(axis) for axis in range(5)])
        x = values(source[plan.sources(part)])
        plan.part(part, x.strides, result.strides)(x, result)
        yield lying
