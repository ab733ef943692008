# SPDX-License-Identifier: Apache-2.0
"""How often the rules "aclnn" and "torch" differ with a given scale."""

GIVEN = {
    1.1: (0, 8, 8, 235, 232),
    1.3: (0, 2, 2, 238, 236),
    1.5: (0, 0, 0, 0, 0),
    1.7: (0, 0, 0, 238, 238),
    2.3: (285, 272, 2, 277, 273),
    2.5: (0, 0, 0, 0, 0),
    1.25: (0, 2, 2, 148, 148),
    0.7: (0, 0, 0, 241, 241),
    2.0: (0, 0, 0, 0, 0),
    3.0: (0, 0, 0, 0, 0),
    0.5: (0, 0, 0, 0, 0),
}
"""Of the inputs i <= 300 with o = floor(i s) >= 1, how many differ: nearest-exact windows and
nearest windows between the rules; nearest forward and backward under torch; the maps of a given
scale and of the sizes' ratio under torch, nearest-exact and nearest.

test_rules.py counts them on our bands, test_against_torch.py on PyTorch's own kernels.
"""
