# SPDX-License-Identifier: Apache-2.0
"""The arrays of other libraries."""
