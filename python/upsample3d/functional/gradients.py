# SPDX-License-Identifier: Apache-2.0
"""The gradients of the forward functions."""

from __future__ import annotations

from numpy.typing import NDArray

from ..spec.types import DataFormat, Element, Rule, Scales, Sizes
from .call import call


def nearest_exact_backward(
    grad_output: NDArray[Element],
    input_size: Sizes,
    scales: Scales = None,
    *,
    output_size: Sizes | None = None,
    data_format: DataFormat = "NCDHW",
    out: NDArray[Element] | None = None,
    rule: Rule = "aclnn",
    schedule: int | None = None,
    num_threads: int | None = None,
) -> NDArray[Element]:
    """Compute the gradient of `nearest_exact` at its input.

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
    output_size : sequence of 3 ints, optional
        (oD, oH, oW). If given, it must be the size of `grad_output`.
    data_format : {"NCDHW", "NDHWC"}, default "NCDHW"
        Order of the axes of `grad_output` and of the result.
    out : ndarray, optional
        Receives the result. It has the result's shape and dtype. Its strides are free, but its
        elements must overlap neither each other nor the source.
    rule : {"aclnn", "torch"}, default "aclnn"
        Whose windows: those of the CANN operator aclnnUpsampleNearestExact3dBackward, or of
        PyTorch's CPU kernel _upsample_nearest_exact3d_backward.
    schedule : {0, 1, 2, 3}, optional
        How the work is divided: SCH_ID of the operators, where 0 is a copy for equal sizes. None
        takes the fastest. The bits of the result are the same for each.
    num_threads : int, optional
        Largest number of threads. None means `get_num_threads()`.

    Returns
    -------
    grad_input : ndarray
        (N, C, iD, iH, iW), or (N, iD, iH, iW, C) if `data_format` is "NDHWC", with the dtype of
        `grad_output`. It is `out` if that is given; a new array is channels-last in memory if
        `grad_output` is. N = 0 or C = 0 gives an empty array.

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
    Each element of `grad_input` is the sum of its window of `grad_output`; an empty window gives 0.
    Sums run along D, then H, then W, in float32 (float64 for float64), and are rounded once.

    An error is raised before anything is written. A signal handler's exception, such as
    KeyboardInterrupt, ends a long call; each element of `out` is then either unchanged or final.

    Examples
    --------
    >>> import numpy as np
    >>> import upsample3d as up
    >>> grad_output = np.arange(4, dtype=np.float32).reshape(1, 1, 1, 1, 4)
    >>> up.nearest_exact_backward(grad_output, (1, 1, 1, 1, 2))
    array([[[[[1., 5.]]]]], dtype=float32)
    """
    return call(
        "nearest_exact_backward", grad_output, out, (input_size, output_size, scales),
        (False, data_format, rule), (schedule, num_threads),
    )  # fmt: skip


