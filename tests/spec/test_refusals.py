# SPDX-License-Identifier: Apache-2.0
"""Bad input: which error, its status, that it names argument, given and wanted; nothing written."""

from __future__ import annotations

import math
import tracemalloc

import ml_dtypes
import numpy as np
import pytest

import upsample3d as up

SIZE = (2, 3, 4, 5, 6)
SHAPE = (2, 3, 8, 10, 12)
ONES = np.ones(SHAPE, np.float32)


def grad(dtype=np.float32, shape=SHAPE) -> np.ndarray:
    return np.ones(shape, dtype)


class Lies:
    """An object that raises when it is asked for a number."""

    def __index__(self):
        raise TypeError("no number")


def status(change: dict, error: type) -> int:
    """161001, the operators' null pointer, where an argument that is needed is None."""
    nones = {name for name, given in change.items() if given is None}
    needed = {"grad_output", "input", "input_size", "output_size"}
    return 161001 if nones & needed and error is TypeError else 161002


BACKWARD = {
    "grad_output None": (dict(grad_output=None), TypeError, ["grad_output", "None"]),
    "grad_output list": (dict(grad_output=[1.0]), TypeError, ["grad_output", "list"]),
    "grad_output masked": (
        dict(grad_output=np.ma.masked_array(ONES)), TypeError, ["grad_output", "Masked"],
    ),
    "rank 4": (
        dict(grad_output=ONES[0]), ValueError,
        ["grad_output", "(3, 8, 10, 12)", "5 axes (N, C, D, H, W)"],
    ),
    "rank 6": (dict(grad_output=ONES[None]), ValueError, ["grad_output", "5 axes"]),
    "int64": (dict(grad_output=grad(np.int64)), TypeError, ["grad_output", "int64", "float32"]),
    "uint16": (dict(grad_output=grad(np.uint16)), TypeError, ["grad_output", "uint16"]),
    "complex": (dict(grad_output=grad(np.complex64)), TypeError, ["grad_output", "complex64"]),
    "longdouble": (dict(grad_output=grad(np.longdouble)), TypeError, ["grad_output"]),
    "big-endian": (dict(grad_output=grad(">f4")), TypeError, ["grad_output", ">f4", "native"]),
    "raw bytes": (dict(grad_output=grad("V2")), TypeError, ["grad_output", "V2"]),
    "float8": (
        dict(grad_output=grad(ml_dtypes.float8_e5m2)), TypeError, ["grad_output", "bfloat16"],
    ),
    "D = 0": (dict(grad_output=ONES[:, :, :0]), ValueError, ["D of grad_output", "0", "1 to"]),
    "W = 0": (dict(grad_output=ONES[..., :0]), ValueError, ["W of grad_output", "0"]),
    "input_size None": (dict(input_size=None), TypeError, ["input_size", "None", "(N, C, D"]),
    "input_size number": (dict(input_size=7), TypeError, ["input_size", "7", "5 integers"]),
    "input_size 4": (dict(input_size=SIZE[1:]), ValueError, ["input_size", "(3, 4, 5, 6)", "5"]),
    "input_size floats": (
        dict(input_size=(2, 3, 4.0, 5, 6)), TypeError, ["input_size", "4.0", "integers"],
    ),
    "input_size lies": (dict(input_size=(2, 3, Lies(), 5, 6)), TypeError, ["input_size"]),
    "input_size text": (dict(input_size="23456"), TypeError, ["input_size", "'23456'"]),
    "input D = 0": (dict(input_size=(2, 3, 0, 5, 6)), ValueError, ["D of input_size", "0"]),
    "input W < 0": (dict(input_size=(2, 3, 4, 5, -6)), ValueError, ["W of input_size", "-6"]),
    "N differs": (dict(input_size=(1, 3, 4, 5, 6)), ValueError, ["N = 1", "wanted 2"]),
    "C differs": (dict(input_size=(2, 4, 4, 5, 6)), ValueError, ["C = 4", "wanted 3"]),
    "N < 0": (dict(input_size=(-2, 3, 4, 5, 6)), ValueError, ["input_size", "N = -2"]),
    "input 2^31": (dict(input_size=(2, 3, 4, 5, 2**31)), ValueError, ["W of input_size"]),
    "input 2^80": (dict(input_size=(2, 3, 4, 5, 2**80)), ValueError, ["W of input_size"]),
    "input past int64": (
        dict(input_size=(2, 3, 2**30, 2**30, 2**30)), ValueError, ["1073741824", "2^63"],
    ),
    "output_size 2": (dict(output_size=(8, 10)), ValueError, ["output_size", "(8, 10)", "3"]),
    "output_size differs": (
        dict(output_size=(8, 10, 13)), ValueError, ["output_size", "13)", "(8, 10, 12)"],
    ),
    "scales 2": (dict(scales=(2.0, 2.0)), ValueError, ["scales", "(2.0, 2.0)", "three"]),
    "scales text": (dict(scales="2"), ValueError, ["scales", "'2'"]),
    "scales of text": (dict(scales=("2", 2, 2)), TypeError, ["scales[0]", "'2'", "a float"]),
    "scales object": (dict(scales=object()), TypeError, ["scales", "object"]),
    "scale complex": (dict(scales=(2, 2j, 2)), TypeError, ["scales[1]", "2j"]),
    "scale inf": (dict(scales=(2, 2, math.inf)), ValueError, ["scales[2]", "inf", "finite"]),
    "scale 1e39": (dict(scales=(2, 1e39, 2)), ValueError, ["scales[1]", "1e+39"]),
    "scale 1e-46": (dict(scales=(1e-46, 2, 2)), ValueError, ["scales[0]", "1e-46"]),
    "scale 1e-39": (dict(scales=1e-39), ValueError, ["scales[0]", "1e-39", "reciprocal"]),
    "scale 10^400": (dict(scales=(2, 2, 10**400)), ValueError, ["scales[2]"]),
    "rule": (dict(rule="cuda"), ValueError, ["rule", "'cuda'", "aclnn", "torch"]),
    "rule list": (dict(rule=["aclnn"]), TypeError, ["rule", "['aclnn']"]),
    "data_format": (dict(data_format="NCHW"), ValueError, ["data_format", "'NCHW'", "NDHWC"]),
    "data_format None": (dict(data_format=None), TypeError, ["data_format", "None"]),
    "schedule 4": (dict(schedule=4), ValueError, ["schedule", "4", "0 to 3"]),
    "schedule -1": (dict(schedule=-1), ValueError, ["schedule", "-1"]),
    "schedule text": (dict(schedule="fast"), TypeError, ["schedule", "'fast'"]),
    "schedule 0": (dict(schedule=0), ValueError, ["schedule", "0", "copy"]),
    "num_threads 0": (dict(num_threads=0), ValueError, ["num_threads", "0"]),
    "num_threads 1.5": (dict(num_threads=1.5), TypeError, ["num_threads", "1.5"]),
    "align_corners": (dict(align_corners=1), TypeError, ["align_corners", "1", "True or False"]),
}  # fmt: skip


