# SPDX-License-Identifier: Apache-2.0
"""upsample3d.torch.interpolate: F.interpolate's results, errors and derivatives, all orders."""

from __future__ import annotations

import fractions
import itertools
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch.autograd import forward_ad  # noqa: E402

import upsample3d.torch as backend  # noqa: E402
from upsample3d.torch import interpolate  # noqa: E402

# PyTorch's forward mode imports what it has deprecated.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.torch.jit.script", "ignore::FutureWarning", "ignore:There is a performance drop"
)

LAST, PLAIN = torch.channels_last_3d, torch.contiguous_format
FORMATS = pytest.mark.parametrize("memory_format", [PLAIN, LAST], ids=["NCDHW", "NDHWC"])
MODES = pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "trilinear"])


@pytest.fixture(autouse=True)
def runs(runs, one_thread):
    """In every test."""
    return runs


def volume(*shape, dtype=torch.float64, memory_format=PLAIN):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return x.to(dtype).contiguous(memory_format=memory_format)


ASKED = [
    {"size": 5},
    {"size": (3, 8, 7)},
    {"size": torch.Size((3, 8, 7))},
    {"scale_factor": 2},
    {"scale_factor": 1.7},
    {"scale_factor": (1.3, 0.6, 2)},
    {"scale_factor": [1.3, 0.6, 2.5], "recompute_scale_factor": True},
    {"scale_factor": 1.25, "recompute_scale_factor": False},
    {"size": (3, 8, 7), "recompute_scale_factor": False},
]


@FORMATS
@MODES
def test_results_and_gradients_are_f_interpolate_s(mode, memory_format, runs):
    corners = (None, False, True) if mode == "trilinear" else (None,)
    for asked, align_corners in itertools.product(ASKED, corners):
        options = {**asked, "mode": mode, "align_corners": align_corners}
        x = volume(2, 3, 4, 5, 6, memory_format=memory_format).requires_grad_()
        stock = F.interpolate(x, **options)
        found = interpolate(x, **options)
        g = torch.ones_like(stock)
        torch.testing.assert_close(found, stock)
        assert found.stride() == stock.stride()
        gradients = [torch.autograd.grad(y, x, g)[0] for y in (found, stock)]
        torch.testing.assert_close(*gradients)
        assert gradients[0].is_contiguous(memory_format=memory_format)
    assert len(runs) == 2 * len(ASKED) * len(corners)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
@MODES
def test_the_bits_are_the_override_s(mode, dtype):
    x = volume(1, 5, 3, 4, 5, dtype=dtype).requires_grad_()
    y = interpolate(x, scale_factor=2.3, mode=mode)
    with backend.enabled():
        z = F.interpolate(x, scale_factor=2.3, mode=mode)
        assert torch.equal(y, z)
        assert y.dtype is dtype
        g = torch.randn(y.shape).to(dtype)
        assert torch.equal(*(torch.autograd.grad(each, x, g)[0] for each in (y, z)))


class Four:
    """An integer that is no int."""

    def __index__(self):
        return 4


