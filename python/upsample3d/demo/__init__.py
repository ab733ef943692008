# SPDX-License-Identifier: Apache-2.0
"""The demonstration: a volume recovered from its averages."""
