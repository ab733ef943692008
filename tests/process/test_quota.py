# SPDX-License-Identifier: Apache-2.0
"""The cores that a control group leaves: both versions of Linux's, nested, hidden or odd."""

from __future__ import annotations

import math

import pytest

from upsample3d.plan import machine


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """groups(lines, files): the groups of this process, and the files below the mount."""

    def make(lines: str, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = tmp_path / "mount" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (tmp_path / "groups").write_text(lines)

    monkeypatch.setattr(machine, "GROUPS", tmp_path / "groups")
    monkeypatch.setattr(machine, "MOUNT", tmp_path / "mount")
    return make


V1 = "5:memory:/a\n4:cpu,cpuacct:/a/b\n"
ONE, TWO = "cpu.cfs_quota_us", "cpu.cfs_period_us"


@pytest.mark.parametrize(
    ("lines", "files", "cores"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/\n", {"cpu.max": "max 100000\n"}, math.inf),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "300000 100000"}, 3),
        ("0::/a/b\n", {"a/b/cpu.max": "50000 100000", "a/cpu.max": "300000 100000"}, 0.5),
        ("0::/../b\n", {"cpu.max": "50000 100000"}, 0.5),  # beside this container's own
        ("0::/a\n", {"b/cpu.max": "50000 100000"}, math.inf),
        ("0::/a\n", {"a/cpu.max": "much"}, math.inf),
        ("0::/a\n", {"a/cpu.max": "1 0"}, math.inf),
        ("0::/a:b\n", {"a:b/cpu.max": "200000 100000"}, 2),
        ("", {"cpu.max": "50000 100000"}, math.inf),
        (V1, {f"cpu/a/b/{ONE}": "250000\n", f"cpu/a/b/{TWO}": "100000\n"}, 2.5),
        (V1, {f"cpu,cpuacct/a/{ONE}": "250000", f"cpu,cpuacct/a/{TWO}": "50000"}, 5),
        (V1, {f"cpu/{ONE}": "-1", f"cpu/{TWO}": "100000"}, math.inf),
        (V1, {f"memory/a/{ONE}": "1", f"memory/a/{TWO}": "100000"}, math.inf),
        ("1:cpu:/\n0::/\n", {f"cpu/{ONE}": "400000", f"cpu/{TWO}": "100000"}, 4),
    ],
)
def test_quota(lines, files, cores, groups):
    groups(lines, files)
    assert machine._quota() == cores


def test_without_control_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "GROUPS", tmp_path / "not there")
    assert machine._quota() == math.inf


@pytest.mark.parametrize(
    ("quota", "cores"), [("10000 100000", 1), ("150000 100000", 2), ("max 1", 3), ("900000 1", 3)]
)
def test_quotas_are_rounded_up_and_processors_count(quota, cores, groups, monkeypatch):
    monkeypatch.setattr(machine.cpu, "processors", lambda: 3)
    groups("0::/\n", {"cpu.max": quota})
    assert machine._cores() == cores
