# SPDX-License-Identifier: Apache-2.0
"""The picture of a recovery, as PNG bytes. Imports matplotlib when asked."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = npt.NDArray[np.float32]

PIXELS = (1600, 900)
DPI = 100


@dataclass(frozen=True)
class Panel:
    """One volume of the picture: axes d, h, w, a title, and a second line below it."""

    data: Array
    title: str
    note: str


def png(
    panels: tuple[Panel, Panel, Panel, Panel],
    misfits: tuple[float, ...],
    spacing: tuple[float, float, float],
    heading: str,
) -> bytes:
    """A PNG of PIXELS: slices of truth, observed, start and end; below, errors and the misfit.

    Slices cut the shortest axis in its middle (the last of equals). Both rows share one scale each.
    spacing: voxel edges along d, h, w, for the right aspect.
    """
    from matplotlib import style

    content = io.BytesIO()
    with style.context("default"):  # whatever the user's matplotlibrc says
        drawn(panels, misfits, spacing, heading).savefig(content, format="png", dpi=DPI)
    return content.getvalue()


def drawn(
    panels: tuple[Panel, Panel, Panel, Panel],
    misfits: tuple[float, ...],
    spacing: tuple[float, float, float],
    heading: str,
) -> Figure:
    """The matplotlib figure behind `png`."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    shape = panels[0].data.shape
    axis = max(range(3), key=lambda k: (-shape[k] * spacing[k], k))
    truth, _, start, end = slices = [middle(panel.data, axis) for panel in panels]
    horizontal, vertical = (k for k in range(3) if k != axis)
    aspect = spacing[vertical] / spacing[horizontal]

    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08, wspace=0.02)
    figure = Figure(figsize=(PIXELS[0] / DPI, PIXELS[1] / DPI), dpi=DPI, layout=layout)
    figure.suptitle(heading, fontsize=15, parse_math=False)
    grid = figure.add_gridspec(2, 4)
    top: list[Any] = [figure.add_subplot(grid[0, k]) for k in range(4)]
    image: Any = None
    for place, panel, cut in zip(top, panels, slices, strict=True):
        image = place.imshow(cut, cmap="gray", vmin=0, vmax=white(truth), origin="lower",
                             aspect=aspect, interpolation="nearest")  # fmt: skip
        caption(place, panel.title, panel.note)
        place.set_xlabel(f"axis {horizontal} (voxels)")
    top[0].set_ylabel(f"axis {vertical} (voxels)")
    figure.colorbar(image, ax=top, label="intensity (0..1)", extend="max", pad=0.01)

    errors = [cut - truth for cut in (start, end)]
    most = max(float(np.abs(error).max()) for error in errors) or 1.0
    bottom: list[Any] = [figure.add_subplot(grid[1, k]) for k in (2, 3)]
    for place, panel, error in zip(bottom, panels[2:], errors, strict=True):
        image = place.imshow(error, cmap="RdBu_r", vmin=-most, vmax=most, origin="lower",
                             aspect=aspect, interpolation="nearest")  # fmt: skip
        rms = float(np.sqrt(np.mean(np.square(error, dtype=np.float64))))
        caption(place, f"{panel.title} - truth", f"rms in this slice {rms:.4f}")
        place.set_xlabel(f"axis {horizontal} (voxels)")
    bottom[0].set_ylabel(f"axis {vertical} (voxels)")
    figure.colorbar(image, ax=bottom, label="error of intensity", pad=0.02)

    curve: Any = figure.add_subplot(grid[1, :2])
    curve.semilogy(range(len(misfits)), misfits, color="C0", linewidth=2)
    caption(curve, "Misfit |Ax - y| / |y|", f"from {misfits[0]:.2e} to {misfits[-1]:.2e}")
    curve.set_xlabel("descent step")
    curve.set_ylabel("misfit (share of |y|)")
    curve.set_xlim(0, len(misfits) - 1)
    curve.grid(True, which="both", alpha=0.3)
    return figure


def middle(data: Array, axis: int) -> Array:
    """The slice in the middle of `axis`, the lower of the other axes running to the right."""
    cut: Array = np.take(data, data.shape[axis] // 2, axis).T
    return cut


def white(truth: Array) -> float:
    """The intensity shown as white: 98 % of what is not dark stays below, or 2.5 medians of it."""
    lit = truth[truth > 0.02]
    return min(float(np.quantile(lit, 0.98)), 2.5 * float(np.median(lit))) if lit.size else 1.0


def caption(place: Any, title: str, note: str) -> None:
    """Writes a title of two lines."""
    place.set_title(f"{title}\n{note}", fontsize=11)
