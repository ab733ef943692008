# SPDX-License-Identifier: Apache-2.0
"""The 3-D Shepp-Logan head phantom, sampled on a grid."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Ellipsoid(NamedTuple):
    """A solid whose value adds to what it overlaps; lengths in units of half the grid's edge."""

    value: float
    axes: tuple[float, float, float]
    centre: tuple[float, float, float]
    degrees: float  # turned about z, from x towards y


# Ten ellipsoids. x and y: Shepp and Logan, "The Fourier reconstruction of a head section", IEEE
# Trans. Nucl. Sci. NS-21 (1974). Values: the higher contrast of P. Toft, "The Radon transform:
# theory and implementation", thesis, DTU 1996, pp. 199-200. z: M. Schabel's phantom3d (2006), from
# A. Kak and M. Slaney, "Principles of computerized tomographic imaging", IEEE Press 1988, ch. 3.
ELLIPSOIDS = (
    Ellipsoid(+1.0, (0.6900, 0.920, 0.810), (+0.00, +0.0000, +0.00), 0),
    Ellipsoid(-0.8, (0.6624, 0.874, 0.780), (+0.00, -0.0184, +0.00), 0),
    Ellipsoid(-0.2, (0.1100, 0.310, 0.220), (+0.22, +0.0000, +0.00), -18),
    Ellipsoid(-0.2, (0.1600, 0.410, 0.280), (-0.22, +0.0000, +0.00), +18),
    Ellipsoid(+0.1, (0.2100, 0.250, 0.410), (+0.00, +0.3500, -0.15), 0),
    Ellipsoid(+0.1, (0.0460, 0.046, 0.050), (+0.00, +0.1000, +0.25), 0),
    Ellipsoid(+0.1, (0.0460, 0.046, 0.050), (+0.00, -0.1000, +0.25), 0),
    Ellipsoid(+0.1, (0.0460, 0.023, 0.050), (-0.08, -0.6050, +0.00), 0),
    Ellipsoid(+0.1, (0.0230, 0.023, 0.020), (+0.00, -0.6060, +0.00), 0),
    Ellipsoid(+0.1, (0.0230, 0.046, 0.020), (+0.06, -0.6050, +0.00), 0),
)


def shepp_logan(size: int) -> npt.NDArray[np.float32]:
    """The phantom in size³ voxels, axes (x, y, z), each voxel the value at its centre."""
    volume = np.zeros((size, size, size), np.float32)
    grid = ((np.arange(size, dtype=np.float32) + 0.5) * (2 / size) - 1).astype(np.float32)
    for value, axes, centre, degrees in ELLIPSOIDS:
        # A ball of the longest semi-axis holds the solid however it is turned.
        box = tuple(slice(*np.searchsorted(grid, (c - max(axes), c + max(axes)))) for c in centre)
        x, y, z = (grid[part] - np.float32(c) for part, c in zip(box, centre, strict=True))
        cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        along = np.add.outer(x * cosine, y * sine) / axes[0]
        across = np.add.outer(x * -sine, y * cosine) / axes[1]
        inside = np.add.outer(along**2 + across**2, (z / axes[2]) ** 2) <= 1
        volume[box] += inside * np.float32(value)
    return volume
