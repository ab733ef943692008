# SPDX-License-Identifier: Apache-2.0
"""Which elements, slides and rows each core of a device computes, in the device's own numbers.

Numbers count elements, workspace sizes bytes; triples are D, H, W. tiling.py makes these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

_T = TypeVar("_T")

Three = tuple[int, int, int]
Scales = tuple[float, float, float]

SIMT_THREADS = 2048
"""Threads of a core that the 950's tiling reckons with; its kernel has half for wide indices."""

NEAREST_WORKSPACE, TRILINEAR_WORKSPACE = 16 * 2**20, 32 * 2**20
"""Bytes that the system keeps for itself in an operator's workspace."""


@dataclass(frozen=True, slots=True)
class SimtTiling:
    """Nearest on 950: a flat range of grad_input's elements for each core.

    Attributes
    ----------
    sch_id : int
        0 copies; 1 distributes D*H*W and walks all len_n = N*C planes; 2 distributes C*D*H*W and
        walks len_n = N samples; 3 distributes N*C*D*H*W.
    cores : int
        Launched.
    block_factor, tail : int
        Elements of a core; the first `tail` cores have one more.
    ub_factor : int
        Elements of a copy's chunk, else 0.
    uint32 : bool
        Whether indices have 32 bits; False for a copy, which has none.
    len_n, len_c : int
        Planes or samples that a core walks, and C.
    grad_output_size, grad_input_size : tuple of 3 ints
        D, H, W.
    scales : tuple of 3 floats
        Output/input of D, H, W.
    """

    sch_id: int
    cores: int
    block_factor: int
    tail: int
    ub_factor: int
    uint32: bool
    len_n: int
    len_c: int
    grad_output_size: Three
    grad_input_size: Three
    scales: Scales

    @property
    def threads(self) -> int:
        """Threads of a core's kernel, 0 for a copy."""
        return (SIMT_THREADS if self.uint32 else SIMT_THREADS // 2) if self.sch_id else 0

    @property
    def tiling_key(self) -> int:
        """Two fields of eight bits: sch_id, and whether indices are uint32."""
        return self.sch_id + 256 * self.uint32

    @property
    def workspace_size(self) -> int:
        """Bytes."""
        return NEAREST_WORKSPACE

    @property
    def data(self) -> tuple[int | float, ...]:
        """Tiling data in the device's order: nine int64, two int32, three float."""
        return (
            self.block_factor, self.len_n, self.len_c, *self.grad_output_size,
            *self.grad_input_size, self.ub_factor, self.tail, *self.scales,
        )  # fmt: skip

    def share(self, core: int) -> range:
        """Return the elements that a core computes.

        Parameters
        ----------
        core : int
            Number of the core, from 0 on.

        Returns
        -------
        range
            Flat indices into grad_input.
        """
        start = core * self.block_factor + min(core, self.tail)
        return range(start, start + self.block_factor + (core < self.tail))


@dataclass(frozen=True, slots=True)
class Pass:
    """A product with a weight matrix along one axis, shared among cores by slides of results.

    Attributes
    ----------
    size, sources : int
        Results (grad_input) and sources (grad_output) along the axis.
    scale : float
        Output/input for nearest, input/output for trilinear.
    active : bool
        Whether the pass is done. Where it is skipped, the numbers from k on are 0.
    k : int
        Sources that a slide reads at most.
    rows : int
        What the cores of a group split.
    columns : bool
        Whether the rows are the columns of each batch's matrix, not the batches.
    slide_size : int
        Results of a slide.
    each : int
        Slides of every core.
    remainder, tail_start, group, tail_rows : int
        The `remainder` slides from tail_start on are shared by `group` cores each, tail_rows rows
        per core.
    cores : int
        Needed.
    """

    size: int
    sources: int
    scale: float
    active: bool
    k: int = 0
    rows: int = 0
    columns: bool = False
    slide_size: int = 0
    each: int = 0
    remainder: int = 0
    tail_start: int = 0
    group: int = 0
    tail_rows: int = 0
    cores: int = 0

    def work(self, core: int) -> Iterator[tuple[range, range]]:
        """Yield the slides that a core computes.

        Parameters
        ----------
        core : int
            Number of the core, from 0 on.

        Yields
        ------
        tuple of 2 ranges
            Results and rows of a slide.
        """
        if core >= self.cores:
            return
        for slide in range(core * self.each, (core + 1) * self.each):
            yield self._results(slide), range(self.rows)
        member, place = divmod(core, self.group)
        if member < self.remainder:
            start = place * self.tail_rows
            rows = range(start, min(start + self.tail_rows, self.rows))
            yield self._results(self.tail_start + member), rows

    def _results(self, slide: int) -> range:
        start = slide * self.slide_size
        return range(start, min(start + self.slide_size, self.size))

    def shared(self, slide_size: int, cores: int) -> Pass:
        """Return this pass with its slides shared among cores.

        Parameters
        ----------
        slide_size : int
            Results of a slide.
        cores : int
            How many cores there are.

        Returns
        -------
        Pass
            The same pass with each core's share.
        """
        if not self.active:
            return Pass(self.size, self.sources, self.scale, active=False)
        each, remainder = divmod(ceil_div(self.size, slide_size), cores)
        group, tail_rows = cores, slide_size
        if remainder:
            tail_rows = max(ceil_div(self.rows, cores // remainder), slide_size)
            group = min(cores // remainder, ceil_div(self.rows, tail_rows))
        return replace(
            self,
            slide_size=slide_size,
            each=each,
            remainder=remainder,
            tail_start=each * cores,
            group=group,
            tail_rows=tail_rows,
            cores=cores if each else remainder * group,
        )


@dataclass(frozen=True, slots=True)
class MatrixTiling:
    """Products along W, then H, then D on the cube cores of A2 and A3.

    Attributes
    ----------
    passes : tuple of 3 Pass
        Of D, H, W.
    inter_w, inter_h : int
        Elements between the passes.
    radio : int
        Elements of a core's weight matrix.
    cores : int
        Launched.
    workspace_size : int
        Bytes, with those that the system keeps for itself.
    tensor_size, mapping : int
        Elements of nearest's two local tables, of the bounds of a slide's windows and of the
        results that its sources go to; 0 for trilinear.
    tiling_key : int
        Always 1.
    """

    passes: tuple[Pass, Pass, Pass]
    inter_w: int
    inter_h: int
    radio: int
    cores: int
    workspace_size: int
    tensor_size: int = 0
    mapping: int = 0
    tiling_key: int = 1

    @property
    def skipped(self) -> str:
        """Axes whose sizes differ though no pass changes them: the device's results are undefined.

        A scale or ratio within 1e-6 of 1 does this.
        """
        axes = zip("DHW", self.passes, strict=True)
        return "".join(a for a, p in axes if not p.active and p.size != p.sources)


Tiling = SimtTiling | MatrixTiling


def triple(numbers: Iterable[_T]) -> tuple[_T, _T, _T]:
    """Return three numbers."""
    d, h, w = numbers
    return d, h, w


def ceil_div(a: int, b: int) -> int:
    """Return the least integer that is not below a / b."""
    return -(-a // b)
