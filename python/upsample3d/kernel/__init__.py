# SPDX-License-Identifier: Apache-2.0
"""What is compiled, and which of it runs here."""
