# SPDX-License-Identifier: Apache-2.0
"""CANN's operators in two phases: the first checks and plans, the second runs."""

from .cann.phases import *  # noqa: F403
from .cann.phases import __all__ as __all__
