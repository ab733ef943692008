# SPDX-License-Identifier: Apache-2.0
"""The demo's parts: the model of the observation, the descent, the phantom."""

import numpy as np
import pytest

from upsample3d.demo import phantom, recovery


def test_observation_is_the_stated_blur_and_its_norm_is_bounded():
    model = recovery.Observation((1, 1, 8, 8, 8))
    unit = np.zeros((1, 1, 8, 8, 8), np.float32)
    unit[0, 0, 2, 3, 4] = 1
    weights = np.zeros((4, 8))  # row i: what low voxel i takes of high voxels 2i-1 … 2i+2
    for i in range(4):
        np.add.at(weights[i], np.clip(np.arange(2 * i - 1, 2 * i + 3), 0, 7), [1, 3, 3, 1])
    weights /= 8
    expected = np.einsum("i,j,k->ijk", weights[:, 2], weights[:, 3], weights[:, 4])
    np.testing.assert_array_equal(model.observe(unit)[0, 0], expected)
    assert model.norm2 == 1 / 8
    for shape in ((1, 1, 8, 8, 8), (1, 1, 9, 11, 4)):
        model = recovery.Observation(shape)
        x = np.random.default_rng(0).random(shape, np.float32)
        for _ in range(50):  # power iteration on A^T A
            x = model.adjoint(model.observe(x))
            growth = recovery.norm(x)
            x /= np.float32(growth)
        assert growth <= model.norm2 * (1 + 1e-6)


def test_descent_recovers_what_it_can_see_exactly():
    """A volume of the range of A^T is the only one there that explains its observation."""
    model = recovery.Observation((1, 2, 8, 6, 10))
    low = np.random.default_rng(1).random(model.shape, np.float32)
    truth = model.up(low)
    told = []
    found = recovery.recover(truth, 300, told.append)
    assert found.misfits[-1] < 1e-5
    assert told == list(found.misfits[:-1])
    np.testing.assert_allclose(found.end, truth, atol=1e-4)


def test_phantom_has_the_published_values():
    size = 201  # odd: a voxel lies in the centre
    volume = phantom.shepp_logan(size)

    def at(x, y, z):
        return volume[tuple(round((v + 1) * size / 2 - 0.5) for v in (x, y, z))]

    for place, value in {
        (0.95, 0.95, 0.95): 0.0,
        (0.0, 0.89, 0.0): 1.0,
        (0.0, -0.3, 0.0): 0.2,
        (0.22, 0.0, 0.0): 0.0,
        (-0.22, 0.0, 0.0): 0.0,
        (0.0, 0.45, -0.15): 0.3,
        (0.0, 0.1, 0.25): 0.3,
        (0.0, -0.606, 0.0): 0.3,
    }.items():
        assert at(*place) == pytest.approx(value, abs=1e-6), place
    # The dark pair leans apart at the top (y up): x of the right one grows with y.
    assert at(0.22 + 0.09, 0.27, 0) == pytest.approx(0, abs=1e-6)
    assert at(-0.22 - 0.09, 0.27, 0) == pytest.approx(0, abs=1e-6)
    assert at(0.22 - 0.09, 0.27, 0) > 0.1