# What the arguments may be and what they may not be; which is which says F.interpolate.
SIZES = [
    None, 4, 0, -1, True, False, 4.0, 4j, "4", b"444", {}, {3, 4, 5}, range(3, 6), Four(),
    fractions.Fraction(4), 2**63, -(2**63) - 1, 10**400, np.int64(4), np.uint8(4), np.bool_(True),
    np.float64(4), np.array(4), np.array([4, 4, 4]), torch.tensor(4), torch.tensor(4.0),
    torch.tensor([4, 4, 4]), (), [4], (4, 4), (4, 4, 4, 4), (3, 4, 5), [2, -1, 2], [4, 0, 4],
    (4, 4.5, 4), (True,) * 3, [4, True, 4], [4, np.int64(5), 4], [np.int64(4)] * 3, (Four(),) * 3,
    [4, torch.tensor(4), 4], [torch.tensor(4.0)] * 3, (4, 4, None), [[4], [4], [4]], (4, 4, 2**63),
    [np.array([4])] * 3, torch.Size((3, 4, 5)),
]  # fmt: skip
FACTORS = [
    2, 2.0, 1.7, 1 / 3, 0, 0.0, 0.1, -2, 1e20, 10**400, math.inf, -math.inf, math.nan, 1e-320, True,
    False, 2j, "2", b"222", {2.0}, range(1, 4), Four(), fractions.Fraction(2), np.float64(1.7),
    np.float32(1.7), np.int64(2), np.bool_(True), np.array([2.0, 2, 2]), torch.tensor(2.0),
    torch.tensor(2), torch.tensor([2.0, 2, 2]), (), [2], (2, 2), (1.3, 0.6, 2), [2, True, 1.5],
    (True,) * 3, [np.float32(1.7)] * 3, [torch.tensor(2.0)] * 3, [2.0, torch.tensor(2.0), 2],
    [fractions.Fraction(3, 2)] * 3, (2, 2, None), [[2]] * 3, ["2"] * 3, (1.5, -1, 2),
    (math.nan, 2, 2), torch.Size((1, 2, 3)),
]  # fmt: skip
OTHERS = [
    {}, {"mode": "nearest-exact"}, {"mode": "trilinear"},
    {"mode": "trilinear", "align_corners": True}, {"mode": "trilinear", "align_corners": 1},
    {"mode": "trilinear", "align_corners": np.True_}, {"mode": "nearest", "align_corners": True},
    {"mode": "nearest-exact", "align_corners": False}, {"mode": "bilinear"}, {"mode": "cubic"},
    {"mode": None}, {"mode": ["nearest"]}, {"mode": b"nearest"}, {"recompute_scale_factor": True},
    {"recompute_scale_factor": False}, {"recompute_scale_factor": "yes"},
    {"recompute_scale_factor": 0}, {"recompute_scale_factor": np.zeros(2)}, {"antialias": True},
    {"antialias": None}, {"antialias": np.zeros(2)}, {"antialias": True, "mode": "trilinear"},
    {"scale_factor": 2}, {"bogus": 1},
]  # fmt: skip


def outcome(call, *arguments, **options):
    """What a call returns, or the type of its error and the first line of its text."""
    try:
        return call(*arguments, **options)
    except Exception as error:  # whatever it is, it is what is looked at
        return type(error), str(error).splitlines()[0]


@pytest.mark.parametrize("options", OTHERS, ids=str)
def test_arguments_and_errors_are_f_interpolate_s(options):
    """2,000 combinations, right and wrong ones."""
    x = volume(1, 2, 3, 3, 3)
    asked = [{"size": size} for size in SIZES] + [{"scale_factor": s} for s in FACTORS]
    for each in asked:
        stock = outcome(F.interpolate, x, **{**options, **each})
        found = outcome(interpolate, x, **{**options, **each})
        if isinstance(stock, tuple):
            assert found == stock, each
        else:
            torch.testing.assert_close(found, stock)


def test_inputs_and_errors_are_f_interpolate_s():
    x = volume(1, 2, 3, 3, 3)
    inputs = [
        None,
        1,
        [x],
        x.numpy(),
        x[0],
        x[None],
        x.int(),
        x > 0,
        x + 0j,
        x[:, :, :0],
        x[0, 0, 0, 0],
    ]
    for each in inputs:
        for options in ({"size": 4}, {"scale_factor": 2}, {}, {"size": 4, "align_corners": True}):
            stock = outcome(F.interpolate, each, **options)
            found = outcome(interpolate, each, **options)
            assert type(found) is type(stock)
            assert isinstance(stock, torch.Tensor) or found == stock, (each, options)


def test_integers_of_numpy_are_sizes(runs):
    x = volume(1, 2, 3, 3, 3)
    assert interpolate(x, size=np.int64(4)).shape == (1, 2, 4, 4, 4)
    assert interpolate(x, size=(np.int32(4), 5, np.uint8(6))).shape == (1, 2, 4, 5, 6)
    assert len(runs) == 2


def test_whatever_else_f_interpolate_does():
    for x, options in (
        (torch.rand(1, 2, 4), {"size": 3, "mode": "linear"}),
        (torch.rand(1, 2, 4, 4), {"scale_factor": 2}),
        (torch.rand(1, 2, 4, 4, 4), {"size": 2, "mode": "area"}),
        (torch.ones(1, 2, 4, 4, 4, dtype=torch.uint8), {"size": 2}),
        (torch.rand(0, 2, 4, 4, 4), {"size": 2}),
    ):
        assert torch.equal(interpolate(x, **options), F.interpolate(x, **options))
    for x in (torch.ones(1, 2, 4, 4, 4).to_sparse(), torch.ones(1, 2, 4, 4, 4).to_mkldnn()):
        with pytest.raises(RuntimeError) as stock:
            F.interpolate(x, size=2)
        with pytest.raises(type(stock.value)) as found:
            interpolate(x, size=2)
        assert str(found.value) == str(stock.value)
    meta = torch.empty(1, 2, 4, 4, 4, device="meta").contiguous(memory_format=LAST)
    assert interpolate(meta, size=2).stride() == F.interpolate(meta, size=2).stride()