@pytest.mark.parametrize(("change", "error", "said"), BACKWARD.values(), ids=BACKWARD)
def test_backward(change, error, said):
    out = np.full(SIZE, 7, np.float32)
    arguments = {"grad_output": ONES, "input_size": SIZE, "out": out, **change}
    with pytest.raises(error) as caught:
        up.trilinear_backward(**arguments)
    assert isinstance(caught.value, (up.ParameterError, up.ParameterTypeError))
    assert caught.value.status == status(change, error)
    for words in said:
        assert words in str(caught.value)
    assert (out == 7).all()


FORWARD = {
    "input None": (dict(input=None), TypeError, ["input", "None"]),
    "neither": (dict(output_size=None), TypeError, ["output_size", "scales"]),
    "one scale missing": (
        dict(output_size=None, scales=(2, None, 2)), TypeError,
        ["output_size", "scales is (2.0, None, 2.0)", "for H"],
    ),
    "negative scale": (
        dict(output_size=None, scales=-2), TypeError, ["(-2.0, -2.0, -2.0)", "> 0 for D, H, W"],
    ),
    "scales give 0": (
        dict(output_size=None, scales=(0.01, 2, 2), rule="torch"), ValueError,
        ["D of output_size", "0"],
    ),
    "scales give 2^40": (
        dict(output_size=None, scales=(2, 2.0**40, 2)), ValueError, ["H of output_size"],
    ),
    "output_size 4": (dict(output_size=(1, 2, 3, 4)), ValueError, ["output_size", "3 int"]),
    "output_size 0": (dict(output_size=(1, 2, 0)), ValueError, ["W of output_size", "0"]),
}  # fmt: skip


