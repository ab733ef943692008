# SPDX-License-Identifier: Apache-2.0
"""The cores of a device share all the work, each part once, as the planning numbers say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import upsample3d as up
from upsample3d.tiling import nearest_950, nearest_a2, trilinear_a2

size = st.integers(1, 40)
shapes = st.tuples(st.integers(1, 4), st.integers(1, 4), size, size, size)


@settings(max_examples=300, deadline=None)
@given(shapes, st.tuples(size, size, size), st.integers(1, 70))
@example((1, 1, 64, 64, 32), (64, 64, 64), 64)
@example((1, 2, 32, 32, 64), (64, 64, 64), 64)
@example((2, 2, 7, 7, 7), (7, 7, 7), 3)
def test_every_element_has_one_core(grad_input, o, cores):
    tiling = nearest_950((*grad_input[:2], *o), grad_input, cores=cores)
    n, c, *i = grad_input
    total = {0: n * c, 1: 1, 2: c, 3: n * c}[tiling.sch_id] * math.prod(i)
    shares = [tiling.share(core) for core in range(tiling.cores)]
    assert 1 <= tiling.cores <= cores
    assert min(map(len, shares)) >= 1
    assert [k for share in shares for k in share] == list(range(total))


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([nearest_a2, trilinear_a2]),
    st.tuples(st.integers(1, 3), st.integers(1, 3), *[st.integers(1, 30)] * 3),
    st.tuples(*[st.integers(1, 400)] * 3),
    st.integers(1, 50),
)
@example(trilinear_a2, (1, 1, 4, 128, 128), (12, 256, 256), 48)
@example(nearest_a2, (1, 1, 64, 64, 64), (32, 32, 32), 48)
@example(nearest_a2, (1, 2, 5, 6, 7), (128, 129, 257), 2)
@example(trilinear_a2, (1, 1, 2, 2, 2), (96, 97, 95), 3)
def test_every_slide_and_row_has_one_core(plan, grad_output, i, cores):
    n, c, *o = grad_output
    o = [min(b, 50 * a) for a, b in zip(i, o, strict=True)]
    tiling = plan((n, c, *o), (n, c, *i), cores=cores)
    assert tiling.cores == max(done.cores for done in tiling.passes) <= cores
    assert any(done.active for done in tiling.passes)
    assert tiling.radio == max(p.slide_size * p.k for p in tiling.passes)
    for done in tiling.passes:
        computed = np.zeros((done.size, done.rows), np.int64)
        for core in range(tiling.cores):
            for results, rows in done.work(core):
                assert 1 <= len(results) <= done.slide_size
                computed[results.start : results.stop, rows.start : rows.stop] += 1
        assert (computed == done.active).all()


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 300), st.integers(1, 300), st.booleans())
def test_k_holds_the_band_of_every_slide(i, o, align_corners):
    """A slide of trilinear reads no more sources than k says, from our own weights."""
    assume(i / o >= 0.02)
    tiling = trilinear_a2((1, 1, 1, 1, o), (1, 1, 1, 1, i), align_corners=align_corners)
    done = tiling.passes[2]
    band = up.bands("trilinear_backward", i, o, align_corners=align_corners)
    for core in range(tiling.cores):
        for results, _ in done.work(core):
            used = [k for k in results if band.lo[k] < band.hi[k]]
            if used:
                assert band.hi[used].max() - band.lo[used].min() <= done.k