@FORMATS
@MODES
def test_gradcheck(mode, memory_format):
    x = volume(2, 2, 2, 3, 2, memory_format=memory_format).requires_grad_()

    def f(x):
        return interpolate(x, size=(3, 2, 4), mode=mode)

    assert torch.autograd.gradcheck(
        f, x, check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True,
    )  # fmt: skip
    assert torch.autograd.gradgradcheck(
        f, x, check_fwd_over_rev=True, check_rev_over_rev=True, check_batched_grad=True
    )


@MODES
def test_tangents_are_never_dropped(mode):
    x, t = volume(1, 2, 3, 2, 3), volume(1, 2, 3, 2, 3) * 2
    wanted = F.interpolate(t, scale_factor=1.7, mode=mode)

    def f(x):
        return interpolate(x, scale_factor=1.7, mode=mode)

    torch.testing.assert_close(torch.func.jvp(f, (x,), (t,))[1], wanted)
    for leaf in (x, x.clone().requires_grad_()):
        with forward_ad.dual_level():
            found = forward_ad.unpack_dual(f(forward_ad.make_dual(leaf, t))).tangent
        torch.testing.assert_close(found, wanted)
        with torch.no_grad(), forward_ad.dual_level():
            found = forward_ad.unpack_dual(f(forward_ad.make_dual(leaf, t))).tangent
        torch.testing.assert_close(found, wanted)


@MODES
def test_torch_func_transforms_in_every_order(mode):
    """The Hessian of sum f(x)^3 is 6 A^T diag(f(x)) A, where A is f's matrix."""
    x = volume(1, 1, 2, 2, 2)

    def f(x):
        return interpolate(x, size=3, mode=mode)

    def cubed(x):
        return f(x).pow(3).sum()

    units = torch.eye(8, dtype=torch.float64).reshape(8, 1, 1, 2, 2, 2)
    a = torch.stack([F.interpolate(unit, size=3, mode=mode).flatten() for unit in units], 1)
    wanted = 6 * a.T @ torch.diag(a @ x.flatten()) @ a
    both = torch.func.jacfwd, torch.func.jacrev
    for outer, inner in itertools.product(both, both):
        found = outer(inner(cubed))(x)
        torch.testing.assert_close(found.reshape(8, 8), wanted)
    batch = torch.stack([x, 2 * x])
    found = torch.func.vmap(torch.func.grad(cubed))(batch)
    torch.testing.assert_close(found, torch.stack([torch.func.grad(cubed)(y) for y in batch]))


@pytest.mark.skipif(not hasattr(torch.library, "register_vmap"), reason="vmap makes a loop there")
@MODES
def test_vmap_is_one_call(mode, runs):
    x = volume(4, 2, 3, 2, 2, 3)
    for in_dim in (0, 2):
        moved = x.movedim(0, in_dim)
        found = torch.func.vmap(lambda x: interpolate(x, scale_factor=2, mode=mode), in_dim)(moved)
        assert len(runs) == 1
        runs.clear()
        torch.testing.assert_close(
            found, torch.stack([F.interpolate(y, scale_factor=2, mode=mode) for y in x])
        )


@MODES
def test_autocast_leaves_types_alone(mode):
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        x = volume(1, 2, 2, 2, 2, dtype=dtype).requires_grad_()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = interpolate(x, scale_factor=2, mode=mode)
            stock = F.interpolate(x, scale_factor=2, mode=mode)
        found.float().sum().backward()
        assert found.dtype is stock.dtype
        assert x.grad.dtype is dtype


def test_inference_and_no_grad():
    x = volume(1, 2, 2, 2, 2).requires_grad_()
    with torch.no_grad():
        assert not interpolate(x, size=3).requires_grad
    with torch.inference_mode():
        assert torch.equal(interpolate(x, size=3), F.interpolate(x, size=3))
