# SPDX-License-Identifier: Apache-2.0
"""Volumes in files: read, up-sampled, and gradients brought back, from file to file."""

from .files.notices import GridWarning, LabelWarning, VolumeWarning
from .files.volumes import Volume, Written, backward, forward, read

__all__ = [
    "GridWarning",
    "LabelWarning",
    "Volume",
    "VolumeWarning",
    "Written",
    "backward",
    "forward",
    "read",
]
