# SPDX-License-Identifier: Apache-2.0
"""The forward functions, slow and plain."""

from __future__ import annotations

from numpy.typing import NDArray

from ..spec.types import DataFormat, Element, Rule, Scales, Sizes
from .sums import Order, Real, run


def nearest_exact(
    input: NDArray[Element], output_size: Sizes | None = None, scales: Scales = None, *,
    data_format: DataFormat = "NCDHW", rule: Rule = "aclnn",
    order: Order = "ours", real: Real | None = None,
) -> NDArray[Element]:  # fmt: skip
    """Compute `nearest_exact`, slowly and plainly.

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
    data_format : {"NCDHW", "NDHWC"}, default "NCDHW"
        Order of the axes of `input` and of the result.
    rule : {"aclnn", "torch"}, default "aclnn"
        Which index map: the exact transpose of aclnnUpsampleNearestExact3dBackward, or the map of
        PyTorch's channels-last CPU kernel.
    order : {"ours", "device"}, default "ours"
        Order of summation: the kernel's (D, H, W), whose bits it gives, or the NPU's.
    real : {"float32", "float64"}, optional
        Type of the sums, also between axes. None takes the kernel's: float64 for float64 data, else
        float32. The kernel's weights are converted to it; results are rounded once.

    Returns
    -------
    output : ndarray
        (N, C, oD, oH, oW), or (N, oD, oH, oW, C) if `data_format` is "NDHWC", with the dtype of
        `input`. It is C-contiguous.

    Raises
    ------
    ParameterError
        An argument has an impossible value. It is a ValueError; `status` is 161002.
    ParameterTypeError
        An argument has a wrong type. It is a TypeError; `status` is 161001 if a required argument
        is None, else 161002.

    Notes
    -----
    The caller's floating-point mode has no effect.

    Without `output_size`, an axis gets floor(size * scale) voxels, and at least 1. A product that
    misses an integer by rounding alone counts as this integer. If half a voxel or less becomes one
    voxel, this voxel spans the whole axis and the scale has no effect; pass None for it to the
    gradient. With rule="torch" it is the plain floor of PyTorch.

    Examples
    --------
    >>> import numpy as np
    >>> from upsample3d import reference
    >>> x = np.array([0, 1], np.float32).reshape(1, 1, 1, 1, 2)
    >>> reference.nearest_exact(x, (1, 1, 4))
    array([[[[[0., 0., 1., 1.]]]]], dtype=float32)
    """
    return run("nearest_exact", input, (order, "a2", real), output_size=output_size,
                scales=scales, data_format=data_format, rule=rule)  # fmt: skip


def nearest(
    input: NDArray[Element], output_size: Sizes | None = None, scales: Scales = None, *,
    data_format: DataFormat = "NCDHW", rule: Rule = "aclnn",
    order: Order = "ours", real: Real | None = None,
) -> NDArray[Element]:  # fmt: skip
    """Compute `nearest`, slowly and plainly.

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
    data_format : {"NCDHW", "NDHWC"}, default "NCDHW"
        Order of the axes of `input` and of the result.
    rule : {"aclnn", "torch"}, default "aclnn"
        Which index map: the exact transpose of aclnnUpsampleNearest3dBackward, or that of PyTorch's
        CPU kernel upsample_nearest3d.
    order : {"ours", "device"}, default "ours"
        Order of summation: the kernel's (D, H, W), whose bits it gives, or the NPU's.
    real : {"float32", "float64"}, optional
        Type of the sums, also between axes. None takes the kernel's: float64 for float64 data, else
        float32. The kernel's weights are converted to it; results are rounded once.

    Returns
    -------
    output : ndarray
        (N, C, oD, oH, oW), or (N, oD, oH, oW, C) if `data_format` is "NDHWC", with the dtype of
        `input`. It is C-contiguous.

    Raises
    ------
    ParameterError
        An argument has an impossible value. It is a ValueError; `status` is 161002.
    ParameterTypeError
        An argument has a wrong type. It is a TypeError; `status` is 161001 if a required argument
        is None, else 161002.

    Notes
    -----
    The caller's floating-point mode has no effect.

    Without `output_size`, an axis gets floor(size * scale) voxels, and at least 1. A product that
    misses an integer by rounding alone counts as this integer. If half a voxel or less becomes one
    voxel, this voxel spans the whole axis and the scale has no effect; pass None for it to the
    gradient. With rule="torch" it is the plain floor of PyTorch.

    Examples
    --------
    >>> import numpy as np
    >>> from upsample3d import reference
    >>> x = np.array([0, 1], np.float32).reshape(1, 1, 1, 1, 2)
    >>> reference.nearest(x, (1, 1, 4))
    array([[[[[0., 0., 1., 1.]]]]], dtype=float32)
    """
    return run("nearest", input, (order, "a2", real), output_size=output_size,
                scales=scales, data_format=data_format, rule=rule)  # fmt: skip


def trilinear(
    input: NDArray[Element], output_size: Sizes | None = None, scales: Scales = None, *,
    align_corners: bool = False, data_format: DataFormat = "NCDHW", rule: Rule = "aclnn",
    order: Order = "ours", real: Real | None = None,
) -> NDArray[Element]:  # fmt: skip
    """Compute `trilinear`, slowly and plainly.

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
    rule : {"aclnn", "torch"}, default "aclnn"
        Whose weights: the exact transpose of aclnnUpsampleTrilinear3dBackward, or those of
        PyTorch's CPU kernel upsample_trilinear3d.
    order : {"ours", "device"}, default "ours"
        Order of summation: the kernel's (D, H, W), whose bits it gives, or the NPU's.
    real : {"float32", "float64"}, optional
        Type of the sums, also between axes. None takes the kernel's: float64 for float64 data, else
        float32. The kernel's weights are converted to it; results are rounded once.

    Returns
    -------
    output : ndarray
        (N, C, oD, oH, oW), or (N, oD, oH, oW, C) if `data_format` is "NDHWC", with the dtype of
        `input`. It is C-contiguous.

    Raises
    ------
    ParameterError
        An argument has an impossible value. It is a ValueError; `status` is 161002.
    ParameterTypeError
        An argument has a wrong type. It is a TypeError; `status` is 161001 if a required argument
        is None, else 161002.

    Notes
    -----
    The caller's floating-point mode has no effect.

    Without `output_size`, an axis gets floor(size * scale) voxels, and at least 1. A product that
    misses an integer by rounding alone counts as this integer. If half a voxel or less becomes one
    voxel, this voxel spans the whole axis and the scale has no effect; pass None for it to the
    gradient. With rule="torch" it is the plain floor of PyTorch.

    Examples
    --------
    >>> import numpy as np
    >>> from upsample3d import reference
    >>> x = np.array([0, 1], np.float32).reshape(1, 1, 1, 1, 2)
    >>> reference.trilinear(x, (1, 1, 4))
    array([[[[[0.  , 0.25, 0.75, 1.  ]]]]], dtype=float32)
    """
    return run("trilinear", input, (order, "a2", real), output_size=output_size,
                align_corners=align_corners, scales=scales, data_format=data_format,
                rule=rule)  # fmt: skip
