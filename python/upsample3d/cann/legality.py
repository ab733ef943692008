# SPDX-License-Identifier: Apache-2.0
"""Whether a call of an operator is legal, chip by chip, and how a kernel would share its work."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from ..spec.errors import ParameterError, Status, TilingError
from . import limits
from .call import Call, Check
from .checks import check, sizes_in_int32
from .executors import plan_of
from .messages import aclnnStatus
from .soc import Chip
from .tiling_data import MatrixTiling, Pass, SimtTiling, Tiling
from .tiling_given import ITEMSIZES

MOST_PLANNED = 2**24
"""The largest D, H or W that is planned here: a plan has memory for every index."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a chip says of a call: its first phase's status and words, then why it is legal or not.

    numbers: how the kernel would share the work, if it gets there.
    """

    chip: Chip
    status: Status
    said: str
    legal: bool
    why: str = ""
    numbers: tuple[str, ...] = ()


class Report:
    """A call, judged: what is common to all chips once, the rest chip by chip."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.refused = _refusal(call, [c for c in call.operator.checks if c is not sizes_in_int32])
        self.too_large = "" if self.refused else _refusal(call, [sizes_in_int32])
        self.accepted = "" if self.refused else _accepted(call)
        self.broken, self.limits = _limits(call, " other" if self.refused else "")

    def answer(self, chip: Chip, cores: int) -> Answer:
        """Return the chip's answer; the first thing that is wrong decides."""
        wrong = self.refused or (self.too_large if chip.int32 else "")
        status = Status.INVALID_PARAMETER if wrong else Status.SUCCESS
        judged = partial(Answer, chip, status, wrong or self.accepted)
        supported = chip in self.call.operator.tilings
        planned = _tiling(self.call, chip, cores) if supported and not wrong else Planned(True)
        if not supported:
            return judged(False, "it does not have this operator")
        if wrong:
            return judged(False, f"the first phase answers {status:d}")
        if self.broken:
            return judged(False, "a documented limit is broken", planned.numbers)
        return judged(planned.legal, planned.why, planned.numbers)

    def lines(self, answers: list[Answer], *, numbers: bool) -> Iterator[tuple[str, list[str]]]:
        """Yield (title, lines) of each part."""
        yield "operator", [self.call.operator.name]
        if any(self.call.scales) and not self.call.scales_that_count:
            yield "scales", [f"{self.call.scales} do not count, as not all three are > 0"]
        said: dict[str, list[str]] = {}
        for answer in answers:
            words = f"{answer.status:d} {aclnnStatus(answer.status).name}: {answer.said}"
            said.setdefault(words, []).append(answer.chip.name)
        for words, names in said.items():
            yield "first phase", [words + (f" ({', '.join(names)})" if len(said) > 1 else "")]
        yield "limits", self.limits
        for answer in answers:
            verdict = "legal" if answer.legal else "not legal"
            product = answer.chip.product
            told = f"{verdict} on {product}{': ' * bool(answer.why)}{answer.why}"
            yield answer.chip.name, [told]
            if numbers and answer.numbers:
                yield "tiling", [*answer.numbers]


def _refusal(call: Call, checks: Iterable[Check]) -> str:
    """What the first check says that fails; nothing where all pass."""
    try:
        check(call, checks)
    except ParameterError as error:
        return str(error)
    return ""


def _accepted(call: Call) -> str:
    """What is said of a call that passes, and of the workspace that it needs here."""
    if call.empty:
        return "accepted, and as N or C is 0 nothing is computed"
    if not _plannable(call):
        return "accepted; too large to be computed here"
    return f"accepted; computed here it needs a workspace of {plan_of(call).workspace_size} bytes"


def _plannable(call: Call) -> bool:
    """Whether no axis and no tensor is too large for a plan."""
    tensors = (call.grad_out, call.grad_input)
    most_bytes = max(math.prod(t.shape) * t.dtype.numpy.itemsize for t in tensors)
    return max(*call.input_size[2:], *call.output_size) <= MOST_PLANNED and most_bytes < 2**63


def _limits(call: Call, other: str) -> tuple[bool, list[str]]:
    """Whether the call breaks documented limits, and which, in words."""
    try:
        if len(call.grad_out.shape) != 5 or len(call.grad_input.shape) != 5:
            return True, ["not looked at: the shapes do not have 5 dimensions"]
        broken = limits.broken(call)
    except ParameterError as error:
        return True, [f"not looked at: {error}"]
    return bool(broken), broken or [f"no{other} documented limit is broken"]


@dataclass(frozen=True, slots=True)
class Planned:
    """Whether the kernel or the device's CPU takes a call, why, and how."""

    legal: bool
    why: str = ""
    numbers: tuple[str, ...] = ()


def _tiling(call: Call, chip: Chip, cores: int) -> Planned:
    operator, dtype = call.operator, call.grad_out.dtype.title
    if call.empty:
        return Planned(True)
    try:
        if dtype not in ITEMSIZES:
            raise TilingError(f"dtype is {dtype}, wanted {' or '.join(ITEMSIZES)}")
        planned = operator.tilings[chip](call, cores)
    except TilingError as error:
        if operator.device_cpu:
            return Planned(True, f"the device's CPU computes it, as the kernel refuses it: {error}")
        return Planned(False, f"the kernel refuses it, status {error.status:d}: {error}")
    if isinstance(planned, SimtTiling):
        return Planned(True, "", (f"for {cores} vector cores:", *_simt(planned)))
    lines = (f"for {cores} cube cores:", *_matrices(planned))
    if planned.skipped:
        axes = " and ".join(planned.skipped)
        return Planned(False, f"the kernel leaves out {axes}, though the sizes differ", lines)
    return Planned(True, "", lines)


def _simt(planned: SimtTiling) -> Iterator[str]:
    yield _named(planned, "sch_id cores tiling_key workspace_size")
    yield _named(planned, "block_factor tail ub_factor uint32 threads")
    yield _named(planned, "len_n len_c grad_output_size grad_input_size scales")


def _matrices(planned: MatrixTiling) -> Iterator[str]:
    yield _named(planned, "cores tiling_key workspace_size")
    tables = " tensor_size mapping" if planned.tensor_size else ""
    yield _named(planned, "inter_w inter_h radio" + tables)
    for axis, done in zip("DHW", planned.passes, strict=True):
        yield f"{axis}: {_pass(done)}"


def _pass(done: Pass) -> str:
    if not done.active:
        return f"scale {done.scale}, no pass"
    return _named(done, "scale k slide_size each remainder group rows tail_rows cores")


def _named(planned: Tiling | Pass, names: str) -> str:
    return ", ".join(f"{name} {getattr(planned, name)}" for name in names.split())
