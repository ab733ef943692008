# SPDX-License-Identifier: Apache-2.0
"""The headers, every template of theirs in use, give no warning of GCC's at any CPU level."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Werror")
pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("g++") is None, reason="wants g++ on x86-64"
)


def compiled(
    level: str, *source: str, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["g++", "-std=c++17", f"-march=x86-64-{level}", "-fsyntax-only", *WARNINGS, "-I",
         ROOT / "include", *source],
        input=stdin, capture_output=True, text=True,
    )  # fmt: skip


@pytest.mark.parametrize("level", ["v2", "v3", "v4"])
def test_headers_give_no_warning(level):
    done = compiled(level, str(ROOT / "tests" / "meta" / "instances.cpp"))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_narrowing_in_a_template_would_be_seen():
    planted = "template <class real> int narrow(real x) { return x; }"
    uses = f'#include "upsample3d/rows.h"\n{planted}\nint use() {{ return narrow(int64_t(3)); }}'
    assert "-Werror=conversion" in compiled("v3", "-x", "c++", "-", stdin=uses).stderr


def test_every_function_of_the_headers_that_the_kernel_calls_is_in_use():
    declared = (ROOT / "pyx" / "rows.pxd").read_text()
    source = (ROOT / "tests" / "meta" / "instances.cpp").read_text()
    called = set(re.findall(r"\b(\w+)\(", re.sub(r"/\*.*?\*/", "", source, flags=re.DOTALL)))
    names = set(re.findall(r"\b(\w+)(?:\[\w+\])?\(", declared))
    assert len(names) > 15
    assert names <= called
