# SPDX-License-Identifier: Apache-2.0
from .cann.tiling import *  # noqa: F403
from .cann.tiling import __all__ as __all__
from .cann.tiling import __doc__ as __doc__
