# SPDX-License-Identifier: Apache-2.0
"""The options of `upsample3d check`: other spellings, --help, and what a mistake is told."""

from __future__ import annotations

import pytest
from check_calls import A2, CHIPS, GOOD, OPS, TRILINEAR

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
        assert plain == check(options={"--op": OPS[op], "--soc": "ASCEND910B", "--dtype": short})
        assert plain[0] == 0


@pytest.mark.parametrize("given", ["3,0,3", "-1,2,2", "nan,2,2", "-1"])
def test_scales_that_do_not_count_are_told(check, given):
    status, parts, _ = check(options={"--scales": given})
    assert parts["scales"].endswith(") do not count, as not all three are > 0\n")
    assert status == 0


@pytest.mark.parametrize("given", ["0,0,0", "2"])
def test_other_scales_need_no_words(check, given):
    assert "scales" not in check(options={"--scales": given})[1]


def test_limits_beyond_a_refusal(check):
    _, parts, _ = check(options={"--dtype": "float64"})
    assert parts["limits"] == "no other documented limit is broken\n"


def test_the_devices_cpu_is_a_rule(check):
    options = {**TRILINEAR, **A2, "--dtype": "float64"}
    assert check(options=options)[1]["ascend910b"] == (
        "legal on Atlas A2: the device's CPU computes it, as the kernel refuses it: dtype is "
        "float64, wanted float32 or float16 or bfloat16\n"
    )


def test_sizes_in_the_formats_order_are_explained(check):
    """inputSize is in N, C, D, H, W even where gradOut is N, D, H, W, C."""
    _, parts, _ = check(options={**LAST, "--input-size": "1,32,32,32,3"})
    assert parts["first phase"].endswith(
        ", as inputSize (N, C, D, H, W) and outputSize (D, H, W) say\n"
    )
    assert check(options={**LAST, "--input-size": "1,3,32,32,32"})[0] == 0


