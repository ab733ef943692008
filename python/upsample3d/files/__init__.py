# SPDX-License-Identifier: Apache-2.0
"""Volumes from file to file."""
