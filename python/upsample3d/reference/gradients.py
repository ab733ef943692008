# SPDX-License-Identifier: Apache-2.0
"""The gradients, slow and plain."""

from __future__ import annotations

from numpy.typing import NDArray

from ..spec.types import DataFormat, Element, Rule, Scales, Sizes
from .sums import Device, Order, Real, run


def nearest_exact_backward(
    grad_output: NDArray[Element], input_size: Sizes, scales: Scales = None, *,
    data_format: DataFormat = "NCDHW", rule: Rule = "aclnn", order: Order = "ours",
    device: Device = "950", real: Real | None = None,
) -> NDArray[Element]:  # fmt: skip
    """Compute the gradient of `nearest_exact` at its input, slowly and plainly.

    Parameters
    ----------
    grad_output : ndarray
        Gradient at the output, of shape (N, C, oD, oH, oW), or (N, oD, oH, oW, C) if `data_format`
        is "NDHWC". float32, float16, bfloat16 (of ml_dtypes) or float64; any strides.
    input_size : sequence of 5 ints
        (N, C, iD, iH, iW), in this order for both data formats.
    scales : float or sequence of 3 floats, optional
        Output size / input size along D, H and W; one number stands for all three. An axis whose
        scale is None, NaN or <= 0 uses the ratio of its sizes.
    data_format : {"NCDHW", "NDHWC"}, default "NCDHW"
        Order of the axes of `grad_output` and of the result.
    rule : {"aclnn", "torch"}, default "aclnn"
        Whose windows: those of the CANN operator aclnnUpsampleNearestExact3dBackward, or of
        PyTorch's CPU kernel _upsample_nearest_exact3d_backward.
    order : {"ours", "device"}, default "ours"
        Order of summation: the kernel's (D, H, W), whose bits it gives, or the NPU's.
    device : {"950", "a2"}, default "950"
        Whose order `order="device"` is: that of Ascend 950, or of Atlas A2 and A3.
    real : {"float32", "float64"}, optional
        Type of the sums, also between axes. None takes the kernel's: float64 for float64 data, else
        float32. The kernel's weights are converted to it; results are rounded once.

    Returns
    -------
    grad_input : ndarray
        (N, C, iD, iH, iW), or (N, iD, iH, iW, C) if `data_format` is "NDHWC", with the dtype of
        `grad_output`. It is C-contiguous.

    Raises
    ------
    ParameterError
        An argument has an impossible value. It is a ValueError; `status` is 161002.
    ParameterTypeError
        An argument has a wrong type. It is a TypeError; `status` is 161001 if a required argument
        is None, else 161002.

    Notes
    -----
    Each element of `grad_input` is the sum of its window of `grad_output`; an empty window gives 0.
    The caller's floating-point mode has no effect.

    Examples
    --------
    >>> import numpy as np
    >>> from upsample3d import reference
    >>> grad_output = np.arange(4, dtype=np.float32).reshape(1, 1, 1, 1, 4)
    >>> reference.nearest_exact_backward(grad_output, (1, 1, 1, 1, 2))
    array([[[[[1., 5.]]]]], dtype=float32)
    """
    return run("nearest_exact_backward", grad_output, (order, device, real), input_size=input_size,
                scales=scales, data_format=data_format, rule=rule)  # fmt: skip


