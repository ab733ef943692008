# SPDX-License-Identifier: Apache-2.0
"""The functions people call: each a cached Plan, run once."""

from .about import bands, get_num_threads, set_num_threads
from .gradients import nearest_backward, nearest_exact_backward, trilinear_backward
from .resampling import nearest, nearest_exact, trilinear

__all__ = [
    "bands",
    "get_num_threads",
    "nearest",
    "nearest_backward",
    "nearest_exact",
    "nearest_exact_backward",
    "set_num_threads",
    "trilinear",
    "trilinear_backward",
]
