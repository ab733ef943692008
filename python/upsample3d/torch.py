# SPDX-License-Identifier: Apache-2.0
"""PyTorch's 3-D up-sampling on these kernels: `enable()` in eager code, or `interpolate`."""

from .frameworks.torch_override import *  # noqa: F403
from .frameworks.torch_override import __all__ as __all__
