# SPDX-License-Identifier: Apache-2.0
"""The device's planning numbers: its own unit tests, every threshold, every refusal."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tilings import CUBE

import upsample3d as up
from upsample3d.spec.errors import TilingError
from upsample3d.tiling import nearest_950, nearest_a2, trilinear_a2

LARGE = 2**31 - 1


def column(tiling, name: str) -> tuple:
    """One number of the passes D, H, W."""
    return tuple(getattr(done, name) for done in tiling.passes)


# ---- The operators' unit tests, decoded ----


def test_nearest_001():
    """No axis is active, so W is forced; the sizes are the attribute's, whatever y has."""
    tiling = nearest_a2((1, 1, 128, 128, 128), (1, 1, 128, 128, 128), cores=48)
    assert tiling.tiling_key == 1
    assert tiling.workspace_size == 17625088
    assert (tiling.tensor_size, tiling.mapping, tiling.radio) == (129, 129, 4416)
    assert (tiling.inter_w, tiling.inter_h, tiling.cores) == (0, 0, 48)
    assert column(tiling, "active") == (False, False, True)
    wanted = {"slide_size": 64, "k": 69, "each": 0, "remainder": 2, "group": 24, "rows": 16384,
              "tail_rows": 683, "cores": 48, "scale": 1.0, "tail_start": 0}  # fmt: skip
    for name, number in wanted.items():
        assert getattr(tiling.passes[2], name) == number, name
        if name != "scale":
            assert column(tiling, name)[:2] == (0, 0), name


def test_nearest_002():
    tiling = nearest_a2((1, 1, 64, 64, 64), CUBE, scales=(0.5,) * 3, cores=48)
    assert (tiling.tiling_key, tiling.workspace_size) == (1, 18018304)
    assert (tiling.inter_w, tiling.inter_h) == (131072, 65536)
    assert (tiling.tensor_size, tiling.mapping, tiling.radio) == (129, 97, 2368)
    assert column(tiling, "k") == (37, 37, 37)
    assert column(tiling, "remainder") == (1, 1, 1)
    assert column(tiling, "group") == (16, 1, 48)
    assert column(tiling, "rows") == (1024, 64, 4096)
    assert column(tiling, "tail_rows") == (64, 64, 86)
    assert column(tiling, "cores") == (16, 1, 48)
    assert column(tiling, "columns") == (True, False, False)


def test_nearest_003():
    tiling = nearest_950((1, 1, 64, 64, 64), CUBE, scales=(0.5,) * 3, cores=64)
    assert (tiling.tiling_key, tiling.workspace_size, tiling.threads) == (259, 16777216, 2048)
    assert tiling.data == (512, 1, 1, 64, 64, 64, 32, 32, 32, 0, 0, 0.5, 0.5, 0.5)


def test_trilinear_001():
    tiling = trilinear_a2((1, 1, 4, 128, 128), (1, 1, 12, 256, 256), cores=48)
    assert (tiling.tiling_key, tiling.workspace_size) == (1, 35170304)
    assert (tiling.inter_w, tiling.inter_h, tiling.radio) == (131072, 262144, 224)
    assert column(tiling, "scale") == (3, 2, 2)
    assert column(tiling, "k") == (4, 14, 14)
    assert column(tiling, "remainder") == (1, 16, 16)
    assert column(tiling, "group") == (1, 1, 3)
    assert column(tiling, "rows") == (1, 4, 512)
    assert column(tiling, "tail_rows") == (16, 16, 171)
    assert column(tiling, "cores") == (1, 16, 48)


@pytest.mark.parametrize(
    ("grad_output", "grad_input"),
    [
        ((1, 1, 0, 128, 128), (1, 1, 12, 256, 256)),  # 002
        ((1, 1, 60, 256, 512), (1, 1, 4, 1, 2)),  # 003: 1/256 < 0.02
    ],
)
def test_trilinear_002_and_003_fail(grad_output, grad_input):
    with pytest.raises(TilingError) as caught:
        trilinear_a2(grad_output, grad_input, cores=48)
    assert caught.value.status == up.Status.TILING_ERROR == 561002


# ---- A2 and A3 ----


def up_from(value: float) -> float:
    return float(np.nextafter(np.float32(value), np.float32(np.inf)))


@pytest.mark.parametrize(("scale", "slide"),
    [(0.1, 64), (6, 64), (up_from(6), 48), (10, 48), (up_from(10), 32), (24, 32),
     (up_from(24), 16), (50, 16)])  # fmt: skip
