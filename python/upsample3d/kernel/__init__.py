# SPDX-License-Identifier: Apache-2.0
"""The compiled kernels, and the choice of one."""
