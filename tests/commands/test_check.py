# SPDX-License-Identifier: Apache-2.0
"""`upsample3d check`: what it prints, and that its exit status is 0 only for legal calls."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from check_calls import A2, CHIPS, GOOD, OPS, TRILINEAR

from upsample3d import aclnn


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("chip", CHIPS)
def test_product_table(check, op, chip):
    status, parts, _ = check(options={"--op": op, "--soc": chip})
    supported = (op, chip) != ("trilinear_backward", "ascend950")
    assert parts["operator"] == f"{OPS[op]}\n"
    assert parts["first phase"].startswith("0 ACLNN_SUCCESS: accepted; computed here it needs a ")
    assert parts["limits"] == "no documented limit is broken\n"
    verdict = "legal on" if supported else "not legal on"
    why = "" if supported else ": it does not have this operator"
    assert parts[chip] == f"{verdict} {CHIPS[chip]}{why}\n"
    assert status == (0 if supported else 1)
    assert ("tiling" in parts) == supported


def test_workspace_is_that_of_the_first_phase(check):
    grad_output = np.ones((1, 1, 64, 64, 64), np.float32)
    grad_input = np.empty((1, 1, 32, 32, 32), np.float32)
    _, size, _ = aclnn.aclnnUpsampleNearestExact3dBackwardGetWorkspaceSize(
        aclnn.AclTensor.from_array(grad_output), (64, 64, 64), (1, 1, 32, 32, 32), 0.0, 0.0, 0.0,
        aclnn.AclTensor.from_array(grad_input),
    )  # fmt: skip
    assert size > 0
    assert f"a workspace of {size} bytes" in check()[1]["first phase"]


REFUSED = {
    "dtype": ({"--dtype": "float64"}, "gradOut has dtype ACL_DOUBLE"),
    "int32": ({"--dtype": "int32"}, "gradOut has dtype ACL_INT32"),
    "rank": ({"--grad-output-shape": "1,64,64,64"}, "gradOut has shape (1, 64, 64, 64)"),
    "output_size": ({"--output-size": "64,64"}, "outputSize is (64, 64)"),
    "input_size": ({"--input-size": "1,32,32,32"}, "inputSize is (1, 32, 32, 32)"),
    "D": ({"--input-size": "1,1,0,32,32"}, "inputSize is (1, 1, 0, 32, 32)"),
    "gradOut": ({"--output-size": "64,64,63"}, "gradOut has shape"),
    "C": ({"--input-size": "1,2,32,32,32"}, "gradOut has shape"),
    "scale": ({"--scales": "50.5,2,2"}, "scalesD is 50.5"),
    "ratio": ({"--input-size": "1,1,1,32,32"}, "64.0"),
    "NDHWC": ({"--format": "NDHWC"}, "gradOut has shape"),
    "trilinear NCHW": ({**TRILINEAR, **A2, "--format": "NCHW"}, "ACL_FORMAT_NCHW"),
}


@pytest.mark.parametrize(("options", "said"), REFUSED.values(), ids=REFUSED)
def test_what_the_first_phase_refuses(check, options, said):
    status, parts, _ = check(options=options)
    assert parts["first phase"].startswith("161002 ACLNN_ERR_PARAM_INVALID: ")
    assert said in parts["first phase"]
    assert "tiling" not in parts
    assert status == 1
    chip = options.get("--soc", "ascend950")
    said = f"not legal on {CHIPS[chip]}: the first phase answers 161002\n"
    assert parts[chip] == said
    no_5 = any(
        options.get(name, "1,1,1,1,1").count(",") != 4
        for name in ("--grad-output-shape", "--input-size")
    )
    not_looked_at = "not looked at: the shapes do not have 5 dimensions\n"
    assert (parts["limits"] == not_looked_at) == no_5


BROKEN = {
    "floor": ({"--scales": "2,2,1.5"}, "floor(32 * scalesW)"),
    "N = 0": ({"--grad-output-shape": "0,1,2,2,2", "--input-size": "0,1,1,1,1"}, "empty"),
    "2^20": (
        {"--grad-output-shape": "1,1,1,1,1048577", "--input-size": "1,1,1,1,1048576"}, "2^20",
    ),
    "60 GiB": (
        {"--grad-output-shape": "1,4096,128,128,128", "--input-size": "1,4096,64,64,64"},
        "60 GiB",
    ),
    "N C oD oH": (
        {"--grad-output-shape": "1024,1024,64,64,1", "--input-size": "1024,1024,32,32,1"},
        "N * C * oD * oH is 4294967296",
    ),
    "iW iH": (
        {"--grad-output-shape": "1,1,1,65536,65536", "--input-size": "1,1,1,65536,32768"},
        "iW * iH is 2147483648",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("options", "said"), BROKEN.values(), ids=BROKEN)
def test_broken_limits_are_not_legal(check, options, said):
    status, parts, _ = check(options=options)
    assert parts["first phase"].startswith("0 ")
    assert said in parts["limits"]
    assert parts["ascend950"] == "not legal on Ascend 950: a documented limit is broken\n"
    assert status == 1


def test_one_channel_below_60_gib_is_legal(check):
    options = {"--grad-output-shape": "1,4095,128,128,128", "--input-size": "1,4095,64,64,64"}
    status, parts, _ = check(options=options)
    assert parts["limits"] == "no documented limit is broken\n"
    assert status == 0


def test_tensors_take_no_memory(check):
    tracemalloc.start()
    try:
        options = {"--input-size": "64,1024,1,512,512"}
        options["--grad-output-shape"] = "64,1024,1,1024,1024"
        status, parts, _ = check(options=options)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (status, parts["first phase"][:2]) == (1, "0 ")  # 256 GiB of grad_output
    assert peak < 5_000_000


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("op", ["nearest_backward", "trilinear_backward"])
def test_the_devices_cpu_takes_what_kernels_do_not(check, op, chip):
    large = {"--op": op, "--soc": chip, "--grad-output-shape": "1,1,51,2,2",
             "--input-size": "1,1,1,2,2"}  # fmt: skip
    status, parts, _ = check(options={**large, "--dtype": "float64"})
    supported = (op, chip) != ("trilinear_backward", "ascend950")
    assert ("the device's CPU" in parts[chip]) == supported
    assert status == (0 if supported else 1)
    native = (op, chip) == ("nearest_backward", "ascend950")
    assert ("the device's CPU" in check(options=large)[1][chip]) == (supported and not native)


def test_an_axis_that_the_device_skips(check):
    options = {**TRILINEAR, **A2, "--grad-output-shape": "1,1,2,2,1048576",
               "--input-size": "1,1,1,2,1048575"}  # fmt: skip
    status, parts, _ = check(options=options)
    assert parts["limits"] == "no documented limit is broken\n"
    assert parts["ascend910b"].endswith(": the kernel leaves out W, though the sizes differ\n")
    assert "H: scale 1.0, no pass\n" in parts["tiling"]
    assert status == 1


MISTAKES = {
    "op": {"--op": "linear"},
    "shape": {"--grad-output-shape": "1,1,64,64,x"},
    "negative": {"--input-size": "1,1,-1,2,2"},
    "scales": {"--scales": "2,2"},
    "chip": {"--soc": "ascend310"},
    "format": {"--format": "NHWDC"},
    "dtype": {"--dtype": "float8"},
    "cores": {"--cores": "many"},
    "too many cores": {"--cores": "2147483648"},
    "too many sizes": {"--input-size": "1,1,1,1,1,1,1,1,1"},
    "many sizes": {"--output-size": ",".join("1" * 1000)},
    "past int64": {"--grad-output-shape": "1,1,1,1,9223372036854775808"},
    "digits": {"--grad-output-shape": "9" * 5000},
}


@pytest.mark.parametrize("options", MISTAKES.values(), ids=MISTAKES)
def test_mistakes(check, options):
    status, parts, error = check(options=options)
    assert status == 2
    assert parts == {}
    assert error.count("\n") == 1
    assert next(iter(options)) in error


def test_corners_are_trilinears(check):
    status, _, error = check("--align-corners")
    assert status == 2
    assert "--align-corners" in error


@pytest.mark.parametrize("cores", ["0", "-5"])
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("op", OPS)
def test_cores_of_none(check, op, chip, cores):
    status, parts, error = check(options={"--op": op, "--soc": chip, "--cores": cores})
    assert (status, parts) == (2, {})
    assert "--cores" in error


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("op", OPS)
def test_scales_count_all_or_none_on_every_chip(check, op, chip):
    where = {"--op": op, "--soc": chip}
    _, none, _ = check(options=where)
    for some in ("3,0,3", "0,3,3", "3,3,0", "nan,3,3", "3,-1,3"):
        _, parts, _ = check(options={**where, "--scales": some})
        assert (parts.get("tiling"), parts["limits"]) == (none.get("tiling"), none["limits"])
    _, parts, _ = check(options={**where, "--scales": "3,3,3"})
    assert "floor(32 * 3.0) = 96" in parts["limits"]
    supported = (op, chip) != ("trilinear_backward", "ascend950")
    assert (parts.get("tiling") != none.get("tiling")) == supported


@pytest.mark.parametrize("op", ["nearest_exact_backward", "nearest_backward"])
def test_nearest_of_bfloat16_is_cast_on_a2(check, op):
    parts = [
        check(options={"--op": op, **A2, "--dtype": dtype})[1]["tiling"]
        for dtype in ("float32", "bfloat16", "float16")
    ]
    assert parts[0] == parts[1] == parts[2]


def test_workspace_of_channels_last_is_that_of_the_first_phase(check):
    sizes = {"--grad-output-shape": "2,8,10,12,3", "--input-size": "2,3,4,5,6", "--format": "NDHWC"}
    first = aclnn.aclnnUpsampleTrilinear3dBackwardGetWorkspaceSize
    _, size, _ = first(
        aclnn.AclTensor.from_array(np.ones((2, 8, 10, 12, 3), np.float32), 27), (8, 10, 12),
        (2, 3, 4, 5, 6), False, 0.0, 0.0, 0.0,
        aclnn.AclTensor.from_array(np.ones((2, 4, 5, 6, 3), np.float32), 27),
    )  # fmt: skip
    assert size > 0
    said = f"a workspace of {size} bytes"
    assert said in check(options={**TRILINEAR, **sizes})[1]["first phase"]


@pytest.mark.parametrize("command", ["check", "info"])
def test_closed_stdout_is_no_crash(command):
    options = [f"{name}={value}" for name, value in GOOD.items()] * (command == "check")
    line = shlex.join([sys.executable, "-m", "upsample3d", command, *options])
    done = subprocess.run(["sh", "-c", f"{line} >&-"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
