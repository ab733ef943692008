# SPDX-License-Identifier: Apache-2.0
"""The forward functions: a volume resampled to another size."""

from __future__ import annotations

from numpy.typing import NDArray

from ..spec.types import DataFormat, Element, Rule, Scales, Sizes
from .call import call


def nearest_exact(
    input: NDArray[Element],
    output_size: Sizes | None = None,
    scales: Scales = None,
    *,
    data_format: DataFormat = "NCDHW",
    out: NDArray[Element] | None = None,
    rule: Rule = "aclnn",
    schedule: int | None = None,
    num_threads: int | None = None,
) -> NDArray[Element]:
    """Resample to a new size: each output voxel takes the input voxel nearest its centre.

    Parameters
    ----------
    input : ndarray
        Values of shape (N, C, iD, iH, iW), or (N, iD, iH, iW, C) if `data_format` is "NDHWC".
        float32, float16, bfloat16 (of ml_dtypes) or float64; any strides. Any other native dtype of
        1, 2, 4, 8 or 16 bytes also works (bool, integers, complex64), but no objects and no
        records.
    output_size : sequence of 3 ints, optional
        (oD, oH, oW). None takes the size from `scales`, which then are needed for all three axes.
    scales : float or sequence of 3 floats, optional
        Output size / input size along D, H and W; one number stands for all three. An axis whose
        scale is None, NaN or <= 0 uses the ratio of its sizes.
    data_format : {"NCDHW", "NDHWC"}, default "NCDHW"
        Order of the axes of `input` and of the result.
    out : ndarray, optional
        Receives the result. It has the result's shape and dtype. Its strides are free, but its
        elements must overlap neither each other nor the source.
    rule : {"aclnn", "torch"}, default "aclnn"
        Which index map: the exact transpose of aclnnUpsampleNearestExact3dBackward, or the map of
        PyTorch's channels-last CPU kernel.
    schedule : {0, 1, 2, 3}, optional
        How the work is divided: SCH_ID of the operators, where 0 is a copy for equal sizes. None
        takes the fastest. The bits of the result are the same for each.
    num_threads : int, optional
        Largest number of threads. None means `get_num_threads()`.

    Returns
    -------
    output : ndarray
        (N, C, oD, oH, oW), or (N, oD, oH, oW, C) if `data_format` is "NDHWC", with the dtype of
        `input`. It is `out` if that is given; a new array is channels-last in memory if `input` is.
        N = 0 or C = 0 gives an empty array.

    Raises
    ------
    ParameterError
        An argument has an impossible value. It is a ValueError; `status` is 161002.
    ParameterTypeError
        An argument has a wrong type. It is a TypeError; `status` is 161001 if a required argument
        is None, else 161002.
    MemoryError
        The result, the workspace or the plan does not fit in memory.

    Notes
    -----
    Elements are copied bit for bit. An output outside every window is 0.

    Without `output_size`, an axis gets floor(size * scale) voxels, and at least 1. A product that
    misses an integer by rounding alone counts as this integer. If half a voxel or less becomes one
    voxel, this voxel spans the whole axis and the scale has no effect; pass None for it to the
    gradient. With rule="torch" it is the plain floor of PyTorch.

    rule="aclnn" is not always the operator aclnnUpsampleNearestExact3d, which rounds in its own
    way: 547 of the 16,384 pairs of sizes up to 128 differ. PyTorch's other CPU kernel differs from
    rule="torch" for 45 pairs of sizes up to 300, such as 2 to 41.

    An error is raised before anything is written. A signal handler's exception, such as
    KeyboardInterrupt, ends a long call; each element of `out` is then either unchanged or final.

    Examples
    --------
    >>> import numpy as np
    >>> import upsample3d as up
    >>> x = np.array([0, 1], np.float32).reshape(1, 1, 1, 1, 2)
    >>> up.nearest_exact(x, (1, 1, 4))
    array([[[[[0., 0., 1., 1.]]]]], dtype=float32)
    """
    return call(
        "nearest_exact", input, out, (None, output_size, scales),
        (False, data_format, rule), (schedule, num_threads),
    )  # fmt: skip


