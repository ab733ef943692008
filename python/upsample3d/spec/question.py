# SPDX-License-Identifier: Apache-2.0
"""The question, as it is asked."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..geometry.kinds import OPERATIONS
from . import arguments

_FORWARD = "5 integers as input has, or None: the result's D, H, W are output_size"


class Question(NamedTuple):
    """What a caller asks, in one order everywhere: a Plan's parameters, and the key of its cache.

    shape, strides: the source's, in data_format. out: (shape, dtype, strides) of the array that
    takes the result, shape and dtype None where they are right; None where it is to be made.
    """

    op: Any
    shape: Any
    dtype: Any
    input_size: Any = None
    output_size: Any = None
    scales: Any = None
    align_corners: Any = False
    data_format: Any = "NCDHW"
    rule: Any = "aclnn"
    strides: Any = None
    out: tuple[Any, Any, Any] | None = None
    schedule: Any = None
    num_threads: Any = None


def read(asked: Question) -> Question:
    """The question with sizes and scales as tuples of exact types, as `specify` judges them."""
    op, _, _, input_size, output_size, scales, *_ = asked
    if input_size is not None:
        about = OPERATIONS.get(op) if type(op) is str else None
        if about is None or about.backward:
            input_size = arguments.input_size(input_size)
        else:
            input_size = arguments.integers("input_size", input_size, 5, _FORWARD)
    return asked._replace(
        input_size=input_size,
        output_size=None if output_size is None else arguments.output_size(output_size),
        scales=arguments.scales_of(scales),
    )