def test_help(capsys):
    assert main(["check", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for words in (
        "The exit status is 0 where the call is legal on a chip, 1 where it is on none, 2 where "
        "the command line is malformed.",
        "Both tensors are contiguous and alike in dtype and format.",
        "the chip, in capitals or not: Ascend910B1 to B4, Atlas A2 or ascend910b; Ascend910_93xx, "
        "Atlas A3 or ascend910_93; Ascend950PR and DT, Ascend 950 or ascend950 (default: all, "
        "without how they share the work)",
        "in the format's order",
        "--scales=-1,2,2",
    ):
        assert words in said
    assert set(GOOD) == {word for word in said.split() if word in GOOD}


# ---- Chips ----

NAMES = {
    "ascend910b": "ascend910b Ascend910B Ascend910B1 ascend910b2 ASCEND910B3 Ascend910B4 910B3 "
    "Ascend910B2C Ascend910B4-1 AtlasA2 atlasa2 A2",
    "ascend910_93": "ascend910_93 Ascend910_93 Ascend910_9391 Ascend910_9392 Ascend910_9372 "
    "ascend910_9382 ASCEND910_9362 Ascend910_9381 910_9391 AtlasA3 A3",
    "ascend950": "ascend950 Ascend950 Ascend950PR Ascend950DT 950PR 950DT ascend950pr "
    "Ascend950PR_9589 Ascend950DT_95A1 Ascend950PR_950z",
}
CORES = {
    "Ascend910B1": 24, "Ascend910B2": 24, "Ascend910B3": 20, "Ascend910B4": 20, "Atlas A2": 48,
    "Ascend910_9391": 24, "Ascend910_9381": 24, "Ascend910_9362": 20, "Ascend910_9372": 20,
    "Ascend910_9300": 48, "Ascend950PR": 64, "Ascend 950": 64,
}  # fmt: skip


@pytest.mark.parametrize(("chip", "names"), NAMES.items(), ids=NAMES)
def test_chips_by_the_names_that_users_know(check, chip, names):
    for name in names.split():
        for spelled in (name, f" {name} ", name.replace("AtlasA", "Atlas A"), name.swapcase()):
            status, parts, _ = check(options={"--soc": spelled})
            assert (status, list(parts)) == (
                0,
                ["operator", "first phase", "limits", chip, "tiling"],
            )


@pytest.mark.parametrize("name", CORES)
def test_a_models_cores_are_the_default(check, name):
    tiling = check(options={"--soc": name})[1]["tiling"]
    assert tiling.startswith(f"for {CORES[name]} ")
    assert tiling == check(options={"--soc": name, "--cores": str(CORES[name])})[1]["tiling"]
    assert check(options={"--soc": name, "--cores": "7"})[1]["tiling"].startswith("for 7 ")


UNKNOWN = [
    "ascend310", "Ascend910", "Ascend910A", "Ascend910B5", "Ascend910_939", "Ascend910_95",
    "Atlas A4", "Atlas 200I/500 A2", "Ascend950XY", "950PR_", "", "ascend", "x" * 200,
]  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN)
def test_other_chips_are_told_the_known_ones(check, name):
    status, parts, error = check(options={"--soc": name})
    assert (status, parts) == (2, {})
    assert error == (
        f"upsample3d check: argument --soc: is {name!r}, wanted Ascend910B1 to B4, Atlas A2 or "
        "ascend910b; Ascend910_93xx, Atlas A3 or ascend910_93; Ascend950PR and DT, Ascend 950 or "
        "ascend950 (--help says more)\n"
    )


def everywhere(**options):
    """The options of a question about all chips."""
    return {key: value for key, value in {**GOOD, **options}.items() if key != "--soc"}


@pytest.fixture
def ask(capsys):
    """A question about all chips: (exit status, lines)."""

    def run(**options):
        status = main(["check", *(f"{k}={v}" for k, v in everywhere(**options).items())])
        return status, capsys.readouterr().out.splitlines()

    return run


@pytest.mark.parametrize("op", OPS)
def test_without_a_chip_all_are_asked(ask, op):
    status, lines = ask(**{"--op": op})
    trilinear = op == "trilinear_backward"
    assert [line.split()[0] for line in lines] == ["operator", "first", "limits", *CHIPS]
    assert lines[3:] == [
        "ascend910b    legal on Atlas A2",
        "ascend910_93  legal on Atlas A3",
        "ascend950     not legal on Ascend 950: it does not have this operator" if trilinear
        else "ascend950     legal on Ascend 950",
    ]  # fmt: skip
    assert status == 0


def test_one_chip_is_enough_and_none_is_1(ask):
    """A2 and A3 take a scale within 1e-6 of 1 for 1, and leave the axis out; 950 does not."""
    sizes = {"--grad-output-shape": "1,1,2,2,1000000", "--input-size": "1,1,1,2,1000001"}
    status, lines = ask(**sizes, **{"--scales": "2,1,0.9999999"})
    why = ": the kernel leaves out W, though the sizes differ"
    assert (status, lines[3:]) == (0, [
        f"ascend910b    not legal on Atlas A2{why}",
        f"ascend910_93  not legal on Atlas A3{why}",
        "ascend950     legal on Ascend 950",
    ])  # fmt: skip
    status, lines = ask(**{"--dtype": "int32"})
    assert (status, [" not legal " in line for line in lines[3:]]) == (1, [True] * 3)


def test_first_phases_that_differ_are_told_apart(ask):
    """Sizes above 2^31 - 1 are looked at on A2 and A3 only; they break a limit everywhere."""
    size = f"1,1,1,1,{2**31}"
    status, lines = ask(**{"--grad-output-shape": size, "--input-size": size})
    assert status == 1
    assert lines[1].startswith(
        "first phase   161002 ACLNN_ERR_PARAM_INVALID: gradOut has shape (1,"
    )
    assert lines[1].endswith("(ascend910b, ascend910_93)")
    assert lines[2] == (
        "first phase   0 ACLNN_SUCCESS: accepted; too large to be computed here (ascend950)"
    )
    assert lines[-3:] == [
        "ascend910b    not legal on Atlas A2: the first phase answers 161002",
        "ascend910_93  not legal on Atlas A3: the first phase answers 161002",
        "ascend950     not legal on Ascend 950: a documented limit is broken",
    ]


def test_a_limit_that_the_first_phase_enforces_is_not_called_kept(ask):
    _, lines = ask(**{"--scales": "51,2,2"})
    assert "scalesD is 51.0" in lines[1]
    assert "no documented limit" not in "".join(lines)
