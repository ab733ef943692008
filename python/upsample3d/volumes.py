# SPDX-License-Identifier: Apache-2.0
from .files.notices import GridWarning, LabelWarning, VolumeWarning
from .files.volumes import Volume, Written, backward, forward, read
from .files.volumes import __doc__ as __doc__

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
