# SPDX-License-Identifier: Apache-2.0
"""The tiling of the nearest gradients on Ascend 950."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tilings import CUBE

from upsample3d.spec.errors import TilingError
from upsample3d.tiling import nearest_950

LARGE = 2**31 - 1
DERIVED = [  # grad_input -> sch_id, cores, block_factor, tail
    ((1, 1, 32, 32, 32), (3, 64, 512, 0)),
    ((1, 1, 64, 64, 32), (1, 64, 2048, 0)),
    ((1, 1, 63, 64, 32), (3, 64, 2016, 0)),
    ((1, 2, 32, 32, 64), (2, 64, 2048, 0)),
    ((2, 1, 32, 32, 64), (3, 64, 2048, 0)),
    ((1, 1, 3, 3, 3), (3, 27, 1, 0)),
    ((1, 1, 5, 5, 5), (3, 64, 1, 61)),
]


@pytest.mark.parametrize(("shape", "wanted"), DERIVED)
def test_derived_vectors(shape, wanted):
    n, c, d, h, w = shape
    tiling = nearest_950((n, c, 2 * d, 2 * h, 2 * w), shape)
    assert (tiling.sch_id, tiling.cores, tiling.block_factor, tiling.tail) == wanted
    assert tiling.len_n == n
    assert tiling.scales == (2, 2, 2)


@pytest.mark.parametrize(("numel", "cores", "block_factor", "tail"),
    [(1000, 31, 32, 8), (20, 1, 20, 0), (31, 1, 31, 0), (32, 1, 32, 0), (2047, 63, 32, 31),
     (2048, 64, 32, 0), (2049, 64, 32, 1)])  # fmt: skip
def test_copies(numel, cores, block_factor, tail):
    """A line is 32 float32; up to a line for each of 64 cores, fewer cores have at least one."""
    tiling = nearest_950((1, 1, 1, 1, numel), (1, 1, 1, 1, numel))
    assert (tiling.sch_id, tiling.tiling_key, tiling.threads) == (0, 0, 0)
    assert (tiling.cores, tiling.block_factor, tiling.tail) == (cores, block_factor, tail)
    assert tiling.ub_factor == 32760


@pytest.mark.parametrize(("dtype", "ub_factor", "cores"),
    [("float32", 32760, 1), ("float16", 65520, 1), ("bfloat16", 65520, 1),
     ("float64", 16380, 3), ("uint8", 131040, 1)])  # fmt: skip
def test_copy_counts_bytes(dtype, ub_factor, cores):
    tiling = nearest_950((1, 1, 1, 1, 60), (1, 1, 1, 1, 60), dtype)
    assert (tiling.ub_factor, tiling.cores) == (ub_factor, cores)


def test_copy_chunk_is_whole_blocks():
    tiling = nearest_950(CUBE, CUBE, ub_size=1000)
    assert tiling.ub_factor == 120  # (1000 - 32) / 8 = 121, rounded down to blocks of 8


@pytest.mark.parametrize(("scale", "sch_id"),
    [(1 + 1e-8, 0), (1 - 1e-8, 0), (1.0, 0), (0.0, 0), (-1.0, 0), (math.nan, 0),
     (float(np.nextafter(np.float32(1), np.float32(2))), 3),
     (float(np.nextafter(np.float32(1), np.float32(0))), 3), (2.0, 3)])  # fmt: skip
@pytest.mark.parametrize("axis", range(3))
def test_scale_of_a_copy_is_one_in_float32(scale, sch_id, axis):
    scales = [0.0, 0.0, 0.0]
    scales[axis] = scale
    assert nearest_950(CUBE, CUBE, scales=scales).sch_id == sch_id


@pytest.mark.parametrize("cores", [1, 7, 64])
@pytest.mark.parametrize(("step", "schedules"), [(-1, (3, 3)), (0, (1, 2)), (1, (1, 2))])
def test_sch_id_around_all_threads(cores, step, schedules):
    """D*H*W >= cores * 2048 is 1; else C*D*H*W >= it is 2, where N does not count."""
    size = cores * 2048 + step
    one = nearest_950((3, 1, 2, 1, size), (3, 1, 1, 1, size), cores=cores)
    two = nearest_950((3, size, 1, 1, 2), (3, size, 1, 1, 1), cores=cores)
    assert (one.sch_id, two.sch_id) == schedules
    assert two.len_c == size
    assert one.len_n == two.len_n == 3
    assert nearest_950((size, 1, 1, 1, 2), (size, 1, 1, 1, 1), cores=cores).sch_id == 3


def test_len_n_of_sch_id_1_is_all_planes():
    tiling = nearest_950((3, 5, 128, 64, 64), (3, 5, 64, 64, 32))
    assert (tiling.sch_id, tiling.len_n, tiling.len_c) == (1, 15, 5)


@pytest.mark.parametrize(("numel", "uint32"), [(2**32 - 1, True), (2**32, False)])
@pytest.mark.parametrize("larger", ["grad_output", "grad_input"])
def test_index_width(numel, uint32, larger):
    large, small = (1, 1, 1, 1, numel), (1, 1, 1, 1, numel // 2)
    tiling = nearest_950(*((large, small) if larger == "grad_output" else (small, large)))
    assert tiling.uint32 == uint32
    assert tiling.threads == (2048 if uint32 else 1024)
    assert tiling.tiling_key == 1 + 256 * uint32


def test_a_copy_has_no_index_whatever_its_size():
    assert nearest_950((1, 1, 1, 2, LARGE), (1, 1, 1, 2, LARGE)).tiling_key == 0
    assert nearest_950(CUBE, CUBE).uint32 is False


def test_each_scale_of_950_counts_alone():
    tiling = nearest_950((1, 1, 7, 7, 7), (1, 1, 3, 3, 3), scales=(0, 1.1, -2))
    ratio = float(np.float32(7) / np.float32(3))
    assert tiling.scales == (ratio, float(np.float32(1.1)), ratio)


BAD_950 = {
    "dtype": (dict(dtype="int32"), "dtype is int32"),
    "y dtype": (dict(grad_input_dtype="float16"), "grad_input has dtype float16"),
    "N": (dict(grad_input_shape=(2, 1, 32, 32, 32)), "N, C"),
    "C": (dict(grad_input_shape=(1, 2, 32, 32, 32)), "N, C"),
    "input_size D": (dict(input_size=(1, 1, 31, 32, 32)), "input_size"),
    "input_size W": (dict(input_size=(1, 1, 32, 32, 31)), "input_size"),
    "empty": (dict(grad_output_shape=(0, 1, 2, 2, 2)), "grad_output_shape"),
}


@pytest.mark.parametrize(("change", "said"), BAD_950.values(), ids=BAD_950)
def test_950_refuses(change, said):
    good = {"grad_output_shape": (1, 1, 64, 64, 64), "grad_input_shape": CUBE, "input_size": CUBE,
            "grad_input_dtype": "float32"}  # fmt: skip
    assert nearest_950(**good).sch_id == 3
    with pytest.raises(TilingError, match=said) as caught:
        nearest_950(**{**good, **change})
    assert caught.value.status == 561002


def test_data_of_950_is_in_order():
    tiling = nearest_950((2, 3, 8, 15, 28), (2, 3, 4, 5, 7), scales=(2, 3, 4), cores=64)
    numbers = (13, 2, 3, 8, 15, 28, 4, 5, 7, 0, 8, 2.0, 3.0, 4.0)
    assert tiling.data == numbers
    assert 64 * 13 + 8 == 2 * 3 * 4 * 5 * 7


@pytest.mark.parametrize(("cores", "c", "sch_id"), [(1, 1, 1), (64, 4, 2), (64, 1, 3)])
@pytest.mark.parametrize("wide", [False, True])
def test_tiling_keys(cores, c, sch_id, wide):
    """By sch_id, from 257 on with indices of 32 bits: of grad_output, the larger one."""
    side = 2**16 if wide else 2**8
    tiling = nearest_950((1, c, 2, side, side), (1, c, 1, 256, 256), cores=cores)
    assert tiling.tiling_key == sch_id + (0 if wide else 256)
