# SPDX-License-Identifier: Apache-2.0
from .frameworks.torch_override import *  # noqa: F403
from .frameworks.torch_override import __all__ as __all__
from .frameworks.torch_override import __doc__ as __doc__
