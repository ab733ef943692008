# SPDX-License-Identifier: Apache-2.0
"""What arguments may be, for annotations of one's own: the names, sizes, scales and arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..geometry.kinds import Mode as Mode
from ..geometry.kinds import Op as Op

Rule = Literal["aclnn", "torch"]
DataFormat = Literal["NCDHW", "NDHWC"]

Sizes = Sequence[SupportsIndex] | NDArray[np.integer[Any]]
Number = float | np.floating[Any] | np.integer[Any]
Scales = Number | Sequence[Number | None] | NDArray[np.floating[Any] | np.integer[Any]] | None

Element = TypeVar("Element", bound=np.generic)
"""The type of an array's elements: a result's is its source's."""
