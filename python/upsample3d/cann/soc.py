# SPDX-License-Identifier: Apache-2.0
"""The chips that operators are built for, their names and cores.

Sources: the operators' definitions in ops-cv; for the models' cores the targets of Ascend's MLIR
compiler.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chip:
    """What an operator is built for: a family of chips.

    name: in the operators' definitions. product: of which it is a part. models: their names in
    words. spelled: their names, the family's and the product's, as a pattern of small letters
    without "ascend" and spaces. cores: that the operators' own unit tests give it. int32: whether
    first phases refuse sizes above 2^31 - 1.
    """

    name: str
    product: str
    models: str
    spelled: str
    cores: int
    int32: bool = True


A2 = Chip("ascend910b", "Atlas A2", "Ascend910B1 to B4", r"910b([1-4]|2c|4-1)?|(atlas)?a2", 48)
A3 = Chip("ascend910_93", "Atlas A3", "Ascend910_93xx", r"910_93([0-9]{2})?|(atlas)?a3", 48)
A950 = Chip(
    "ascend950", "Ascend 950", "Ascend950PR and DT", r"950((pr|dt)(_95[0-9a-z]+)?)?", 64,
    int32=False,
)  # fmt: skip
CHIPS = (A2, A3, A950)

MODEL_CORES = {
    **dict.fromkeys(("910b1", "910b2", "910_9381", "910_9382", "910_9391", "910_9392"), 24),
    **dict.fromkeys(("910b3", "910b4", "910_9362", "910_9372"), 20),
}
"""The cube cores of those models of Atlas A2 and A3 whose numbers are published."""


def find(name: str) -> tuple[Chip, int] | None:
    """Return the chip of a model, family or product in any case, and its cores, or None."""
    short = "".join(name.lower().split()).removeprefix("ascend")
    for chip in CHIPS:
        if re.fullmatch(chip.spelled, short):
            return chip, MODEL_CORES.get(short, chip.cores)
    return None
