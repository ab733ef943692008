# SPDX-License-Identifier: Apache-2.0
"""What is known of a call before it runs: where its indices fall, how many threads it may use."""

from __future__ import annotations

from numpy.typing import DTypeLike

from ..geometry.band import Band
from ..kernel import cpu
from ..plan.machine import allowed_threads, set_threads
from ..spec import arguments, opspec
from ..spec.types import Number, Op, Rule


def bands(
    op: Op,
    i: int,
    o: int,
    scale: Number | None = None,
    align_corners: bool = False,
    rule: Rule = "aclnn",
    dtype: DTypeLike = "float32",
) -> Band:
    """Return the indices and weights of one axis of an op.

    Parameters
    ----------
    op : str
        Name of one of the six functions, such as "trilinear_backward".
    i, o : int
        Input size and output size of the forward op on this axis, at least 1.
    scale : float, optional
        Output size / input size. None, NaN or <= 0 uses the ratio of the sizes.
    align_corners : bool, default False
        Whether the centres of the corner voxels coincide; only for the trilinear ops.
    rule : {"aclnn", "torch"}, default "aclnn"
        Whose indices and weights: the CANN operators' or PyTorch's.
    dtype : dtype_like, default "float32"
        Type of the data: the weights for float64 are float64, all others float32.

    Returns
    -------
    Band
        Result k sums sources lo[k] to hi[k] - 1, each times its weight in
        w[start[k]:start[k + 1]]; `w` is None if all weights are 1.

    Raises
    ------
    ParameterError
        An argument has an impossible value. It is a ValueError.
    ParameterTypeError
        An argument has a wrong type. It is a TypeError.

    Examples
    --------
    >>> import upsample3d as up
    >>> band = up.bands("trilinear_backward", 2, 4)
    >>> band.lo, band.hi
    (array([0, 1]), array([3, 4]))
    >>> band.w
    array([1.  , 0.75, 0.25, 0.25, 0.75, 1.  ], dtype=float32)
    """
    return cpu.in_default_mode(opspec.axis_bands, op, i, o, scale, align_corners, rule, dtype)


def set_num_threads(n: int) -> None:
    """Set the largest number of threads of a call, for the whole process.

    Parameters
    ----------
    n : int
        At least 1. A call never uses more threads than the process may use cores.

    Raises
    ------
    ParameterError
        `n` is less than 1.
    ParameterTypeError
        `n` is no integer.

    Examples
    --------
    >>> import upsample3d as up
    >>> before = up.get_num_threads()
    >>> up.set_num_threads(1)
    >>> up.get_num_threads()
    1
    >>> up.set_num_threads(before)
    """
    set_threads(arguments.integer("n", n, 1))


def get_num_threads() -> int:
    """Return how many threads a call from this thread may use now.

    Returns
    -------
    int
        At least 1; always 1 in a forked child.

    Examples
    --------
    >>> import upsample3d as up
    >>> up.get_num_threads() >= 1
    True
    """
    return allowed_threads()
