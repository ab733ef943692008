# SPDX-License-Identifier: Apache-2.0
"""From a question to a job for the kernel."""
