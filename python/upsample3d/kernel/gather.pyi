# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from ..geometry.band import Band
from ..plan.schedule import Schedule
from ..spec.layout import Layout

__test__: dict[str, str]

@disjoint_base
class Job:
    def __new__(cls, bands: Sequence[Band], layout: Layout, schedule: Schedule) -> Self: ...
    def disjoint(
        self,
        source: NDArray[np.generic],
        result: NDArray[np.generic],
        workspace: NDArray[np.generic],
        size: int,
    ) -> bool: ...
    def run(
        self,
        source: NDArray[np.generic] | int,
        result: NDArray[np.generic] | int,
        workspace: NDArray[np.generic] | None,
        threads: int,
    ) -> None: ...

def magic(divisor: int, width: int) -> tuple[int, int]: ...
def quotients(
    numbers: NDArray[np.uint64], divisor: int, width: int, result: NDArray[np.uint64]
) -> None: ...
