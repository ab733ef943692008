# SPDX-License-Identifier: Apache-2.0
"""`upsample3d check`: the tiling's numbers, and sizes too large for a plan."""

from __future__ import annotations

import numpy as np
import pytest
from check_calls import A2, A950, CHIPS, OPS, TRILINEAR

from upsample3d import tiling


def test_tiling_numbers_of_950(check):
    status, parts, _ = check(options={**A950, "--scales": "2"})
    planned = tiling.nearest_950((1, 1, 64, 64, 64), (1, 1, 32, 32, 32), scales=(2, 2, 2))
    assert status == 0
    for name in ("sch_id", "cores", "tiling_key", "workspace_size", "block_factor", "tail",
                 "ub_factor", "uint32", "threads", "len_n", "len_c", "scales"):  # fmt: skip
        assert f"{name} {getattr(planned, name)}" in parts["tiling"]
    assert "tiling_key 259" in parts["tiling"]
    assert parts["tiling"].startswith("for 64 vector cores:\n")


def test_tiling_numbers_of_a2(check):
    """bfloat16 is cast to float32 on the way, so the workspace has its size."""
    for extra in ({}, {"--dtype": "bfloat16"}):
        options = {**TRILINEAR, **A2, "--scales": "2,2,2", "--cores": "24", **extra}
        status, parts, _ = check(options=options)
        planned = tiling.trilinear_a2(
            (1, 1, 64, 64, 64), (1, 1, 32, 32, 32), inverse_scales=(0.5,) * 3, cores=24
        )
        assert status == 0
        assert f"workspace_size {planned.workspace_size}\n" in parts["tiling"]
        assert f"radio {planned.radio}\n" in parts["tiling"]
        assert parts["tiling"].startswith("for 24 cube cores:\n")
        for axis, done in zip("DHW", planned.passes, strict=True):
            assert f"{axis}: scale 0.5, k {done.k}, " in parts["tiling"]


def test_scales_of_trilinear_are_inverted_in_double(check):
    _, parts, _ = check(options={**TRILINEAR, **A2, "--scales": "3,3,3",
        "--grad-output-shape": "1,1,9,9,9", "--input-size": "1,1,3,3,3"})  # fmt: skip
    assert f"D: scale {float(np.float32(1 / 3))}, " in parts["tiling"]


def test_scales_count_only_together(check):
    _, some, _ = check(options={"--scales": "3,0,3"})
    _, none, _ = check()
    assert some["tiling"] == none["tiling"]
    assert check(options={"--scales": "nan,2,2"})[1]["tiling"] == none["tiling"]


def test_format_and_corners(check):
    last = {"--format": "NDHWC", "--grad-output-shape": "2,8,10,12,3", "--input-size": "2,3,4,5,6"}
    assert check(options=last)[0] == 0
    first = {"--grad-output-shape": "2,3,8,10,12", "--input-size": "2,3,4,5,6"}
    assert check(options=last)[1]["tiling"] == check(options=first)[1]["tiling"]
    options = {**TRILINEAR, **A2, **last}
    status, parts, _ = check("--align-corners", options=options)
    assert status == 0
    assert f"D: scale {float(np.float32(3) / np.float32(7))}, " in parts["tiling"]
    assert "D: scale 0.5, " in check(options=options)[1]["tiling"]


def shape(*sizes):
    return ",".join(map(str, sizes))


HUGE = 2**31
PLANNED = "0 ACLNN_SUCCESS: accepted; computed here it needs a workspace of "
TOO_LARGE = "0 ACLNN_SUCCESS: accepted; too large to be computed here"
EMPTY = "0 ACLNN_SUCCESS: accepted, and as N or C is 0 nothing is computed"
LARGE = {  # gradOut, inputSize -> what the first phase says, what the limits say
    "just planned": ((1, 1, 1, 1, 2**24), (1, 1, 1, 1, 2**24), PLANNED, "2^20"),
    "2^24 + 1": ((1, 1, 1, 1, 2**24 + 1), (1, 1, 1, 1, 2**24), TOO_LARGE, "2^20"),
    "2^31 - 1": ((1, 1, 1, 1, HUGE - 1), (1, 1, 1, 1, HUGE - 1), TOO_LARGE, "2^20"),
    "2^31": ((1, 1, 1, 1, HUGE), (1, 1, 1, 1, HUGE), "", "2^31 - 1"),
    "2^63 bytes": ((2**20,) * 4 + (1,), (2**20,) * 4 + (1,), TOO_LARGE, "60 GiB"),
    "all of int64": ((2**63 - 1,) * 5, (2**63 - 1,) * 5, "", "2^31 - 1"),
    "N = 0": ((0, 1) + (2**20,) * 3, (0, 1) + (2**20,) * 3, EMPTY, "empty"),
    "C = 0": ((1, 0) + (HUGE - 1,) * 3, (1, 0) + (HUGE - 1,) * 3, EMPTY, "empty"),
}


@pytest.mark.parametrize("case", LARGE)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("op", OPS)
def test_large_sizes_are_answered(check, op, chip, case):
    out, into, first, limit = LARGE[case]
    options = {"--op": op, "--soc": chip, "--grad-output-shape": shape(*out),
               "--input-size": shape(*into)}  # fmt: skip
    status, parts, error = check(options=options)
    assert (status, error) == (1, "")
    assert limit in parts["limits"]
    if not first:  # sizes past int32 are tested on all chips but ascend950
        first = TOO_LARGE if chip == "ascend950" else "161002 ACLNN_ERR_PARAM_INVALID: gradOut has"
    assert parts["first phase"].startswith(first)


def test_a_large_call_can_be_refused_too(check):
    options = {"--grad-output-shape": shape(1, 1, 1, 1, 2**25), "--input-size": "1,1,1,1,1"}
    status, parts, _ = check(options=options)
    said = "161002 ACLNN_ERR_PARAM_INVALID: outputSize[2] / inputSize[4]"
    assert parts["first phase"].startswith(said)
    assert status == 1
