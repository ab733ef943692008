# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..bands import Band
from ..layout import Layout
from ..schedule import Schedule

class Job:
    def __init__(self, bands: Sequence[Band], layout: Layout, schedule: Schedule) -> None: ...
    def run(
        self,
        source: NDArray[np.generic],
        result: NDArray[np.generic],
        workspace: NDArray[np.generic] | None,
        threads: int,
    ) -> None: ...

def magic(divisor: int, width: int) -> tuple[int, int]: ...
def quotients(
    numbers: NDArray[np.uint64], divisor: int, width: int, result: NDArray[np.uint64]
) -> None: ...
