# SPDX-License-Identifier: Apache-2.0
"""Bugs that users of other libraries reported, each as a small case with its right value.

Reports about speed are in bench/, those about PyTorch's own machinery in the tests of torch.py.
"""

import numpy as np
import oracle
import pytest

import upsample3d as up

BACKWARD = ("nearest_backward", "nearest_exact_backward", "trilinear_backward")
f32 = np.float32


def on_w(op, i, g, scale=None, **options):
    """The gradient along W of one line g, in every plane of a (2, 2, 1, 1, W) problem: [i]."""
    source = np.broadcast_to(np.asarray(g, f32), (2, 2, 1, 1, len(g)))
    scales = None if scale is None else (None, None, scale)
    got = getattr(up, op)(source, (2, 2, 1, 1, i), scales, **options)
    assert (got == got[0, 0]).all()
    return got[0, 0, 0, 0].tolist()


@pytest.mark.long
def test_bfloat16_channels_last_with_a_large_factor():
    """pytorch#171520: NaNs, and sums of one sample in the next."""
    random = np.random.default_rng(171520)
    wide = random.standard_normal((3, 220, 140, 60, 2), f32)
    g = wide.astype(oracle.bfloat16)
    options = {"data_format": "NDHWC"}
    got = up.nearest_backward(g, (3, 2, 11, 7, 3), **options)
    assert np.isfinite(got.astype(f32)).all()
    sums = up.nearest_backward(g.astype(f32), (3, 2, 11, 7, 3), **options)
    assert np.array_equal(got, sums.astype(oracle.bfloat16))
    truth = oracle.answer("nearest_backward", np.moveaxis(g, -1, 1), (11, 7, 3), (220, 140, 60))
    truth.check(np.moveaxis(got, -1, 1), "pytorch#171520")
    for n in range(3):
        alone = up.nearest_backward(g[n : n + 1], (1, 2, 11, 7, 3), **options)
        assert np.array_equal(alone[0], got[n])


def test_given_scales_that_fit_neither_size():
    """pytorch#97135: zeros in the gradient for scales of 1.25 and 1.295."""
    scale = 1.295275651786123
    assert on_w("nearest_backward", 2, [1, 1], scale, rule="torch") == [1, 1]
    assert on_w("nearest_backward", 2, [1, 1], scale, rule="aclnn") == [2, 0]
    for rule in oracle.RULES:
        assert on_w("nearest_backward", 4, [1] * 5, 1.25, rule=rule) == [2, 1, 1, 1]


def test_twice_the_size_with_another_scale():
    """pytorch#97770: CPU and GPU disagreed on the special case out == 2 * in."""
    assert on_w("nearest_backward", 2, [1] * 4, 2.3, rule="torch") == [2, 2]
    assert on_w("nearest_backward", 2, [1] * 4, 2.3, rule="aclnn") == [3, 1]


@pytest.mark.parametrize("rule", oracle.RULES)
def test_gradient_of_downsampling(rule):
    """pytorch#38985: the gradient landed on the wrong pixel."""
    assert on_w("nearest_backward", 4, [1], 0.25, rule=rule) == [1, 0, 0, 0]
    assert on_w("nearest_exact_backward", 4, [1], 0.25, rule=rule) == [0, 0, 1, 0]
    assert on_w("trilinear_backward", 4, [1], 0.25, rule=rule) == [0, 0.5, 0.5, 0]


@pytest.mark.parametrize("rule", oracle.RULES)
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("dtype", oracle.DTYPES)
def test_three_different_sizes(dtype, align_corners, rule):
    """pytorch#50084: H and W swapped in the trilinear gradient."""
    i, o = (2, 3, 5), (5, 4, 7)
    g = np.random.default_rng(50084).standard_normal((2, 3, *o)).astype(oracle.numpy_dtype(dtype))
    options = {"align_corners": align_corners, "rule": rule}
    truth = oracle.answer("trilinear_backward", g, i, o, **options)
    truth.check(up.trilinear_backward(g, (2, 3, *i), **options), "pytorch#50084")


