# SPDX-License-Identifier: Apache-2.0
"""The public Plan: made from arguments, called with arrays, cut into parts, compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import DTypeLike, NDArray

from ..kernel import cpu
from ..spec import layout, opspec
from ..spec.question import Question, read
from ..spec.types import DataFormat, Element, Op, Rule, Scales, Sizes
from . import w_pass
from .prepared import Prepared


class Plan(Prepared):
    """An op prepared for one shape, dtype and layout, and run any number of times.

    A Plan is immutable. Any number of threads may call it at once.

    Parameters
    ----------
    op : str
        "nearest_exact_backward", "nearest_backward", "trilinear_backward", "nearest_exact",
        "nearest" or "trilinear".
    shape : sequence of 5 ints
        Shape of the source (grad_output, or input forward) in `data_format`.
    dtype : dtype_like
        Type of the source: float32, float16, bfloat16 (of ml_dtypes) or float64. The forward
        nearest ops take any native dtype of 1, 2, 4, 8 or 16 bytes.
    input_size : sequence of 5 ints, optional
        (N, C, iD, iH, iW), in this order for both data formats. Required for gradients.
    output_size : sequence of 3 ints, optional
        (oD, oH, oW). Required forward, unless `scales` are given for all three axes.
    scales : float or sequence of 3 floats, optional
        Output size / input size along D, H and W; one number stands for all three. An axis whose
        scale is None, NaN or <= 0 uses the ratio of its sizes.
    align_corners : bool, default False
        Whether the centres of the corner voxels coincide; only for the trilinear ops. If True,
        `scales` have no effect.
    data_format : {"NCDHW", "NDHWC"}, default "NCDHW"
        Order of the axes of source and result.
    rule : {"aclnn", "torch"}, default "aclnn"
        Whose indices and weights: the CANN operators' or PyTorch's.
    strides : sequence of 5 ints, optional
        Of the source, in bytes, in `data_format`. None means C-contiguous.
    out_strides : sequence of 5 ints, optional
        Of the result, in bytes, in `data_format`. Elements must not overlap. None means those of a
        result that the functions return. If given, every call needs `out`.
    schedule : {0, 1, 2, 3}, optional
        How the work is divided: SCH_ID of the operators, where 0 is a copy for equal sizes. None
        takes the fastest. The bits of the result are the same for each.
    num_threads : int, optional
        Largest number of threads. None means `get_num_threads()`.

    Attributes
    ----------
    shape, strides, out_shape, out_strides : tuple of 5 ints
        Of source and result, in `data_format`; strides in bytes.
    dtype : numpy.dtype
        Of source and result.
    workspace_size : int
        Bytes of the workspace: 64, and for each thread at most max(1 MiB, longest window along H +
        2 rows of sums).
    bands : tuple of 3 Bands
        Indices and weights of D, H and W.

    Raises
    ------
    ParameterError
        An argument has an impossible value. It is a ValueError; `status` is 161002.
    ParameterTypeError
        An argument has a wrong type. It is a TypeError; `status` is 161001 if a required argument
        is None, else 161002.
    MemoryError
        The plan does not fit in memory.

    Notes
    -----
    Plans of the same arguments are equal. A pickled plan is planned anew where it is loaded. `repr`
    tells how it runs.

    Examples
    --------
    >>> import numpy as np
    >>> import upsample3d as up
    >>> plan = up.Plan("nearest_backward", (1, 1, 1, 1, 4), "float32", input_size=(1, 1, 1, 1, 2))
    >>> workspace = np.empty(plan.workspace_size, np.uint8)
    >>> grad_input = np.empty(plan.out_shape, plan.dtype)
    >>> grad_output = np.arange(4, dtype=np.float32).reshape(plan.shape)
    >>> plan(grad_output, grad_input, workspace)
    array([[[[[1., 5.]]]]], dtype=float32)
    """

    __slots__ = ()

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

    def __call__(
        self, source: NDArray[Element], out: NDArray[Element] | None = None, workspace: Any = None
    ) -> NDArray[Element]:
        """Compute the result for `source`.

        Parameters
        ----------
        source : ndarray
            Array of the plan's `shape`, `strides` and `dtype`. The stride of an axis of length 1
            may be any.
        out : ndarray, optional
            Receives the result: an array of `out_shape`, `out_strides` and `dtype`, apart from the
            source. None allocates one.
        workspace : buffer, optional
            Writable and contiguous, of at least `workspace_size` bytes, apart from both arrays.
            What it holds is lost. None allocates one. If `out` and `workspace` are given, nothing
            is allocated.

        Returns
        -------
        ndarray
            `out`, or the new array.

        Raises
        ------
        ParameterError
            An array does not fit the plan, or shares memory with another. It is a ValueError.
        ParameterTypeError
            An argument has a wrong type or dtype, or `out` is missing although the plan has
            `out_strides`. It is a TypeError.
        MemoryError
            The result or the workspace does not fit in memory.

        Notes
        -----
        An error is raised before anything is written. A signal handler's exception, such as
        KeyboardInterrupt, ends a long call; each element of `out` is then either unchanged or
        final.
        """
        if workspace is None:
            if out is None and self._fits(source):
                return self.run(source, None)
        elif out is not None and self._plain(source, out, workspace):
            self.execute(source, out, workspace)
            return out
        source, target, workspace = self._checked(source, out, workspace)
        if self._job is not None:
            self.execute(source, target, workspace)
        return target if out is None else out

    def sources(self, results: Sequence[tuple[int, int]]) -> tuple[slice, ...]:
        """Return the slices of the source that a part of the result depends on.

        Parameters
        ----------
        results : sequence of 5 pairs of ints
            (first, last) along N, C, D, H, W, `last` excluded; no range is empty.

        Returns
        -------
        tuple of 5 slices
            In `data_format`.
        """
        (n, c), within = results[:2], zip(self.bands, results[2:], strict=True)
        needed = [n, c, *(band.sources_of(*part) for band, part in within)]
        return tuple(slice(*needed[axis]) for axis in layout.AXES[self.spec.data_format])

    def part(
        self, results: Sequence[tuple[int, int]], strides: Sequence[int], out_strides: Sequence[int]
    ) -> Plan:
        """Return the Plan for a part of the result, which has the bits of the whole.

        Its source is the part of the source that `sources(results)` names.

        Parameters
        ----------
        results : sequence of 5 pairs of ints
            (first, last) along N, C, D, H, W, `last` excluded; no range is empty.
        strides, out_strides : sequence of 5 ints
            Of the parts of source and result, in bytes, in `data_format`.

        Returns
        -------
        Plan
            A plan for the part. Each call needs `out`.

        Raises
        ------
        MemoryError
            The workspace does not fit in memory.

        Notes
        -----
        Ranges and strides are not checked.

        Examples
        --------
        >>> import numpy as np
        >>> import upsample3d as up
        >>> x = np.arange(2, dtype=np.float32).reshape(1, 1, 1, 1, 2)
        >>> plan = up.Plan("nearest", x.shape, x.dtype, output_size=(1, 1, 4))
        >>> results = ((0, 1), (0, 1), (0, 1), (0, 1), (2, 4))
        >>> source, out = x[plan.sources(results)], np.empty((1, 1, 1, 1, 2), np.float32)
        >>> plan.part(results, source.strides, out.strides)(source, out)
        array([[[[[1., 1.]]]]], dtype=float32)
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
