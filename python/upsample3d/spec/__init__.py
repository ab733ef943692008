# SPDX-License-Identifier: Apache-2.0
"""The question, and whether it can be asked."""
