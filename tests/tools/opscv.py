# SPDX-License-Identifier: Apache-2.0
"""The 300 system-test cases of the ops-cv operator library, and gradients for them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import oracle

CASES = json.loads((Path(__file__).parent.parent / "data" / "opscv_st.json").read_text())


def source_bytes(case):
    return math.prod(case["grad_output_shape"]) * oracle.numpy_dtype(case["dtype"]).itemsize


def gradient(kind, shape, dtype, seed):
    """Ones, integers in [-2, 2], or numbers in [-1, 1), drawn plane by plane to save memory."""
    random = np.random.default_rng(seed)
    g = np.ones(shape, oracle.numpy_dtype(dtype))
    for plane in g.reshape(-1, *shape[2:]) if kind != "ones" else ():
        if kind == "integers":
            plane[...] = random.integers(-2, 3, plane.shape, np.int8)
        else:
            plane[...] = 2 * random.random(plane.shape, np.float32) - 1
    return g


def parts(shape, channels):
    """What is compared at a time, for the oracle needs many times the memory of what it checks.

    Of many parts, which are many planes of one size, about eight and the last.
    """
    n, c = shape[:2]
    every = [np.s_[k : k + 1, m : m + channels] for k in range(n) for m in range(0, c, channels)]
    return [*every[:-1][:: max(1, len(every) // 8)], every[-1]]
