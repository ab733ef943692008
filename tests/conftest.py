# SPDX-License-Identifier: Apache-2.0
"""What tests share: Ctrl-C that is heard, and what spies on the PyTorch backend."""

from __future__ import annotations

import signal

import pytest

import upsample3d.plan

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Shells make their background jobs deaf to Ctrl-C, and children that tests interrupt with them.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def runs(monkeypatch):
    """The plans that have run on tensors, by the name of their op."""
    seen = []
    fill = upsample3d.plan.Plan.fill

    def spy(plan, *arrays):
        seen.append(plan.problem.op)
        return fill(plan, *arrays)

    monkeypatch.setattr(upsample3d.plan.Plan, "fill", spy)
    return seen


@pytest.fixture
def one_thread():
    """PyTorch with one thread: lines as short as a test's are slower with more."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
