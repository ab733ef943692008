# SPDX-License-Identifier: Apache-2.0
"""The tilings of the devices, with the names of their parameters, and a shape for them."""

from __future__ import annotations

import pytest

from upsample3d.tiling import nearest_950, nearest_a2, trilinear_a2

CUBE = (1, 1, 32, 32, 32)
PLANS = {
    nearest_950: ("grad_output_shape", "grad_input_shape", "scales"),
    nearest_a2: ("grad_output_shape", "input_size", "scales"),
    trilinear_a2: ("grad_output_shape", "grad_input_shape", "inverse_scales"),
}
each_plan = pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.__name__)