def nearest_backward(
    grad_output: NDArray[Element], input_size: Sizes, scales: Scales = None, *,
    data_format: DataFormat = "NCDHW", rule: Rule = "aclnn", order: Order = "ours",
    device: Device = "950", real: Real | None = None,
) -> NDArray[Element]:  # fmt: skip
    """Compute the gradient of `nearest` at its input, slowly and plainly.

    Parameters
    ----------
    grad_output : ndarray
        Gradient at the output, of shape (N, C, oD, oH, oW), or (N, oD, oH, oW, C) if `data_format`
        is "NDHWC". float32, float16, bfloat16 (of ml_dtypes) or float64; any strides.
    input_size : sequence of 5 ints
        (N, C, iD, iH, iW), in this order for both data formats.
    scales : float or sequence of 3 floats, optional
        Output size / input size along D, H and W; one number stands for all three. An axis whose
        scale is None, NaN or <= 0 uses the ratio of its sizes.
    data_format : {"NCDHW", "NDHWC"}, default "NCDHW"
        Order of the axes of `grad_output` and of the result.
    rule : {"aclnn", "torch"}, default "aclnn"
        Whose windows: those of the CANN operator aclnnUpsampleNearest3dBackward, or of PyTorch's
        CPU kernel upsample_nearest3d_backward.
    order : {"ours", "device"}, default "ours"
        Order of summation: the kernel's (D, H, W), whose bits it gives, or the NPU's.
    device : {"950", "a2"}, default "950"
        Whose order `order="device"` is: that of Ascend 950, or of Atlas A2 and A3.
    real : {"float32", "float64"}, optional
        Type of the sums, also between axes. None takes the kernel's: float64 for float64 data, else
        float32. The kernel's weights are converted to it; results are rounded once.

    Returns
    -------
    grad_input : ndarray
        (N, C, iD, iH, iW), or (N, iD, iH, iW, C) if `data_format` is "NDHWC", with the dtype of
        `grad_output`. It is C-contiguous.

    Raises
    ------
    ParameterError
        An argument has an impossible value. It is a ValueError; `status` is 161002.
    ParameterTypeError
        An argument has a wrong type. It is a TypeError; `status` is 161001 if a required argument
        is None, else 161002.

    Notes
    -----
    Each element of `grad_input` is the sum of its window of `grad_output`; an empty window gives 0.
    The caller's floating-point mode has no effect.

    Examples
    --------
    >>> import numpy as np
    >>> from upsample3d import reference
    >>> grad_output = np.arange(4, dtype=np.float32).reshape(1, 1, 1, 1, 4)
    >>> reference.nearest_backward(grad_output, (1, 1, 1, 1, 2))
    array([[[[[1., 5.]]]]], dtype=float32)
    """
    return run("nearest_backward", grad_output, (order, device, real), input_size=input_size,
                scales=scales, data_format=data_format, rule=rule)  # fmt: skip


def trilinear_backward(
    grad_output: NDArray[Element], input_size: Sizes, scales: Scales = None, *,
    align_corners: bool = False, data_format: DataFormat = "NCDHW", rule: Rule = "aclnn",
    order: Order = "ours", real: Real | None = None,
) -> NDArray[Element]:  # fmt: skip
    """Compute the gradient of `trilinear` at its input, slowly and plainly.

    Parameters
    ----------
    grad_output : ndarray
        Gradient at the output, of shape (N, C, oD, oH, oW), or (N, oD, oH, oW, C) if `data_format`
        is "NDHWC". float32, float16, bfloat16 (of ml_dtypes) or float64; any strides.
    input_size : sequence of 5 ints
        (N, C, iD, iH, iW), in this order for both data formats.
    scales : float or sequence of 3 floats, optional
        Output size / input size along D, H and W; one number stands for all three. An axis whose
        scale is None, NaN or <= 0 uses the ratio of its sizes.
    align_corners : bool, default False
        Whether the centres of the corner voxels coincide. If True, `scales` have no effect.
    data_format : {"NCDHW", "NDHWC"}, default "NCDHW"
        Order of the axes of `grad_output` and of the result.
    rule : {"aclnn", "torch"}, default "aclnn"
        Whose weights: those of the CANN operator aclnnUpsampleTrilinear3dBackward, or of PyTorch's
        CPU kernel upsample_trilinear3d_backward.
    order : {"ours", "device"}, default "ours"
        Order of summation: the kernel's (D, H, W), whose bits it gives, or the NPU's.
    real : {"float32", "float64"}, optional
        Type of the sums, also between axes. None takes the kernel's: float64 for float64 data, else
        float32. The kernel's weights are converted to it; results are rounded once.

    Returns
    -------
    grad_input : ndarray
        (N, C, iD, iH, iW), or (N, iD, iH, iW, C) if `data_format` is "NDHWC", with the dtype of
        `grad_output`. It is C-contiguous.

    Raises
    ------
    ParameterError
        An argument has an impossible value. It is a ValueError; `status` is 161002.
    ParameterTypeError
        An argument has a wrong type. It is a TypeError; `status` is 161001 if a required argument
        is None, else 161002.

    Notes
    -----
    Each element of `grad_input` is the weighted sum of its window of `grad_output`. The caller's
    floating-point mode has no effect.

    Examples
    --------
    >>> import numpy as np
    >>> from upsample3d import reference
    >>> grad_output = np.arange(4, dtype=np.float32).reshape(1, 1, 1, 1, 4)
    >>> reference.trilinear_backward(grad_output, (1, 1, 1, 1, 2))
    array([[[[[1.25, 4.75]]]]], dtype=float32)
    """
    return run("trilinear_backward", grad_output, (order, "a2", real), input_size=input_size,
                align_corners=align_corners, scales=scales, data_format=data_format,
                rule=rule)  # fmt: skip
