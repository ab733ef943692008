# SPDX-License-Identifier: Apache-2.0
"""What all six functions do: arguments become a cached Plan, which runs once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..geometry.kinds import OPERATIONS
from ..kernel import cpu
from ..plan import buffers
from ..plan.buffers import Array
from ..plan.cache import planned
from ..plan.machine import allowed_threads
from ..plan.plan import Plan
from ..spec import arguments
from ..spec.errors import ParameterError, ParameterTypeError


def call(
    op: str,
    source: Array,
    out: Array | None,
    sizes: tuple[Any, Any, Any],
    rules: tuple[bool, str, str],
    limits: tuple[Any, Any],
) -> Array:
    """Run the cached Plan of these arguments.

    sizes: input_size, output_size, scales. rules: align_corners, data_format, rule. limits:
    schedule, num_threads.
    """
    if type(source) is not np.ndarray:
        source = buffers.check_array(OPERATIONS[op].source, source)
    target = place = None
    if out is not None:
        target = buffers.check_array("out", out)
        place = target.shape, target.dtype, target.strides
    input_size, output_size, scales = sizes
    if input_size is not None:
        input_size = arguments.input_size(input_size)
    if output_size is not None:
        output_size = arguments.output_size(output_size)
    if scales is not None:
        scales = cpu.in_default_mode(arguments.scales_of, scales)
    key = (
        allowed_threads(), op, source.shape, source.dtype, input_size, output_size, scales, *rules,
        source.strides, place, *limits,
    )  # fmt: skip
    try:
        plan: Plan = planned(*key)
    except (ParameterError, ParameterTypeError, MemoryError):
        raise
    except Exception:  # what cannot be hashed or compared is no argument: the plain way names it
        plan = planned.__wrapped__(*key)
    result = plan.run(source, target)
    return result if out is None else out
