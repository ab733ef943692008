# SPDX-License-Identifier: Apache-2.0
"""The functions people call: each a cached Plan, run once."""

# Docstrings stand whole in the source, where editors read them: a template would be filled for
# help() alone. tests/meta/test_docstrings.py holds the paragraphs that functions share to the same
# words.

from .about import bands, get_num_threads, set_num_threads
from .gradients import nearest_backward, nearest_exact_backward, trilinear_backward
from .resampling import nearest, nearest_exact, trilinear

__all__ = [
    "bands", "get_num_threads", "nearest", "nearest_backward", "nearest_exact",
    "nearest_exact_backward", "set_num_threads", "trilinear", "trilinear_backward",
]  # fmt: skip
