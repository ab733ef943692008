# SPDX-License-Identifier: Apache-2.0
from .files.notices import GridWarning, LabelWarning, VolumeWarning
from .files.stream import Written
from .files.volume import Volume, read
from .files.volumes import __doc__ as __doc__
from .files.volumes import backward, forward

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
