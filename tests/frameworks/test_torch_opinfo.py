# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own tests of interpolate, OpInfo samples and module tests, against the override."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="torch.testing._internal wants it")

import torch.nn.functional as F  # noqa: E402

import upsample3d.torch as backend  # noqa: E402

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore:.*is deprecated"
)

LAST, PLAIN = torch.channels_last_3d, torch.contiguous_format
VARIANTS = [
    ("nn.functional.interpolate", "nearest"),
    ("nn.functional.interpolate", "nearest-exact"),
    ("nn.functional.interpolate", "trilinear"),
    ("nn.functional.upsample_nearest", ""),
]


@pytest.fixture(autouse=True)
def runs(runs, one_thread):
    """In every test; the override is on."""
    with backend.enabled():
        yield runs


@pytest.fixture(scope="module")
def op_db():
    """{(name, variant): OpInfo}; importing it warns of this and that."""
    from torch.testing._internal.common_methods_invocations import op_db

    return {(op.name, op.variant_test_name): op for op in op_db}


def samples(op, dtype, requires_grad=False):
    """OpInfo's samples that are 3-D up-sampling, channels-last ones included."""
    found = [
        sample
        for sample in op.sample_inputs("cpu", dtype, requires_grad=requires_grad)
        if sample.input.dim() == 5
    ]
    assert found
    return found


def call(op, sample):
    return lambda x: op(x, *sample.args, **sample.kwargs)


@pytest.mark.parametrize("which", VARIANTS, ids=str)
def test_opinfo_values(op_db, which, runs):
    """As TestCommon compares: against the stock kernels in float64, with the type's tolerance."""
    op = op_db[which]
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        for sample in samples(op, dtype):
            found = call(op, sample)(sample.input)
            backend.disable()
            # Stock's float64 ops round positions elsewhere: compare with its ops of the type.
            wide = sample.input if dtype == torch.float64 else sample.input.float()
            wanted = call(op, sample)(wide)
            backend.enable()
            torch.testing.assert_close(found, wanted.to(dtype))
            assert found.stride() == wanted.stride()
    assert len(runs) >= 16
    backend.disable()


@pytest.mark.long
@pytest.mark.parametrize("which", VARIANTS, ids=str)
def test_opinfo_gradcheck_and_gradgradcheck(op_db, which, runs):
    """As TestBwdGradients: with batched gradients, undefined ones, and vmap over samples."""
    op = op_db[which]
    for sample in samples(op, torch.float64, requires_grad=True):
        assert torch.autograd.gradcheck(call(op, sample), sample.input)
        assert torch.autograd.gradgradcheck(call(op, sample), sample.input)
    assert {name.endswith("_backward") for name in runs} == {True, False}
    assert len(runs) > 300


@pytest.mark.parametrize("which", VARIANTS, ids=str)
def test_opinfo_errors(op_db, which):
    op = op_db[which]
    for error in op.error_inputs("cpu") if op.error_inputs_func else ():
        sample = error.sample_input
        with pytest.raises(error.error_type, match=error.error_regex):
            op(sample.input, *sample.args, **sample.kwargs)


def module_tests():
    """PyTorch's descriptions of F.interpolate tests in three dimensions."""
    from torch.testing._internal.common_nn import get_new_module_tests

    return {
        test["fullname"]: test
        for test in get_new_module_tests()
        if test.get("fullname", "").startswith("interpolate_") and "3d" in test["fullname"]
    }


def test_module_tests(runs):
    """NewModuleTest: forward, gradients by finite differences, again from the same module."""
    tests = module_tests()
    assert {"interpolate_nearest_3d", "interpolate_trilinear_3d"} <= set(tests)
    assert len(tests) >= 8
    for name, test in tests.items():
        module = test["constructor"]()
        x = test["input_fn"]() if "input_fn" in test else torch.randn(test["input_size"])
        x = x.double().requires_grad_()
        assert torch.equal(module(x), module(x)), name
        if x.numel():
            assert torch.autograd.gradcheck(module, x), name
            assert torch.autograd.gradgradcheck(module, x), name
        else:
            module(x).sum().backward()
            assert x.grad.shape == x.shape, name
    assert len(runs) > 300


# ---- test/test_nn.py, whose file is not in the wheel: the same cases ----