@pytest.mark.parametrize("axis", range(3))
def test_slide_size_by_the_largest_scale(scale, slide, axis):
    scales = [0.05, 0.05, 0.05]
    scales[axis] = scale
    tiling = nearest_a2((1, 1, 999, 999, 999), (1, 1, 99, 99, 99), scales=scales)
    assert column(tiling, "slide_size") == (slide,) * 3
    product = np.float32(slide) * np.float32(scale)
    assert tiling.passes[axis].k == min(math.ceil(product) + 5, 999)


def test_scales_above_50_fail():
    shape = (1, 1, 50, 50, 50)
    assert nearest_a2(shape, (1, 1, 1, 1, 1)).passes[0].scale == 50
    for bad in ({"scales": (0, up_from(50), 0)}, {"scales": (math.inf, 1, 1)}):
        with pytest.raises(TilingError, match=r"50\.0"):
            nearest_a2(shape, (1, 1, 2, 2, 2), **bad)
    with pytest.raises(TilingError, match=r"51\.0"):
        nearest_a2((1, 1, 1, 51, 1), (1, 1, 1, 1, 1))


@pytest.mark.parametrize(("scale", "active"),
    [(1.0, False), (1 + 9e-7, False), (1 - 9e-7, False), (1 + 1.1e-6, True),
     (1 - 1.1e-6, True)])  # fmt: skip
def test_scales_near_one_need_no_pass(scale, active):
    nearest = nearest_a2((1, 1, 8, 8, 8), (1, 1, 8, 8, 4), scales=(scale, scale, 2))
    assert column(nearest, "active") == (active, active, True)
    trilinear = trilinear_a2((1, 1, 8, 8, 8), (1, 1, 4, 4, 4), inverse_scales=(scale, scale, 0.5))
    assert column(trilinear, "active") == (active, active, True)
    assert trilinear.skipped == ("" if active else "DH")


def test_skipped_axes():
    assert trilinear_a2((1, 1, 2, 2, 2**20), (1, 1, 1, 2, 2**20 - 1)).skipped == "W"
    assert trilinear_a2((1, 1, 2, 2, 1000), (1, 1, 1, 2, 999)).skipped == ""
    assert nearest_a2((1, 1, 2, 2, 2**20), (1, 1, 1, 2, 2**20 - 1)).skipped == ""
    assert nearest_a2((1, 1, 2, 3, 2), (1, 1, 1, 2, 2), scales=(2, 1, 1)).skipped == "H"


def test_ratios_below_one_fiftieth_fail():
    least = float(np.float32(0.02))
    below = float(np.nextafter(np.float32(least), np.float32(0)))
    shape = (1, 1, 4, 4, 4)
    assert trilinear_a2(shape, shape, inverse_scales=(least,) * 3).passes[2].scale == 1
    for axis in range(3):
        scales = [1.0, 1.0, 1.0]
        scales[axis] = below
        with pytest.raises(TilingError, match="ratios"):
            trilinear_a2(shape, shape, inverse_scales=scales)
    assert trilinear_a2((1, 1, 50, 1, 1), (1, 1, 1, 1, 1)).passes[0].k == 50
    for corners in (False, True):
        with pytest.raises(TilingError, match="ratios"):
            trilinear_a2((1, 1, 51, 1, 1), (1, 1, 1, 1, 1), align_corners=corners)


def test_trilinear_scale_rules():
    """Equal sizes come first, then corners, then the attribute, then the sizes' ratio."""
    o, i = (1, 1, 7, 9, 1), (1, 1, 7, 3, 5)
    third = float(np.float32(3) / np.float32(9))
    assert column(trilinear_a2(o, i), "scale") == (1, third, 5)
    assert column(trilinear_a2(o, i, inverse_scales=(2, 3, 0)), "scale") == (1, 3, 5)
    corners = trilinear_a2(o, i, inverse_scales=(2, 3, 4), align_corners=True)
    assert column(corners, "scale") == (1, 0.25, 0)
    assert column(corners, "k") == (0, 9, 1)


@pytest.mark.parametrize(("scale", "k"), [(2, 14), (2.5, 12), (3, 11), (19.9999, 6), (20, 5),
    (19.99999, 5), (0.02, 1004), (math.inf, 4)])  # fmt: skip