def test_trilinear_over_one_slab_is_bilinear():
    """pytorch#112299: trilinear by (1, 2, 2) in bfloat16 differed from bilinear."""
    rows = np.array([[1, 0.75, 0.25, 0], [0, 0.25, 0.75, 1]])
    # Eighths up to 16 are exact in bfloat16, their sums of 16ths in float32.
    g = np.random.default_rng(112299).integers(-128, 129, (2, 3, 1, 4, 4)) / 8
    bilinear = rows @ g @ rows.T
    got = up.trilinear_backward(g.astype(oracle.bfloat16), (2, 3, 1, 2, 2))
    assert np.array_equal(got, bilinear.astype(oracle.bfloat16))


@pytest.mark.parametrize("data_format", ["NCDHW", "NDHWC"])
@pytest.mark.parametrize("op", BACKWARD)
def test_bfloat16_is_the_float32_result_rounded_once(op, data_format):
    """pytorch#91169, #89212: sums in bfloat16 lost their precision."""
    g = np.random.default_rng(91169).standard_normal((2, 5, 40, 33, 70), f32)
    g = oracle.to_format(g.astype(oracle.bfloat16), data_format)
    options = {"data_format": data_format}
    got = getattr(up, op)(g, (2, 5, 2, 5, 3), **options)
    wide = getattr(up, op)(g.astype(f32), (2, 5, 2, 5, 3), **options)
    assert got.tobytes() == wide.astype(oracle.bfloat16).tobytes()


@pytest.mark.parametrize("data_format", ["NCDHW", "NDHWC"])
@pytest.mark.parametrize("op", BACKWARD)
def test_one_sample_on_any_number_of_threads(op, data_format):
    """pytorch#31452, #34864: kernels threaded over N only, or not at all."""
    g = np.random.default_rng(34864).standard_normal((1, 6, 40, 44, 48), f32)
    g = oracle.to_format(g, data_format)
    options = {"data_format": data_format}
    results = [
        getattr(up, op)(g, (1, 6, 20, 21, 23), num_threads=n, **options) for n in (1, 2, 3, 8)
    ]
    assert len({r.tobytes() for r in results}) == 1


@pytest.mark.parametrize("op", BACKWARD)
def test_memory_format_is_kept(op):
    """pytorch#34812, #34597, #52065: the gradient of channels-last data was not channels-last."""
    g = np.zeros((2, 6, 8, 10, 3), f32)
    got = getattr(up, op)(g, (2, 3, 3, 4, 5), data_format="NDHWC")
    assert got.shape == (2, 3, 4, 5, 3)
    assert got.flags.c_contiguous
    got = getattr(up, op)(np.moveaxis(g, -1, 1), (2, 3, 3, 4, 5))
    assert got.shape == (2, 3, 3, 4, 5)
    assert np.moveaxis(got, 1, -1).flags.c_contiguous
    got = getattr(up, op)(np.zeros((2, 3, 6, 8, 10), f32), (2, 3, 3, 4, 5))
    assert got.flags.c_contiguous


@pytest.mark.parametrize("op", BACKWARD)
def test_channels_last_data_is_read_as_such(op):
    """pytorch#54744, #54590: channels-last memory read as if it were contiguous."""
    g = np.random.default_rng(54744).standard_normal((2, 3, 7, 9, 11), f32)
    plain = getattr(up, op)(g, (2, 3, 3, 5, 4))
    last = oracle.to_format(g, "NDHWC")
    got = getattr(up, op)(last, (2, 3, 3, 5, 4), data_format="NDHWC")
    view = getattr(up, op)(np.moveaxis(last, -1, 1), (2, 3, 3, 5, 4))
    assert np.array_equal(np.moveaxis(got, -1, 1), plain)
    assert np.array_equal(view, plain)


@pytest.mark.parametrize("data_format", ["NCDHW", "NDHWC"])
@pytest.mark.parametrize("align_corners", [False, True])
def test_twenty_runs_have_one_result(align_corners, data_format):
    """pytorch#154183, #198128, #107999, MONAI#5609: trilinear gradients changed from run to run."""
    g = np.random.default_rng(154183).standard_normal((2, 4, 30, 31, 33), f32)
    g = oracle.to_format(g, data_format)
    options = {"align_corners": align_corners, "data_format": data_format}
    runs = [
        up.trilinear_backward(g, (2, 4, 13, 16, 11), num_threads=1 + n % 5, **options)
        for n in range(20)
    ]
    assert len({r.tobytes() for r in runs}) == 1


