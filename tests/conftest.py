# SPDX-License-Identifier: Apache-2.0
"""What tests share: the quick ones, failures that are told, Ctrl-C that is heard, spies."""

from __future__ import annotations

import signal
import traceback
from collections import defaultdict
from dataclasses import replace

import pytest

import upsample3d.plan.plan
from upsample3d.plan import machine

# Shells make their background jobs deaf to Ctrl-C, nohup to the end of a terminal; and with them
# children that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for _name in {"SIGQUIT", "SIGHUP"} & set(dir(signal)):
    if signal.getsignal(getattr(signal, _name)) is signal.SIG_IGN:
        signal.signal(getattr(signal, _name), signal.SIG_DFL)

QUICK, LONGER = 2, {"long", "slow"}
"""Tests of each file that are quick, with three of which half a minute does not suffice, and marks
of those that are not."""


def pytest_collection_modifyitems(items):
    """Marks the quick tests: the first case of the first two tests of each file that are not long.

    A new file is in it from its first test on; what a file is about belongs at its top.
    """
    seen = defaultdict(set)
    for item in items:
        names, name = seen[item.path], item.originalname
        if name in names or len(names) == QUICK or LONGER & {m.name for m in item.iter_markers()}:
            continue
        names.add(name)
        item.add_marker(pytest.mark.quick)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    """What came of a test, where its failure cannot be printed too: pytest itself would end."""
    try:
        return (yield)
    except Exception:
        lines = "".join(traceback.format_tb(call.excinfo.tb))
        told = pytest.fail.Exception(f"a failure that cannot be printed\n{lines}", pytrace=False)
        call.excinfo = pytest.ExceptionInfo.from_exc_info((type(told), told, call.excinfo.tb))
        return pytest.TestReport.from_item_and_call(item, call)


@pytest.fixture
def tune(monkeypatch):
    """tune(thread_bytes=1, ...) replaces tuning constants for one test."""
    return lambda **constants: monkeypatch.setattr(
        machine, "this", replace(machine.this, **constants)
    )


@pytest.fixture
def runs(monkeypatch):
    """The plans that have run on tensors, by the name of their op."""
    seen = []
    execute = upsample3d.plan.plan.Plan.execute

    def spy(plan, *arrays):
        seen.append(plan.spec.op)
        return execute(plan, *arrays)

    monkeypatch.setattr(upsample3d.plan.plan.Plan, "execute", spy)
    return seen


@pytest.fixture
def one_thread():
    """PyTorch with one thread: lines as short as a test's are slower with more."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