def test_trilinear_k(scale, k):
    """ceil(20 / scale) + 4, where up to 1e-6 above an integer does not count."""
    shapes = (1, 1, 1, 1, 5000), (1, 1, 1, 1, 100)
    assert trilinear_a2(*shapes, inverse_scales=(1, 1, scale)).passes[2].k == k


def test_corners_onto_one_source_need_all():
    assert trilinear_a2((1, 1, 1, 1, 40), (1, 1, 1, 1, 1), align_corners=True).passes[2].k == 40


@pytest.mark.parametrize("plan", [nearest_a2, trilinear_a2])
def test_halves_take_half_and_blocks_of_sixteen(plan):
    shapes = (1, 1, 3, 3, 3), (1, 1, 2, 2, 3)
    single, half = plan(*shapes), plan(*shapes, "float16")
    assert (single.inter_w, single.inter_h) == (0, 24)  # 18 elements in blocks of 8
    assert (half.inter_w, half.inter_h) == (0, 32)
    reserved = single.workspace_size - 4 * (24 + single.radio * single.cores)
    assert reserved in (16 * 2**20, 32 * 2**20)
    assert half.workspace_size == reserved + 2 * (32 + half.radio * half.cores)
    assert plan(*shapes, "bfloat16") == half


@pytest.mark.parametrize("plan", [nearest_a2, trilinear_a2])
@pytest.mark.parametrize("active", ["", "D", "H", "W", "DH", "DW", "HW", "DHW"])
def test_memory_between_active_passes(plan, active):
    """The result of W needs memory if a pass follows, that of H if D follows."""
    i = [8, 8, 8]
    o = [16 if axis in active else 8 for axis in "DHW"]
    tiling = plan((1, 1, *o), (1, 1, *i))
    assert column(tiling, "active") == tuple(axis in (active or "W") for axis in "DHW")
    after_w, after_h = o[0] * o[1] * i[2], o[0] * i[1] * i[2]
    wanted = (after_w * (active in ("DW", "HW", "DHW")), after_h * (active in ("DH", "DHW")))
    assert (tiling.inter_w, tiling.inter_h) == wanted


@pytest.mark.parametrize(("n", "columns"), [(11, (True, True)), (12, (True, True)),
    (13, (True, False)), (96, (True, False)), (97, (False, False))])  # fmt: skip
def test_nearest_splits_columns_where_they_are_as_many(n, columns):
    tiling = nearest_a2((n, 1, 1, 16, 6), (n, 1, 2, 8, 12), cores=2)
    assert column(tiling, "columns")[:2] == columns
    assert column(tiling, "rows") == (max(n, 96), max(n, 12), 16 * n)


@pytest.mark.parametrize("plan", [nearest_a2, trilinear_a2])
def test_matrix_refusals(plan):
    with pytest.raises(TilingError, match="dtype is float64"):
        plan((1, 1, 4, 4, 4), (1, 1, 2, 2, 2), "float64")
    for shapes in ((CUBE, (1, 1, 0, 2, 2)), ((0, 1, 2, 2, 2), CUBE), (CUBE, (1, 1, -1, 2, 2))):
        with pytest.raises(TilingError, match="wanted sizes > 0"):
            plan(*shapes)


# ---- Numbers that a case of equal sizes would not tell apart ----


def test_nearest_a2_takes_n_and_c_from_input_size():
    one, six = ((n, c, 8, 8, 8) for n, c in ((1, 1), (2, 3)))
    small = (2, 3, 4, 4, 4)
    assert nearest_a2(one, small) == nearest_a2(six, small) != nearest_a2(six, (1, 1, 4, 4, 4))
    assert nearest_a2(one, small).passes[2].rows == 2 * 3 * 8 * 8


@pytest.mark.parametrize("scale", [2.0, 7.0, 11.0, 40.0])
@pytest.mark.parametrize("cores", [1, 3, 48])
def test_tables_of_nearest_depend_on_the_widest_pass_only(scale, cores):
    """However many slides a core has; an axis that is not resized has none."""
    slide = {2.0: 64, 7.0: 48, 11.0: 32, 40.0: 16}[scale]
    tiling = nearest_a2(
        (1, 1, 5, 999, 999), (1, 1, 5, 900, 900), scales=(1, 1.5, scale), cores=cores
    )
    assert tiling.tensor_size == 2 * slide + 1
    assert tiling.mapping == (slide + 1) * scale + slide
    assert trilinear_a2((1, 1, 4, 4, 4), (1, 1, 2, 2, 2)).tensor_size == 0
