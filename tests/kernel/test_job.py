# SPDX-License-Identifier: Apache-2.0
"""Numbers that job.h and Python both state are the same numbers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

import upsample3d as up
from upsample3d.geometry import band
from upsample3d.plan import w_pass
from upsample3d.spec import dtypes, layout

JOB_H = (Path(__file__).parent.parent.parent / "include" / "upsample3d" / "job.h").read_text()
ENUMS = {name: int(value) for name, value in re.findall(r"(\w+) = (\d+)", JOB_H)}
STRUCTS = {
    name: re.findall(r"\b\w+(?=[,;])", re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL))
    for body, name in re.findall(r"typedef struct \{(.*?)\} (\w+);", JOB_H, flags=re.DOTALL)
}


def test_dtype_codes():
    assert {d.name.upper(): d.code for d in dtypes.DTYPES} == {
        name: ENUMS[name] for name in ("FLOAT32", "FLOAT16", "BFLOAT16", "FLOAT64")
    }


def test_kinds():
    kinds = [ENUMS[name] for name in ("SUM", "COPY", "IDENTITY")]
    assert kinds == [band.SUM, band.COPY, band.IDENTITY]


def test_w_forms_and_column():
    names = ("W_NONE", "W_PIXELS", "W_COLUMNS", "W_TABLE")
    assert [ENUMS[name] for name in names] == [getattr(w_pass, name) for name in names]
    assert f"#define COLUMN_BYTES {w_pass.COLUMN_BYTES}\n" in JOB_H


def test_strides_order():
    assert STRUCTS["strides_t"] == ["n", "c", "d", "h", "w", "element"]
    shape, strides = (2, 3, 4, 5, 6), (1440, 480, 120, 24, 4)
    laid = layout.arrange(0, 4, shape, strides, shape, strides)
    assert laid.source == (*strides, 0)


def test_scratch_order():
    assert STRUCTS["scratch_t"] == ["block", "rows", "columns", "sums", "packed", "lines", "size"]
    source = np.ones((1, 1, 4, 6, 8))[..., ::-1]
    plan = up.Plan("trilinear_backward", source.shape, source.dtype, input_size=(1, 1, 2, 3, 4),
                   strides=source.strides, out_strides=(384, 384, 192, 64, 16))  # fmt: skip
    offsets = plan.schedule.tiles.scratch
    # Reals of 8 bytes: a block of 6 x 8 and a vector, 3 rows and a vector, as rows of 8 are padded
    # to 16 and read beyond, 16 columns, 4 sums and a vector, 4 packed slabs of 6 x 8 elements, that
    # is 6 cache lines and one, and a vector more, 3 lines of 4; multiples of 64.
    packed = 4 * 7 * 64 + 16 * 8
    sizes = [(6 * 8 + 16) * 8, (3 * 16 + 16) * 8, 16 * 64, (4 + 16) * 64, packed, 128]
    assert list(offsets) == [sum(sizes[:k]) for k in range(7)]


def test_a_band_says_what_it_does():
    assert up.bands("nearest", 4, 4).kind == band.IDENTITY
    assert up.bands("nearest", 4, 8).kind == band.COPY
    assert up.bands("nearest_backward", 4, 8).kind == band.SUM
    assert up.bands("trilinear", 4, 8).kind == band.SUM
