# SPDX-License-Identifier: Apache-2.0
"""The options of `upsample3d check`: other spellings, --help, and what a mistake is told."""

# ruff: noqa: F811 - a fixture of another file is an import and an argument

from __future__ import annotations

import pytest
from test_check import A2, GOOD, OPS, TRILINEAR, check  # noqa: F401

from upsample3d.__main__ import main

LAST = {"--format": "NDHWC", "--grad-output-shape": "1,64,64,64,3"}
SIZES = "wanted up to 8 integers from 0 to 2^63 - 1 between commas"
SAID = {
    "sizes": ({"--input-size": "1,1,-1,2,2"}, f"argument --input-size: is '1,1,-1,2,2', {SIZES} ("),
    "number": ({"--output-size": "1,x"}, f"argument --output-size: is '1,x', {SIZES} ("),
    "scales": (
        {"--scales": "2,2"}, "argument --scales: is '2,2', wanted three numbers between commas, or",
    ),
    "cores": ({"--cores": "0"}, "argument --cores: is '0', wanted an integer from 1 to 2^31 - 1"),
}  # fmt: skip


@pytest.mark.parametrize(("options", "said"), SAID.values(), ids=SAID)
def test_mistakes_say_what_is_wanted(check, options, said):
    status, _, error = check(options=options)
    assert status == 2
    assert said in error


@pytest.mark.parametrize("op", OPS)
def test_other_spellings(check, op):
    for short, long in (("fp32", "float32"), ("fp16", "float16"), ("bf16", "bfloat16")):
        plain = check(options={"--op": op, **A2, "--dtype": long})
        assert plain == check(options={"--op": OPS[op], "--soc": "Ascend910B", "--dtype": short})
        assert plain[0] == 0


@pytest.mark.parametrize("given", ["3,0,3", "-1,2,2", "nan,2,2", "-1"])
def test_scales_that_do_not_count_are_told(check, given):
    status, parts, _ = check(options={"--scales": given})
    assert parts["scales"].endswith(") not used to compute: not all are > 0\n")
    assert status == 0


@pytest.mark.parametrize("given", ["0,0,0", "2"])
def test_other_scales_need_no_words(check, given):
    assert "scales" not in check(options={"--scales": given})[1]


def test_limits_beyond_a_refusal(check):
    _, parts, _ = check(options={"--dtype": "float64"})
    assert parts["limits"] == "none beyond phase 1\n"


def test_the_devices_cpu_is_a_rule(check):
    options = {**TRILINEAR, **A2, "--dtype": "float64"}
    assert check(options=options)[1]["tiling"] == (
        "none: the kernel refuses it (dtype is float64, wanted float32 or float16 or bfloat16), "
        "so the device's CPU computes it\n"
    )


def test_sizes_in_the_formats_order_are_explained(check):
    """inputSize is in N, C, D, H, W even where gradOut is N, D, H, W, C."""
    _, parts, _ = check(options={**LAST, "--input-size": "1,32,32,32,3"})
    assert parts["phase 1"].endswith(
        ", as inputSize (N, C, D, H, W) and outputSize (D, H, W) say\n"
    )
    assert check(options={**LAST, "--input-size": "1,3,32,32,32"})[0] == 0


def test_help(capsys):
    assert main(["check", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for words in (
        "The exit status is 0 where the call is legal on that chip, 1 where it is not, 2 where the "
        "command line is malformed.",
        "Both tensors are contiguous and alike in dtype and format.",
        "ascend910b is Atlas A2, ascend910_93 Atlas A3, ascend950 (the default) 950PR and 950DT",
        "in the format's order",
        "--scales=-1,2,2",
    ):
        assert words in said
    assert set(GOOD) == {word for word in said.split() if word in GOOD}