def nearest(
    input: NDArray[Element],
    output_size: Sizes | None = None,
    scales: Scales = None,
    *,
    data_format: DataFormat = "NCDHW",
    out: NDArray[Element] | None = None,
    rule: Rule = "aclnn",
    schedule: int | None = None,
    num_threads: int | None = None,
) -> NDArray[Element]:
    """Resample to a new size: each output voxel takes the input voxel at its first edge.

    Parameters
    ----------
    input : ndarray
        Values of shape (N, C, iD, iH, iW), or (N, iD, iH, iW, C) if `data_format` is "NDHWC".
        float32, float16, bfloat16 (of ml_dtypes) or float64; any strides. Any other native dtype of
        1, 2, 4, 8 or 16 bytes also works (bool, integers, complex64), but no objects and no
        records.
    output_size : sequence of 3 ints, optional
        (oD, oH, oW). None takes the size from `scales`, which then are needed for all three axes.
    scales : float or sequence of 3 floats, optional
        Output size / input size along D, H and W; one number stands for all three. An axis whose
        scale is None, NaN or <= 0 uses the ratio of its sizes.
    data_format : {"NCDHW", "NDHWC"}, default "NCDHW"
        Order of the axes of `input` and of the result.
    out : ndarray, optional
        Receives the result. It has the result's shape and dtype. Its strides are free, but its
        elements must overlap neither each other nor the source.
    rule : {"aclnn", "torch"}, default "aclnn"
        Which index map: the exact transpose of aclnnUpsampleNearest3dBackward, or that of PyTorch's
        CPU kernel upsample_nearest3d.
    schedule : {0, 1, 2, 3}, optional
        How the work is divided: SCH_ID of the operators, where 0 is a copy for equal sizes. None
        takes the fastest. The bits of the result are the same for each.
    num_threads : int, optional
        Largest number of threads. None means `get_num_threads()`.

    Returns
    -------
    output : ndarray
        (N, C, oD, oH, oW), or (N, oD, oH, oW, C) if `data_format` is "NDHWC", with the dtype of
        `input`. It is `out` if that is given; a new array is channels-last in memory if `input` is.
        N = 0 or C = 0 gives an empty array.

    Raises
    ------
    ParameterError
        An argument has an impossible value. It is a ValueError; `status` is 161002.
    ParameterTypeError
        An argument has a wrong type. It is a TypeError; `status` is 161001 if a required argument
        is None, else 161002.
    MemoryError
        The result, the workspace or the plan does not fit in memory.

    Notes
    -----
    Elements are copied bit for bit. An output outside every window is 0.

    Without `output_size`, an axis gets floor(size * scale) voxels, and at least 1. A product that
    misses an integer by rounding alone counts as this integer. If half a voxel or less becomes one
    voxel, this voxel spans the whole axis and the scale has no effect; pass None for it to the
    gradient. With rule="torch" it is the plain floor of PyTorch.

    An error is raised before anything is written. A signal handler's exception, such as
    KeyboardInterrupt, ends a long call; each element of `out` is then either unchanged or final.

    Examples
    --------
    >>> import numpy as np
    >>> import upsample3d as up
    >>> x = np.array([0, 1], np.float32).reshape(1, 1, 1, 1, 2)
    >>> up.nearest(x, (1, 1, 4))
    array([[[[[0., 0., 1., 1.]]]]], dtype=float32)
    """
    return call(
        "nearest", input, out, (None, output_size, scales),
        (False, data_format, rule), (schedule, num_threads),
    )  # fmt: skip


def trilinear(
    input: NDArray[Element],
    output_size: Sizes | None = None,
    scales: Scales = None,
    *,
    align_corners: bool = False,
    data_format: DataFormat = "NCDHW",
    out: NDArray[Element] | None = None,
    rule: Rule = "aclnn",
    schedule: int | None = None,
    num_threads: int | None = None,
) -> NDArray[Element]:
    """Resample to a new size by trilinear interpolation.

    Parameters
    ----------
    input : ndarray
        Values of shape (N, C, iD, iH, iW), or (N, iD, iH, iW, C) if `data_format` is "NDHWC".
        float32, float16, bfloat16 (of ml_dtypes) or float64; any strides.
    output_size : sequence of 3 ints, optional
        (oD, oH, oW). None takes the size from `scales`, which then are needed for all three axes.
    scales : float or sequence of 3 floats, optional
        Output size / input size along D, H and W; one number stands for all three. An axis whose
        scale is None, NaN or <= 0 uses the ratio of its sizes.
    align_corners : bool, default False
        Whether the centres of the corner voxels coincide. If True, `scales` have no effect.
    data_format : {"NCDHW", "NDHWC"}, default "NCDHW"
        Order of the axes of `input` and of the result.
    out : ndarray, optional
        Receives the result. It has the result's shape and dtype. Its strides are free, but its
        elements must overlap neither each other nor the source.
    rule : {"aclnn", "torch"}, default "aclnn"
        Whose weights: the exact transpose of aclnnUpsampleTrilinear3dBackward, or those of
        PyTorch's CPU kernel upsample_trilinear3d.
    schedule : {0, 1, 2, 3}, optional
        How the work is divided: SCH_ID of the operators, where 0 is a copy for equal sizes. None
        takes the fastest. The bits of the result are the same for each.
    num_threads : int, optional
        Largest number of threads. None means `get_num_threads()`.

    Returns
    -------
    output : ndarray
        (N, C, oD, oH, oW), or (N, oD, oH, oW, C) if `data_format` is "NDHWC", with the dtype of
        `input`. It is `out` if that is given; a new array is channels-last in memory if `input` is.
        N = 0 or C = 0 gives an empty array.

    Raises
    ------
    ParameterError
        An argument has an impossible value. It is a ValueError; `status` is 161002.
    ParameterTypeError
        An argument has a wrong type. It is a TypeError; `status` is 161001 if a required argument
        is None, else 161002.
    MemoryError
        The result, the workspace or the plan does not fit in memory.

    Notes
    -----
    Sums run along D, then H, then W, in float32 (float64 for float64), and are rounded once. An
    infinity or NaN reaches exactly the results whose weight for it is not zero.

    Without `output_size`, an axis gets floor(size * scale) voxels, and at least 1. A product that
    misses an integer by rounding alone counts as this integer. If half a voxel or less becomes one
    voxel, this voxel spans the whole axis and the scale has no effect; pass None for it to the
    gradient. With rule="torch" it is the plain floor of PyTorch.

    An error is raised before anything is written. A signal handler's exception, such as
    KeyboardInterrupt, ends a long call; each element of `out` is then either unchanged or final.

    Examples
    --------
    >>> import numpy as np
    >>> import upsample3d as up
    >>> x = np.array([0, 1], np.float32).reshape(1, 1, 1, 1, 2)
    >>> up.trilinear(x, (1, 1, 4))
    array([[[[[0.  , 0.25, 0.75, 1.  ]]]]], dtype=float32)
    """
    return call(
        "trilinear", input, out, (None, output_size, scales),
        (align_corners, data_format, rule), (schedule, num_threads),
    )  # fmt: skip
