# SPDX-License-Identifier: Apache-2.0
from .cann.phases import *  # noqa: F403
from .cann.phases import __all__ as __all__
from .cann.phases import __doc__ as __doc__