@pytest.mark.parametrize("op", ["nearest_exact", "nearest", "trilinear"])
@pytest.mark.parametrize(("change", "error", "said"), FORWARD.values(), ids=FORWARD)
def test_forward(op, change, error, said):
    with pytest.raises(error) as caught:
        getattr(up, op)(**{"input": ONES, "output_size": (4, 5, 6), **change})
    assert caught.value.status == status(change, error)
    for words in said:
        assert words in str(caught.value)


@pytest.mark.parametrize("op", ["trilinear_forward", "", None, 3])
def test_unknown_op(op):
    with pytest.raises((up.ParameterError, up.ParameterTypeError), match="op is"):
        up.Plan(op, SHAPE, "float32", input_size=SIZE)


@pytest.mark.parametrize(("n", "c"), [(0, 3), (2, 0), (0, 0)])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_empty_is_fine(n, c, dtype):
    grad_output = np.ones((n, c, 8, 10, 12), dtype)
    result = up.nearest_exact_backward(grad_output, (n, c, 4, 5, 6))
    assert result.shape == (n, c, 4, 5, 6)
    assert result.dtype == dtype
    out = np.ones((n, c, 4, 5, 6), dtype)
    assert up.nearest_exact_backward(grad_output, out.shape, out=out) is out
    turned = up.trilinear(grad_output.transpose(0, 2, 3, 4, 1), (3, 4, 5), data_format="NDHWC")
    assert turned.shape == (n, 3, 4, 5, c)


def test_absurd_sizes_fail_before_memory_is_taken():
    one = np.broadcast_to(np.float32(1), (1, 1, 2**20, 2**20, 2**20))
    tracemalloc.start()
    try:
        for call in (
            lambda: up.nearest_backward(ONES, (2, 3, 2**31, 5, 6)),
            lambda: up.nearest_backward(ONES, (2, 3, 2**25, 2**25, 2**25)),
            lambda: up.trilinear(ONES, (2**25, 2**25, 2**25)),
            lambda: up.trilinear(one, (2**20, 2**20, 2**20), scales=(1e40, 1, 1)),
            lambda: up.bands("nearest", 2**31, 5),
        ):
            with pytest.raises(up.ParameterError):
                call()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000


BANDS = {
    "op": (dict(op="linear"), ValueError, ["op", "'linear'"]),
    "i": (dict(i=0), ValueError, ["i is 0"]),
    "o": (dict(o=2.5), TypeError, ["o is 2.5"]),
    "scale": (dict(scale=1e-50), ValueError, ["scale", "1e-50"]),
    "rule": (dict(rule="x"), ValueError, ["rule", "'x'"]),
    "dtype": (dict(dtype="int8"), TypeError, ["dtype", "int8"]),
    "no dtype": (dict(dtype=None), TypeError, ["dtype is None"]),
}


@pytest.mark.parametrize(("change", "error", "said"), BANDS.values(), ids=BANDS)
def test_bands(change, error, said):
    with pytest.raises(error) as caught:
        up.bands(**{"op": "trilinear", "i": 4, "o": 8, **change})
    for words in said:
        assert words in str(caught.value)


@pytest.mark.parametrize("n", [0, -1, 1.5, None, "2"])
def test_set_num_threads(n):
    before = up.get_num_threads()
    with pytest.raises((up.ParameterError, up.ParameterTypeError), match="n is"):
        up.set_num_threads(n)
    assert up.get_num_threads() == before


def test_not_given_scales():
    wanted = up.trilinear_backward(ONES, SIZE)
    for scales in ((None,) * 3, (0, -1.0, math.nan), 0, [None, 0.0, -5], np.zeros(3), -math.inf):
        assert np.array_equal(up.trilinear_backward(ONES, SIZE, scales), wanted)


def test_asking_wrongly_first_and_rightly_then():
    """A cached plan does not let a wrong type through that compares equal."""
    assert up.nearest_backward(ONES, SIZE, schedule=1) is not None
    for wrong in (1.0, "1"):
        with pytest.raises(up.ParameterTypeError, match="schedule"):
            up.nearest_backward(ONES, SIZE, schedule=wrong)
    with pytest.raises(up.ParameterTypeError, match="input_size"):
        up.nearest_backward(ONES, tuple(float(n) for n in SIZE))


def test_a_copy_is_refused_where_windows_differ_though_sizes_do_not():
    with pytest.raises(up.ParameterError, match="schedule is 0"):
        up.nearest(ONES, SHAPE[2:], 2.0, schedule=0)