def test_more_than_2_31_elements():
    """pytorch#144855, #117011, #141831, #129118: zeros beyond 2^31 elements."""
    shape = (1, 2, 1100, 1024, 1024)
    assert np.prod(shape) > 2**31
    slabs = np.arange(2 * 1100).reshape(1, 2, 1100, 1, 1) % 7 + 1
    g = np.broadcast_to((slabs * 2.0**-14).astype(np.float16), shape)
    got = up.nearest_backward(g, (1, 2, 4, 2, 2))
    # Multiples of 2^-14 whose sums are below 2^10: exact in float32, then rounded once.
    sums = slabs.reshape(2, 4, 275).sum(axis=-1) * 2.0**-14 * 512 * 512
    expected = np.broadcast_to(sums[..., None, None], (2, 4, 2, 2)).astype(np.float16)
    assert np.array_equal(got[0], expected)


@pytest.mark.parametrize("op", BACKWARD)
def test_offsets_beyond_2_31(op):
    """pytorch#144855, #117011, #141831, #129118: offsets computed in 32 bits."""
    # Pages of zeros are not backed by memory until they are written: 4.6 GB of addresses only.
    memory = np.zeros((2, 2, 575, 1000, 1000), np.float16)
    g = memory[:, :, ::82, ::111, ::90]
    assert (np.array(g.strides) * (np.array(g.shape) - 1)).sum() // 2 > 2**31
    g[...] = np.random.default_rng(144855).standard_normal(g.shape)
    got = getattr(up, op)(g, (2, 2, 3, 4, 5))
    assert np.array_equal(got, getattr(up, op)(g.copy(), (2, 2, 3, 4, 5)))


@pytest.mark.parametrize("op", BACKWARD)
def test_degenerate_shapes(op):
    """pytorch#84630: crashes on empty sizes."""
    for planes in ((0, 3), (2, 0), (0, 0)):
        got = getattr(up, op)(np.zeros((*planes, 4, 5, 6), f32), (*planes, 2, 3, 4))
        assert got.shape == (*planes, 2, 3, 4)
        got = getattr(up, op.removesuffix("_backward"))(np.zeros((*planes, 2, 3, 4)), (4, 5, 6))
        assert got.shape == (*planes, 4, 5, 6)
    for axis in range(3):
        i, o = [2, 3, 4], [4, 5, 6]
        o[axis] = 0
        with pytest.raises(ValueError, match="0"):
            getattr(up, op)(np.zeros((2, 3, *o), f32), (2, 3, *i))
        i[axis], o[axis] = 0, 4
        with pytest.raises(ValueError, match="0"):
            getattr(up, op)(np.zeros((2, 3, *o), f32), (2, 3, *i))


@pytest.mark.parametrize("mode", oracle.OPS)
def test_an_input_without_slabs(mode):
    """pytorch#197095: a zero size read memory that was never written."""
    with pytest.raises(ValueError, match="0"):
        getattr(up, mode)(np.zeros((1, 1, 0, 2, 2), f32), (4, 4, 4))
    with pytest.raises(ValueError, match="0"):
        getattr(up, mode)(np.zeros((1, 1, 2, 2, 2), f32), (4, 0, 4))


@pytest.mark.parametrize("rule", oracle.RULES)
@pytest.mark.parametrize("scale", [None, 1.1, 1.3, 1.5, 1.7, 2.3, 2.5, 0.1, 100.0])
def test_no_index_leaves_the_input(scale, rule):
    """tensorflow#48993: a rounded source index overran the heap."""
    random = np.random.default_rng(48993)
    pairs = [(i, o) for i in range(1, 13) for o in range(1, 25)]
    pairs += [tuple(map(int, random.integers(1, 301, 2))) for _ in range(150)]
    for i, o in pairs:
        for mode in oracle.OPS:
            band = up.bands(mode, i, o, scale, rule=rule)
            assert band.lo.min() >= 0, (mode, i, o)
            assert band.hi.max() <= i, (mode, i, o)
            window = up.bands(mode + "_backward", i, o, scale, rule=rule)
            assert window.lo.min() >= 0, (mode, i, o)
            assert window.hi.max() <= o, (mode, i, o)
            if mode != "trilinear" and (scale is None or rule == "torch"):
                assert (window.hi - window.lo).sum() == o, (mode, i, o)