@pytest.mark.parametrize("memory_format", [PLAIN, LAST], ids=["NCDHW", "NDHWC"])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_upsampling_nearest_3d(mode, memory_format):
    module = torch.nn.Upsample(size=4, mode=mode)
    x = torch.ones(1, 2, 2, 2, 2, dtype=torch.double).contiguous(memory_format=memory_format)
    x = x.detach().requires_grad_()
    out = module(x)
    assert torch.equal(out, torch.ones(1, 2, 4, 4, 4, dtype=torch.double))
    assert out.is_contiguous(memory_format=memory_format)
    out.backward(torch.randn_like(out))
    assert x.grad.is_contiguous(memory_format=memory_format)
    x = torch.randn(1, 2, 2, 2, 2, dtype=torch.double).contiguous(memory_format=memory_format)
    x.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: F.interpolate(x, 4, mode=mode), x)
    assert torch.autograd.gradgradcheck(lambda x: F.interpolate(x, 4, mode=mode), x)


@pytest.mark.parametrize("memory_format", [PLAIN, LAST], ids=["NCDHW", "NDHWC"])
@pytest.mark.parametrize("align_corners", [True, False])
def test_upsampling_trilinear_3d(align_corners, memory_format):
    options = {"mode": "trilinear", "align_corners": align_corners}
    for scale in (0.5, 1.5, 2):
        x = torch.randn(1, 2, 4, 4, 4, dtype=torch.double).contiguous(memory_format=memory_format)
        x = x.detach().requires_grad_()
        out = F.interpolate(x, scale_factor=scale, **options)
        assert out.is_contiguous(memory_format=memory_format)
        g = torch.randn_like(out)
        out.backward(g)
        assert x.grad.is_contiguous(memory_format=memory_format)
        y = x.detach().contiguous().requires_grad_()
        F.interpolate(y, scale_factor=scale, **options).backward(g)
        assert torch.equal(y.grad, x.grad)
        module = torch.nn.Upsample(out.shape[2:], **options)
        assert torch.autograd.gradcheck(module, x)
        assert torch.autograd.gradgradcheck(module, x)


UPSAMPLING_BFLOAT16 = [
    ((3, 20, 11, 7, 3), (20, 10, 10), "nearest", PLAIN),
    ((3, 20, 11, 7, 3), (20, 10, 10), "nearest", LAST),
    ((3, 2, 11, 7, 3), (20, 10, 10), "nearest", LAST),
    ((3, 20, 11, 7, 3), (20, 10, 10), "trilinear", PLAIN),
    ((3, 20, 11, 7, 3), (20, 10, 10), "trilinear", LAST),
    ((3, 2, 11, 7, 3), (20, 10, 10), "trilinear", LAST),
]


@pytest.mark.parametrize("case", UPSAMPLING_BFLOAT16, ids=str)
def test_upsampling_bfloat16(case):
    shape, size, mode, memory_format = case
    x = torch.randn(shape).bfloat16().contiguous(memory_format=memory_format)
    x, y = x.detach().requires_grad_(), x.detach().float().requires_grad_()
    out, wide = F.interpolate(x, size, mode=mode), F.interpolate(y, size, mode=mode)
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out.float(), wide, atol=0.01, rtol=0.01)
    g = torch.randn(out.shape).bfloat16().contiguous(memory_format=memory_format)
    out.backward(g)
    wide.backward(g.float())
    torch.testing.assert_close(x.grad.float(), y.grad, atol=0.01, rtol=0.01)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_upsampling_nearest_3d_correctness(mode):
    shift = 0.5 if mode == "nearest-exact" else 0
    for i, o in ((20, 11), (10, 15)):
        x = torch.arange(i, dtype=torch.float).expand(1, 1, i, i, i)
        found = F.interpolate(x, size=(o, o, o), mode=mode)
        wanted = [int((k + shift) * i / o) for k in range(o)]
        assert found[0, 0, 3, 5].tolist() == wanted


def test_interpolate_undefined_behavior_casting():
    x = torch.ones(1, 1, 2, 2, 2)
    for scale in (-1e20, 1e20):
        with pytest.raises(RuntimeError):
            F.interpolate(x, scale_factor=scale)
