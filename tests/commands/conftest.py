# SPDX-License-Identifier: Apache-2.0
"""The command `upsample3d check`, called."""

from __future__ import annotations

import pytest
from check_calls import GOOD

from upsample3d.__main__ import main


@pytest.fixture
def check(capsys):
    """A call of the command: (exit status, title -> text, everything it printed)."""

    def run(*flags: str, **changes: dict[str, str]):
        options = {**GOOD, **changes.get("options", {})}
        status = main(["check", *(f"{name}={value}" for name, value in options.items()), *flags])
        printed = capsys.readouterr()
        parts: dict[str, str] = {}
        title = ""
        for line in printed.out.splitlines():
            title = line[:13].strip() or title
            parts[title] = f"{parts.get(title, '')}{line[14:]}\n"
        return status, parts, printed.err

    return run
