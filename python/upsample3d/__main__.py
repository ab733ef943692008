# SPDX-License-Identifier: Apache-2.0
"""The command line: `python -m upsample3d`."""

import sys

from .commands.main import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