def nearest_backward(
    grad_output: NDArray[Element],
    input_size: Sizes,
    scales: Scales = None,
    *,
    output_size: Sizes | None = None,
    data_format: DataFormat = "NCDHW",
    out: NDArray[Element] | None = None,
    rule: Rule = "aclnn",
    schedule: int | None = None,
    num_threads: int | None = None,
) -> NDArray[Element]:
    """Compute the gradient of `nearest` at its input.

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
    output_size : sequence of 3 ints, optional
        (oD, oH, oW). If given, it must be the size of `grad_output`.
    data_format : {"NCDHW", "NDHWC"}, default "NCDHW"
        Order of the axes of `grad_output` and of the result.
    out : ndarray, optional
        Receives the result. It has the result's shape and dtype. Its strides are free, but its
        elements must overlap neither each other nor the source.
    rule : {"aclnn", "torch"}, default "aclnn"
        Whose windows: those of the CANN operator aclnnUpsampleNearest3dBackward, or of PyTorch's
        CPU kernel upsample_nearest3d_backward.
    schedule : {0, 1, 2, 3}, optional
        How the work is divided: SCH_ID of the operators, where 0 is a copy for equal sizes. None
        takes the fastest. The bits of the result are the same for each.
    num_threads : int, optional
        Largest number of threads. None means `get_num_threads()`.

    Returns
    -------
    grad_input : ndarray
        (N, C, iD, iH, iW), or (N, iD, iH, iW, C) if `data_format` is "NDHWC", with the dtype of
        `grad_output`. It is `out` if that is given; a new array is channels-last in memory if
        `grad_output` is. N = 0 or C = 0 gives an empty array.

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
    Each element of `grad_input` is the sum of its window of `grad_output`; an empty window gives 0.
    Sums run along D, then H, then W, in float32 (float64 for float64), and are rounded once.

    An error is raised before anything is written. A signal handler's exception, such as
    KeyboardInterrupt, ends a long call; each element of `out` is then either unchanged or final.

    Examples
    --------
    >>> import numpy as np
    >>> import upsample3d as up
    >>> grad_output = np.arange(4, dtype=np.float32).reshape(1, 1, 1, 1, 4)
    >>> up.nearest_backward(grad_output, (1, 1, 1, 1, 2))
    array([[[[[1., 5.]]]]], dtype=float32)
    """
    return call(
        "nearest_backward", grad_output, out, (input_size, output_size, scales),
        (False, data_format, rule), (schedule, num_threads),
    )  # fmt: skip


def trilinear_backward(
    grad_output: NDArray[Element],
    input_size: Sizes,
    scales: Scales = None,
    *,
    align_corners: bool = False,
    output_size: Sizes | None = None,
    data_format: DataFormat = "NCDHW",
    out: NDArray[Element] | None = None,
    rule: Rule = "aclnn",
    schedule: int | None = None,
    num_threads: int | None = None,
) -> NDArray[Element]:
    """Compute the gradient of `trilinear` at its input.

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
    output_size : sequence of 3 ints, optional
        (oD, oH, oW). If given, it must be the size of `grad_output`.
    data_format : {"NCDHW", "NDHWC"}, default "NCDHW"
        Order of the axes of `grad_output` and of the result.
    out : ndarray, optional
        Receives the result. It has the result's shape and dtype. Its strides are free, but its
        elements must overlap neither each other nor the source.
    rule : {"aclnn", "torch"}, default "aclnn"
        Whose weights: those of the CANN operator aclnnUpsampleTrilinear3dBackward, or of PyTorch's
        CPU kernel upsample_trilinear3d_backward.
    schedule : {0, 1, 2, 3}, optional
        How the work is divided: SCH_ID of the operators, where 0 is a copy for equal sizes. None
        takes the fastest. The bits of the result are the same for each.
    num_threads : int, optional
        Largest number of threads. None means `get_num_threads()`.

    Returns
    -------
    grad_input : ndarray
        (N, C, iD, iH, iW), or (N, iD, iH, iW, C) if `data_format` is "NDHWC", with the dtype of
        `grad_output`. It is `out` if that is given; a new array is channels-last in memory if
        `grad_output` is. N = 0 or C = 0 gives an empty array.

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
    Each element of `grad_input` is the weighted sum of its window of `grad_output`. Sums run along
    D, then H, then W, in float32 (float64 for float64), and are rounded once. An infinity or NaN
    reaches exactly the results whose weight for it is not zero.

    An error is raised before anything is written. A signal handler's exception, such as
    KeyboardInterrupt, ends a long call; each element of `out` is then either unchanged or final.

    Examples
    --------
    >>> import numpy as np
    >>> import upsample3d as up
    >>> grad_output = np.arange(4, dtype=np.float32).reshape(1, 1, 1, 1, 4)
    >>> up.trilinear_backward(grad_output, (1, 1, 1, 1, 2))
    array([[[[[1.25, 4.75]]]]], dtype=float32)
    """
    return call(
        "trilinear_backward", grad_output, out, (input_size, output_size, scales),
        (align_corners, data_format, rule), (schedule, num_threads),
    )  # fmt: skip