@pytest.mark.parametrize("rule", oracle.RULES)
def test_a_given_scale_is_not_recomputed_from_the_sizes(rule):
    """ncnn#6836, pytorch#62396: the scale the user gave, or the sizes' ratio."""
    # Printed with six decimals, each weight rounded to 2^-24.
    near = {"rtol": 0, "atol": 1e-6}
    given = on_w("trilinear_backward", 4, [1] * 5, 1.3, rule=rule)
    np.testing.assert_allclose(given, [1.346154, 1.230769, 1.269231, 1.153846], **near)
    ratio = on_w("trilinear_backward", 4, [1] * 5, rule=rule)
    np.testing.assert_allclose(ratio, [1.3, 1.2, 1.2, 1.3], **near)
    assert on_w("nearest_exact_backward", 16, [1] * 36, rule=rule)[-3:] == [2, 3, 2]


def test_windows_of_cpu_and_gpu_kernels():
    """FlagGems#5664: windows of a GPU kernel where a CPU kernel was replaced."""
    exact = "nearest_exact_backward"
    assert on_w(exact, 16, [1] * 36, 2.3, rule="torch")[-3:] == [2, 3, 1]
    assert on_w(exact, 16, [1] * 36, 2.3, rule="aclnn")[-3:] == [2, 2, 2]


@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize("rule", oracle.RULES)
def test_gradient_of_a_single_output(rule, dtype):
    """pytorch#100794: wrong gradient of interpolation to one element."""
    g = np.array([[8, -16], [24, 40]]).reshape(2, 2, 1, 1, 1).astype(oracle.numpy_dtype(dtype))

    def weights(op, **options):
        got = getattr(up, op)(g, (2, 2, 4, 4, 4), rule=rule, **options)
        whole = got / g
        assert (whole == whole[0, 0]).all()
        return whole[0, 0].astype(f32)

    corner, exact, middle = (np.zeros((4, 4, 4)) for _ in range(3))
    corner[0, 0, 0] = exact[2, 2, 2] = 1
    middle[1:3, 1:3, 1:3] = 1 / 8
    assert np.array_equal(weights("nearest_backward"), corner)
    assert np.array_equal(weights("nearest_exact_backward"), exact)
    assert np.array_equal(weights("trilinear_backward"), middle)
    assert np.array_equal(weights("trilinear_backward", align_corners=True), corner)


@pytest.mark.parametrize("data_format", ["NCDHW", "NDHWC"])
def test_gradient_of_doubling_is_a_block_sum(data_format):
    """deeplearning4j#8019: the gradient of doubling was no sum over 2 x 2 x 2 blocks."""
    g = np.random.default_rng(8019).integers(-9, 10, (1, 2, 6, 6, 6)).astype(f32)
    sums = g.reshape(1, 2, 3, 2, 3, 2, 3, 2).sum(axis=(3, 5, 7))
    source = oracle.to_format(g, data_format)
    for op in ("nearest_backward", "nearest_exact_backward"):
        got = getattr(up, op)(source, (1, 2, 3, 3, 3), data_format=data_format)
        assert np.array_equal(oracle.from_format(got, data_format), sums)


@pytest.mark.parametrize("op", BACKWARD[:2])
def test_integer_gradients_are_exact(op):
    """PaddlePaddle/Paddle#55913, #18711: float32 gradients beyond their tolerance."""
    i, o = (3, 8, 9), (10, 17, 64)
    g = np.random.default_rng(55913).integers(-1000, 1001, (2, 3, *o)).astype(f32)
    truth = oracle.answer(op, g, i, o).value
    assert np.array_equal(getattr(up, op)(g, (2, 3, *i)), truth)
