# SPDX-License-Identifier: Apache-2.0
"""The IR operators behind the gradients: attributes, the shape and type they infer, and running."""

from .cann.ir import *  # noqa: F403
from .cann.ir import __all__ as __all__
