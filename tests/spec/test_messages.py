# SPDX-License-Identifier: Apache-2.0
"""Mistakes of people who are new here: each error says at once what to do instead."""

from __future__ import annotations

import decimal
import fractions
import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import upsample3d as up
from upsample3d import reference

X = np.ones((1, 2, 4, 5, 6), np.float32)
G = np.ones((1, 2, 8, 10, 12), np.float32)
VOLUME = np.ones((40, 44, 48), np.float32)
SIZE = X.shape
PLAN = up.Plan("trilinear", SIZE, "float32", output_size=(8, 10, 12))


class Image:
    """What nibabel's images look like from here."""

    __module__ = "nibabel.nifti1"


class Tensor:
    """What PyTorch's tensors look like from here."""

    __module__ = "torch"


def forward(input: Any = X, output_size: Any = None, scales: Any = None, **options: Any):
    return lambda f: f.trilinear(input, output_size, scales, **options)


def backward(grad_output: Any = G, input_size: Any = SIZE, scales: Any = None, **options: Any):
    return lambda f: f.trilinear_backward(grad_output, input_size, scales, **options)


AXES = "5 axes (N, C, D, H, W)"
FLOATS = "wanted float32 or float16 or bfloat16 or float64 in native byte order, as .astype gives"
THREE = "wanted 3 integers (D, H, W); N and C stay, and factors go into scales"
FIVE = "wanted 5 integers (N, C, D, H, W), with grad_output's N and C first"
SCALES = "wanted a float or an int, or three of them (D, H, W)"
NEITHER = "wanted output_size (D, H, W), or scales > 0 for"

BOTH: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "volume": (forward(VOLUME, scales=2), ValueError,
        f"input.shape is (40, 44, 48), wanted {AXES}; input[None, None] makes them of one volume"),
    "volume, channels last": (forward(VOLUME, scales=2, data_format="NDHWC"), ValueError,
        "wanted 5 axes (N, D, H, W, C); input[None, ..., None] makes them of one volume"),
    "volume with channels": (forward(X[0], scales=2), ValueError,
        f"input.shape is (2, 4, 5, 6), wanted {AXES}; input[None] adds N, the samples"),
    "picture": (forward(VOLUME[0], scales=2), ValueError, f"is (44, 48), wanted {AXES}"),
    "list": (forward(X.tolist(), scales=2), TypeError,
        "input is a list, wanted a NumPy array: np.asarray(input) makes one"),
    "number": (forward(3, scales=2), TypeError, "input is an int, wanted a NumPy array"),
    "tensor": (backward(Tensor()), TypeError, "grad_output is a Tensor, wanted a NumPy array: "
        "grad_output.numpy(), or upsample3d.torch, which takes tensors"),
    "image": (forward(Image(), scales=2), TypeError, "input is an Image, wanted a NumPy array: "
        "input.get_fdata(dtype='float32'), or upsample3d.volumes, which takes files"),
    "path": (forward("scan.nii.gz", scales=2), TypeError,
        "input is a str, wanted a NumPy array, or upsample3d.volumes, which takes files"),
    "Path": (forward(Path("scan.nii.gz"), scales=2), TypeError, "which takes files"),
    "masked": (forward(np.ma.masked_array(X), scales=2), TypeError, "input is a MaskedArray, "
        "wanted a NumPy array: input.filled(value) says what masked elements are"),
    "swapped": (backward(SIZE, G), TypeError, "grad_output is a tuple, wanted a NumPy array"),
    "objects": (forward(X.astype(object), scales=2), TypeError, f"input.dtype is object, {FLOATS}"),
    "integers": (forward(X.astype(int), scales=2), TypeError, f"input.dtype is int64, {FLOATS}"),
    "complex": (forward(X + 0j, scales=2), TypeError, f"is complex64, {FLOATS}"),
    "big-endian": (forward(X.astype(">f4"), scales=2), TypeError, f"input.dtype is >f4, {FLOATS}"),
    "neither": (forward(), TypeError,
        f"output_size is None and scales is None, {NEITHER} D, H, W"),
    "scales -2": (forward(scales=-2), TypeError,
        f"output_size is None and scales is (-2.0, -2.0, -2.0), {NEITHER} D, H, W"),
    "scales 0": (forward(scales=(2, 0, 2)), TypeError,
        f"output_size is None and scales is (2.0, 0.0, 2.0), {NEITHER} H"),
    "scales of 5": (forward(scales=(1, 1, 2, 2, 2)), ValueError, SCALES),
    "scales of 2": (forward(scales=[2, 2]), ValueError, f"scales is [2, 2], {SCALES}"),
    "scales text": (forward(scales="2"), ValueError, f"scales is '2', {SCALES}"),
    "scales of text": (forward(scales=("2",) * 3), TypeError,
        "scales[0] is '2', wanted a float, an int or None"),
    "scales Fraction": (forward(scales=fractions.Fraction(3, 2)), TypeError, SCALES),
    "scales Decimal": (forward(scales=decimal.Decimal("1.5")), TypeError, SCALES),
    "scales duration": (forward(scales=[np.timedelta64(2, "s")] * 3), TypeError,
        f"scales[0] is {np.timedelta64(2, 's')!r}, wanted a float, an int or None"),
    "scales array": (forward(scales=np.array(2.0)), TypeError, f"scales is array(2.), {SCALES}"),
    "scales dict": (forward(scales={"D": 2, "H": 2, "W": 2}), TypeError, f"{SCALES}, in order"),
    "scales set": (forward(scales={2, 3, 4}), TypeError, f"{SCALES}, in order"),
    "scales inf": (forward(scales=np.inf), ValueError, "it and its reciprocal finite in float32"),
    "a factor as size": (forward(output_size=2), TypeError, f"output_size is 2, {THREE}"),
    "factors as size": (forward(output_size=(2.0,) * 3), TypeError,
        f"output_size is (2.0, 2.0, 2.0), {THREE}"),
    "output_size of 5": (forward(output_size=G.shape), ValueError, f"(1, 2, 8, 10, 12), {THREE}"),
    "output_size of 2": (forward(output_size=(8, 10)), ValueError, THREE),
    "output_size text": (forward(output_size="8,10,12"), TypeError, THREE),
    "output_size set": (forward(output_size={8, 10, 12}), TypeError, f"{THREE}, in order"),
    "output_size 0": (forward(output_size=(8, 0, 12)), ValueError,
        "H of output_size is 0, wanted 1 to 2147483647"),
    "input_size of 3": (backward(input_size=(4, 5, 6)), ValueError,
        f"input_size is (4, 5, 6), {FIVE}"),
    "input_size floats": (backward(input_size=(1, 2, 4.0, 5.0, 6.0)), TypeError, FIVE),
    "input_size array": (backward(input_size=X), TypeError, FIVE),
    "input_size None": (backward(input_size=None), TypeError,
        "input_size is None, wanted (N, C, D, H, W) of the result"),
    "input_size C": (backward(input_size=(1, 3, 4, 5, 6)), ValueError,
        "input_size has C = 3, wanted 2 as grad_output has"),
    "input_size NDHWC": (
        backward(G.transpose(0, 2, 3, 4, 1), (1, 4, 5, 6, 2), data_format="NDHWC"), ValueError,
        "input_size has C = 4, wanted 2 as grad_output has; it is N, C, D, H, W in NDHWC too"),
    "data_format": (forward(scales=2, data_format="channels_last"), ValueError,
        "data_format is 'channels_last', wanted one of NCDHW, NDHWC"),
    "rule": (forward(scales=2, rule="pytorch"), ValueError,
        "rule is 'pytorch', wanted one of aclnn, torch"),
    "align_corners": (forward(scales=2, align_corners=1), TypeError,
        "align_corners is 1, wanted True or False"),
}  # fmt: skip
"""A mistake -> the call, made of the library and of `reference`, its error, what is said."""


