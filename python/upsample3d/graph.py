# SPDX-License-Identifier: Apache-2.0
from .cann.ir import *  # noqa: F403
from .cann.ir import __all__ as __all__
from .cann.ir import __doc__ as __doc__
