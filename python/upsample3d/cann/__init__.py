# SPDX-License-Identifier: Apache-2.0
"""CANN's operators: their phases, tilings, graph operators and errors."""