@pytest.mark.parametrize(("call", "error", "said"), BOTH.values(), ids=BOTH)
@pytest.mark.parametrize("of", [up, reference], ids=lambda of: of.__name__)
def test_functions_and_reference(of, call, error, said):
    told(lambda: call(of), error, said)


def told(call: Callable[[], Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, (up.ParameterError, up.ParameterTypeError))
    assert said in str(caught.value)
    assert len(str(caught.value)) < 1000


def plan(op: Any = "trilinear", shape: Any = SIZE, dtype: Any = "f4", **options: Any):
    return lambda: up.Plan(op, shape, dtype, **options)


BESIDE = ": the result's D, H, W are output_size"
NAMES = "nearest_exact_backward, nearest_backward, trilinear_backward, nearest_exact, nearest, tril"

ONLY: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "input_size forward": (plan(input_size=(40, 44, 48)), ValueError,
        f"input_size is (40, 44, 48), wanted 5 integers as input has, or None{BESIDE}"),
    "result's size as input_size": (plan(input_size=G.shape), ValueError,
        f"input_size is (1, 2, 8, 10, 12), wanted (1, 2, 4, 5, 6) as input has, or None{BESIDE}"),
    "op": (plan("linear"), ValueError, f"op is 'linear', wanted one of {NAMES}"),
    "op is a function": (plan(up.trilinear), TypeError, f"wanted one of {NAMES}"),
    "array as shape": (plan(shape=G), TypeError, f"an array of shape {G.shape}, wanted {AXES}"),
    "shape of 3": (plan(shape=(4, 5, 6)), ValueError, "input[None, None] makes them of one"),
    "dtype": (plan(dtype="half"), TypeError, NEITHER),
    "dtype int8": (plan(dtype="int8"), TypeError, f"input.dtype is int8, {FLOATS}"),
    "strides": (plan(output_size=(8, 10, 12), strides=(1, 2)), ValueError,
        "strides is (1, 2), wanted 5 integers, the bytes from an element to the next along each"),
    "schedule": (plan(output_size=(8, 10, 12), schedule="auto"), TypeError,
        "schedule is 'auto', wanted an integer, 0 to 3"),
    "num_threads": (plan(output_size=(8, 10, 12), num_threads=0), ValueError,
        "num_threads is 0, wanted 1 to 2147483647"),
    "other strides": (lambda: PLAN(X.T.copy().T), ValueError,
        "input has strides (4, 4, 8, 32, 160), wanted (960, 480, 120, 24, 4), for which the plan"),
    "workspace": (lambda: PLAN(X, None, 4096), TypeError, "workspace is an int, wanted a writable "
        "contiguous buffer, such as np.empty(plan.workspace_size, np.uint8)"),
    "small workspace": (lambda: PLAN(X, None, bytearray(3)), ValueError, "plan's workspace_size"),
    "masked out": (lambda: PLAN(X, np.ma.masked_array(G)), TypeError,
        "out is a MaskedArray, wanted a NumPy array to write into"),
    "broadcast out": (lambda: up.trilinear(X, (8, 10, 12), out=np.broadcast_to(X.flat[0],
        G.shape)), ValueError, "may overlap; wanted elements of its own"),
    "order": (lambda: reference.trilinear(X, scales=2, order="npu"), ValueError,
        "order is 'npu', wanted one of ours, device"),
    "device": (lambda: reference.nearest_backward(G, SIZE, device="a3"), ValueError,
        "device is 'a3', wanted one of 950, a2"),
    "real": (lambda: reference.trilinear(X, scales=2, real="float16"), ValueError,
        "real is 'float16', wanted one of float32, float64"),
    "records": (lambda: up.nearest(np.zeros(SIZE, [("a", "f4")]), scales=2), TypeError,
        "wanted plain elements of 1, 2, 4, 8 or 16 bytes in native byte order, such as int32"),
    "threads": (lambda: up.set_num_threads("4"), TypeError,
        "n is '4', wanted an integer, 1 to 2147483647"),
    "bands": (lambda: up.bands("nearest", (3, 3, 3), (6, 6, 6)), TypeError,
        "i is (3, 3, 3), wanted an integer"),
    "scale of bands": (lambda: up.bands("nearest", 3, 6, (2, 2, 2)), TypeError,
        "scale is (2, 2, 2), wanted a float, an int or None"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "error", "said"), ONLY.values(), ids=ONLY)
