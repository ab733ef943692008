# SPDX-License-Identifier: Apache-2.0
"""The plans of earlier calls, kept for the next: bounded by count and by bytes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ..kernel import cpu
from ..spec.opspec import specify
from ..spec.question import Question
from .plan import Plan

KEPT_BYTES = 80_000_000
"""Bytes of plans that all caches keep together, as Plan.nbytes counts them."""

_kept = 0
_caches: list[Any] = []


def kept(make: Callable[..., Any]) -> Any:
    """`make`, whose results are kept for the next call with the same arguments of the same types.

    Each plan that it makes has to be counted by `admit`.
    """
    cache = lru_cache(maxsize=256, typed=True)(make)
    _caches.append(cache)
    return cache


def admit(plan: Plan) -> Plan:
    """Counts a plan that is about to be kept; empties all caches before they are full."""
    global _kept
    if _kept + plan.nbytes > KEPT_BYTES:
        for cache in _caches:
            cache.cache_clear()
        _kept = 0
    _kept += plan.nbytes
    return plan


@kept
def planned(allowed_threads: int, *key: Any) -> Plan:
    """The Plan of a Question's fields; allowed_threads tells those of other threads apart."""
    return admit(cpu.in_default_mode(lambda: Plan._of(specify(Question(*key)))))
