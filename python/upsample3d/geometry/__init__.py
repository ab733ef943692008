# SPDX-License-Identifier: Apache-2.0
"""Where an index falls: NumPy only."""