def test_plans_and_others(call, error, said):
    told(call, error, said)


def test_torch_tensors_themselves():
    torch = pytest.importorskip("torch")
    parameter = torch.nn.Parameter(torch.ones(SIZE))
    said = r"numpy\(\), or upsample3d\.torch, which takes tensors$"
    for tensor in (torch.ones(SIZE), parameter):
        with pytest.raises(up.ParameterTypeError, match=rf"^input is a \w+, .*: input\.{said}"):
            up.trilinear(tensor, scales=2)
        with pytest.raises(up.ParameterTypeError, match=rf"^out is a \w+, .*: out\.{said}"):
            up.trilinear(X, (4, 5, 6), out=tensor)


NAMED = type("N" * 10**5, (), {})
FIELDS = np.dtype([(f"field{k}", "f4") for k in range(999)])
LONG = (
    list(range(10**6)), [[0] * 10**6] * 5, tuple("x" * 10**5 for _ in range(5)), "x" * 10**7,
    b"x" * 10**7, dict.fromkeys(range(10**6)), set(range(10**6)), frozenset(range(10**6)),
    (10**5000,) * 9, 10**5000, -(10**5000), [np.zeros(10**6)] * 9, np.zeros(10**6),
    [[[[[list(range(10**6))] * 9] * 9] * 9] * 9] * 9, NAMED(), NAMED, FIELDS, np.zeros(3, FIELDS),
    np.array([{"x": "y" * 10**6}] * 60, object), np.empty((1,) * 32), range(10**9), Ellipsis,
)  # fmt: skip
"""Things that have much to say."""


def refusal(call: Callable[[], Any]) -> str:
    """What an error of ours says of a call; nothing where it is right."""
    try:
        call()
    except (up.ParameterError, up.ParameterTypeError) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("number", range(len(LONG)))
def test_messages_are_short_whatever_is_given(number):
    calls = [
        (
            up.Plan,
            {"op": "trilinear_backward", "shape": G.shape, "dtype": "f4", "input_size": SIZE},
        ),
        (up.Plan, {"op": "nearest", "shape": SIZE, "dtype": "f4", "output_size": (8, 10, 12)}),
        (up.bands, {"op": "trilinear", "i": 4, "o": 8}),
        (up.set_num_threads, {"n": 1}),
        (PLAN, {"source": X, "out": G.copy(), "workspace": np.empty(10**6, np.uint8)}),
        *((of.trilinear, {"input": X, "output_size": (8, 10, 12)}) for of in (up, reference)),
        *((of.nearest_backward, {"grad_output": G, "input_size": SIZE}) for of in (up, reference)),
    ]
    said = [
        refusal(partial(function, **{**right, name: LONG[number]}))
        for function, right in calls
        for name in inspect.signature(function).parameters
    ]
    assert sum(map(bool, said)) > 60
    assert max(map(len, said)) < 1000
