# SPDX-License-Identifier: Apache-2.0
"""A Plan: one OpSpec made into bands, layout, schedule and a job for the kernel; then run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..geometry.band import Band
from ..geometry.kinds import bands
from ..kernel import cpu, levels
from ..spec import layout, opspec
from ..spec.layout import Five, Layout
from ..spec.opspec import OpSpec
from ..spec.question import Question, read
from ..spec.types import DataFormat, Element, Op, Rule, Scales, Sizes
from . import buffers, schedule, w_pass
from .buffers import Array
from .immutable import Immutable
from .schedule import Schedule

_UNPERMUTED = (0, 1, 2, 3, 4)

Bands = tuple[Band, Band, Band]
"""Those of D, H and W."""


class Plan(Immutable):
    """A prepared up-sampling op: immutable, and for any number of threads at once.

    op: "nearest_exact_backward", "nearest_backward", "trilinear_backward", "nearest_exact",
    "nearest" or "trilinear". shape, dtype: those of the source (grad_output, or input forward), in
    `data_format`. input_size: (N, C, D, H, W), needed backward. output_size: (D, H, W), needed
    forward unless scales are given. strides, out_strides: in bytes, in `data_format`; None means
    contiguous for the source and, for the result, as the functions return it. The rest as in the
    functions. Raises ParameterError (a ValueError) or ParameterTypeError (a TypeError).

    shape, strides, out_shape and out_strides of the plan are in `data_format`. workspace_size:
    bytes, for each thread at most max(1 MiB, longest window along H + 2 rows of sums), and 64.
    Plans of the same question are equal; a pickled one is planned anew where it is loaded.
    """

    __slots__ = (
        "_bands", "_cut_out", "_job", "dtype", "layout", "out_shape", "out_strides", "schedule",
        "shape", "spec", "strides", "workspace_size",
    )  # fmt: skip

    _bands: Bands | None
    _cut_out: bool
    _job: levels.Job | None
    dtype: np.dtype[Any]
    layout: Layout
    out_shape: Five
    out_strides: Five
    schedule: Schedule
    shape: Five
    spec: OpSpec
    strides: Five
    workspace_size: int

    def __init__(
        self,
        op: Op,
        shape: Sizes,
        dtype: DTypeLike,
        *,
        input_size: Sizes | None = None,
        output_size: Sizes | None = None,
        scales: Scales = None,
        align_corners: bool = False,
        data_format: DataFormat = "NCDHW",
        rule: Rule = "aclnn",
        strides: Sizes | None = None,
        out_strides: Sizes | None = None,
        schedule: int | None = None,
        num_threads: int | None = None,
    ) -> None:
        out = None if out_strides is None else (None, None, out_strides)
        asked = Question(
            op, shape, dtype, input_size, output_size, scales, align_corners, data_format, rule,
            strides, out, schedule, num_threads,
        )  # fmt: skip
        cpu.in_default_mode(lambda: self._adopt(opspec.specify(read(asked))))

    @classmethod
    def _of(cls, asked: OpSpec, made: Bands | None = None) -> Plan:
        """The Plan of a question, scheduled for this process; made: bands that are cut out."""
        plan = object.__new__(cls)
        cpu.in_default_mode(plan._adopt, asked, made)
        return plan

    def _adopt(self, asked: OpSpec, made: Bands | None = None) -> None:
        axes = layout.AXES[asked.data_format]
        self._set("spec", asked)
        self._set("dtype", asked.dtype.numpy)
        self._set("shape", layout.permute(asked.source_shape, axes))
        self._set("strides", layout.permute(asked.source_strides, axes))
        self._set("out_shape", layout.permute(asked.result_shape, axes))
        self._set("out_strides", layout.permute(asked.result_strides, axes))
        self._set("_cut_out", made is not None)
        self._set("_job", None)
        self._set("workspace_size", 0)
        self._set("_bands", made)
        if not asked.empty:
            self._schedule(asked, self.bands)

    @property
    def bands(self) -> Bands:
        """The Bands of D, H and W; those of a plan for N = 0 or C = 0 are made when asked for."""
        made = self._bands
        if made is None:
            made = cpu.in_default_mode(_bands_of, self.spec)
            self._set("_bands", made)
        return made

    @property
    def nbytes(self) -> int:
        """Bytes of the bands it holds; the kernel's tables take up to 0.5 times as much."""
        return sum({id(band): band.nbytes for band in self._bands or ()}.values())

    def _schedule(self, asked: OpSpec, axes: Bands) -> None:
        d, h, w = axes
        lies = layout.arrange(
            asked.dtype.code, asked.dtype.numpy.itemsize, asked.source_shape, asked.source_strides,
            asked.result_shape, asked.result_strides,
        )  # fmt: skip
        sch_id = opspec.checked_schedule(asked.schedule, schedule.choose(d, h, w))
        allowed = schedule.allowed_threads()
        cut = schedule.cut(
            (d, h, w),
            lies,
            sch_id=sch_id,
            n=asked.source_shape[0],
            acc_size=asked.dtype.acc.itemsize,
            max_threads=min(asked.num_threads or allowed, allowed),
        )
        self._set("layout", lies)
        self._set("schedule", cut)
        self._set("workspace_size", opspec.checked_workspace(cut.workspace_size))
        self._set("_job", levels.Job((d, h, w), lies, cut))

    def __call__(
        self, source: NDArray[Element], out: NDArray[Element] | None = None, workspace: Any = None
    ) -> NDArray[Element]:
        """The result for `source`: `out` if it is given, else a new array.

        source, out: arrays of the plan's shape, strides and dtype (strides of axes of length 1 do
        not matter). workspace: any writable contiguous buffer of at least workspace_size bytes; its
        contents do not matter and are lost. With both given nothing is allocated. Raises as the
        constructor, and MemoryError, before anything is written. Signals as in the functions.
        """
        target = out
        if target is None or workspace is None or not self._plain(source, target, workspace):
            source, target, workspace = self._checked(source, target, workspace)
        if self._job is not None:
            self.execute(source, target, workspace)
        return target if out is None else out

    def sources(self, results: Sequence[tuple[int, int]]) -> tuple[slice, ...]:
        """What a part of the result is made of: the slices of the source that it needs.

        results: (first, last) along N, C, D, H, W, none of them empty. The slices are in
        `data_format`.
        """
        (n, c), within = results[:2], zip(self.bands, results[2:], strict=True)
        needed = [n, c, *(band.sources_of(*part) for band, part in within)]
        return tuple(slice(*needed[axis]) for axis in layout.AXES[self.spec.data_format])

    def part(
        self, results: Sequence[tuple[int, int]], strides: Sequence[int], out_strides: Sequence[int]
    ) -> Plan:
        """The Plan that makes a part of the result, the same bits, of `sources(results)` of it.

        results: (first, last) along N, C, D, H, W, none of them empty. strides, out_strides: those
        of the parts of source and result, in bytes, in `data_format`. N and C are at least 1.
        """
        (n0, n1), (c0, c1), *within = results
        d, h, w = (band.part(*part) for band, part in zip(self.bands, within, strict=True))
        planes, asked = (n1 - n0, c1 - c0), self.spec
        return Plan._of(
            replace(
                asked,
                source_shape=(*planes, d.sources, h.sources, w.sources),
                result_shape=(*planes, len(d.lo), len(h.lo), len(w.lo)),
                source_strides=layout.reorder(strides, asked.data_format),
                result_strides=layout.reorder(out_strides, asked.data_format),
                allocation=None,
            ),
            (d, h, w),
        )

    def run(self, source: Array, out: Array | None) -> Array:
        """A call for arrays whose shapes, dtypes and strides are known to be the plan's."""
        if out is None:
            out = self._new_result()
        else:
            buffers.check_target(out, source)
        if self._job is not None:
            size = self.workspace_size
            self.execute(source, out, buffers.empty(size, np.uint8) if size else None)
        return out

    def execute(self, source: Array | int, out: Array | int, workspace: Array | None) -> None:
        """A call for arrays that are known to fit; not for N = 0 or C = 0.

        source, out: the arrays, or the addresses of their first elements. workspace: None only if
        workspace_size is 0. A small call takes half as long.
        """
        job: Any = self._job
        if self.schedule.threads == 1:
            job.run(source, out, workspace, 1)
            return
        threads = min(self.schedule.threads, schedule.allowed_threads())
        threads = cpu.ensure_threads(threads, self.schedule.wakes)
        job.run(source, out, workspace, threads)
        cpu.note_end_of_call()

    def _plain(self, source: Array, out: Any, workspace: Any) -> bool:
        """Whether arrays are given that need no closer look: the shortest way for small calls."""
        return (
            type(out) is np.ndarray
            and type(workspace) is np.ndarray
            and type(source) is np.ndarray
            and self._job is not None
            and source.dtype is out.dtype is self.dtype
            and source.shape == self.shape
            and source.strides == self.strides
            and out.shape == self.out_shape
            and out.strides == self.out_strides
            and self._job.disjoint(source, out, workspace, self.workspace_size)
        )

    def _checked(self, source: Array, out: Any, workspace: Any) -> tuple[Array, Array, Any]:
        """All as plain arrays, out and workspace new where they are None; refuses what a plan
        cannot take, by name."""
        if (
            type(source) is not np.ndarray
            or source.strides != self.strides
            or source.shape != self.shape
            or source.dtype != self.dtype
        ):
            name = self.spec.operation.source
            source = buffers.check_match(name, source, self.shape, self.strides, self.dtype)
        if out is None:
            out = self._new_result()
        else:
            out = buffers.check_match("out", out, self.out_shape, self.out_strides, self.dtype)
            buffers.check_target(out, source)
        if workspace is not None and self._job is not None:
            workspace = buffers.check_workspace(workspace, self.workspace_size, source, out)
        elif self.workspace_size:
            workspace = buffers.empty(self.workspace_size, np.uint8)
        return source, out, workspace

    def _new_result(self) -> Array:
        shape, axes = self.spec.allocation or opspec.refuse_allocation()
        result: Array = buffers.empty(shape, self.dtype)
        return result if axes == _UNPERMUTED else result.transpose(axes)

    def __repr__(self) -> str:
        asked = self.spec
        how = ""
        if self._job is not None:
            cut, tiles = self.schedule, self.schedule.tiles
            form = "copy" if cut.sch_id == 0 else w_pass.NAMES[tiles.form.w_form]
            how = f", W {form}, tile {tiles.tile_h} x {tiles.tile_w}, threads={cut.threads}"
        return (
            f"Plan({asked.op!r}, {self.shape} -> {self.out_shape}, {asked.dtype.name}, "
            f"{asked.data_format}{how}, workspace_size={self.workspace_size})"
        )

    def __eq__(self, other: object) -> bool:
        if type(other) is not Plan:
            return NotImplemented
        if self.spec != other.spec or self._cut_out != other._cut_out:
            return False
        return not self._cut_out or all(
            one.same(another) for one, another in zip(self.bands, other.bands, strict=True)
        )

    def __hash__(self) -> int:
        return hash(self.spec)

    def __reduce__(self) -> tuple[Any, ...]:
        return Plan._of, (self.spec, self.bands if self._cut_out else None)


def _bands_of(asked: OpSpec) -> Bands:
    opspec.check_memory(asked)
    rule = asked.align_corners, asked.rule, asked.dtype.name
    found = {axis: bands(asked.op, *axis, *rule) for axis in set(asked.axes)}
    d, h, w = (found[axis] for axis in asked.axes)
    return d, h, w
