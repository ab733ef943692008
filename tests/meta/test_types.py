# SPDX-License-Identifier: Apache-2.0
"""The annotations tell right from wrong uses, and say of what type results are."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import upsample3d as up
from upsample3d.spec import layout, opspec, types

USES = Path(__file__).parent / "typing" / "uses.py"


def complaints(tmp_path: Path) -> dict[int, str]:
    """Line -> code of what mypy, strict, says of USES."""
    home = Path(up.__file__).parent.parent
    installed = home.name.endswith("-packages")  # where mypy finds it by itself
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-pretty", "--show-error-codes",
         f"--cache-dir={tmp_path / 'cache'}", f"--config-file={os.devnull}", str(USES)],
        env=os.environ | ({} if installed else {"MYPYPATH": str(home)}),
        cwd=tmp_path, capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = re.findall(r"^(.*):(\d+): error: .*\[([a-z-]+)\]$", done.stdout, re.MULTILINE)
    assert {Path(file).name for file, _, _ in found} <= {USES.name}, done.stdout
    return {int(line): code for _, line, code in found}


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="wants mypy")
def test_wrong_uses_are_told_and_right_ones_are_not(tmp_path):
    lines = enumerate(USES.read_text().splitlines(), 1)
    wanted = {n: text.split("# wrong: ")[1].split() for n, text in lines if "  # wrong: " in text}
    assert len(wanted) >= 19
    found = complaints(tmp_path)
    assert found.keys() == wanted.keys()
    assert {n: code for n, code in found.items() if code not in wanted[n]} == {}


def test_the_names_are_those_that_are_taken():
    size = (1, 2, 2, 2, 2)
    assert get_args(types.DataFormat) == tuple(layout.FORMATS)
    assert set(get_args(types.Op)) == {
        mode + way for mode in get_args(types.Mode) for way in ("", "_backward")
    }
    for op in get_args(types.Op):
        for rule in get_args(types.Rule):
            for data_format in get_args(types.DataFormat):
                plan = up.Plan(
                    op, size, "f4", input_size=size, output_size=size[2:], rule=rule,
                    data_format=data_format,
                )  # fmt: skip
                assert plan.spec.op == op
        assert callable(getattr(up, op))
    assert get_args(types.Op) == opspec.OPS
    assert get_args(types.Rule) == opspec.RULES
