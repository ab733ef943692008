# SPDX-License-Identifier: Apache-2.0
"""An OpSpec made into bands, layout, schedule and a job for the kernel; arrays go through it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ..geometry.band import Band
from ..geometry.kinds import bands
from ..kernel import cpu, levels
from ..spec import layout, opspec
from ..spec.layout import Five, Layout
from ..spec.opspec import OpSpec
from . import buffers, machine, schedule
from .buffers import Array
from .immutable import Immutable
from .schedule import Schedule

_UNPERMUTED = (0, 1, 2, 3, 4)

Bands = tuple[Band, Band, Band]
"""Those of D, H and W."""


class Prepared(Immutable):
    """What a Plan is made of, and how it runs."""

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

    @classmethod
    def _of(cls, asked: OpSpec, made: Bands | None = None) -> Self:
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
        allowed = machine.allowed_threads()
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
        threads = min(self.schedule.threads, machine.allowed_threads())
        threads = cpu.ensure_threads(threads, self.schedule.wakes)
        job.run(source, out, workspace, threads)
        cpu.note_end_of_call()

    def _fits(self, source: Any) -> bool:
        """Whether a source is what the plan is made for, as most are."""
        return (
            type(source) is np.ndarray
            and source.shape == self.shape
            and source.strides == self.strides
            and source.dtype == self.dtype
        )

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
        """All as plain arrays, `out` and `workspace` new if None; refuses those that do not fit."""
        if not self._fits(source):
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


def _bands_of(asked: OpSpec) -> Bands:
    opspec.check_memory(asked)
    rule = asked.align_corners, asked.rule, asked.dtype.name
    found = {axis: bands(asked.op, *axis, *rule) for axis in set(asked.axes)}
    d, h, w = (found[axis] for axis in asked.axes)
    return d, h, w
