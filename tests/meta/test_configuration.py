# SPDX-License-Identifier: Apache-2.0
"""What the tests' own configuration promises, and the package's."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import upsample3d as up

ROOT = Path(__file__).parent.parent.parent

UNPRINTABLE = """
class Unspeakable(Exception):
    def __str__(self):
        raise self

    __repr__ = __str__


def test_raises():
    raise Unspeakable


def test_is_shown(tmp_path, thing=Unspeakable()):
    assert thing is None


def caller(thing):
    raise Unspeakable


@pytest.fixture
def broken():
    caller(Unspeakable())


def test_fixture(broken):
    pass


@pytest.mark.parametrize("thing", [Unspeakable(), 3], ids=["a", "b"])
def test_argument(thing):
    assert thing == 4


def test_after():
    pass
"""


def pytest_of(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """pytest with our configuration in a folder of its own."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c",
               str(ROOT / "pyproject.toml"), "--rootdir", str(folder), str(folder)]  # fmt: skip
    return subprocess.run([*command, *arguments], cwd=folder, capture_output=True, text=True)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    return tmp_path


@pytest.mark.long
def test_failures_that_cannot_be_printed_are_failures(folder):
    (folder / "test_it.py").write_text("import pytest\n" + UNPRINTABLE)
    done = pytest_of(folder, "-rA")
    assert done.returncode == 1, done.stdout
    assert "4 failed, 1 passed, 1 error" in done.stdout
    assert "INTERNALERROR" not in done.stdout + done.stderr


QUICK = """
import pytest

@pytest.mark.slow
def test_large():
    pass

@pytest.mark.long
@pytest.mark.parametrize("k", range(3))
def test_long(k):
    pass

@pytest.mark.parametrize("k", range(3))
def test_one(k):
    pass

class TestTwo:
    @pytest.mark.parametrize("k", range(3))
    def test_two(self, k):
        pass

def test_three():
    pass
"""


def test_quick_tests_are_the_first_case_of_the_first_two_of_each_file(folder):
    for name in ("test_a.py", "test_b.py"):
        (folder / name).write_text(QUICK)
    done = pytest_of(folder, "-m", "quick", "--collect-only", "-q")
    wanted = ["test_one[0]", "TestTwo::test_two[0]"]
    found = [line for line in done.stdout.splitlines() if "::" in line]
    assert found == [f"{file}::{name}" for file in ("test_a.py", "test_b.py") for name in wanted]


def test_version_is_that_of_the_package():
    """It stands in __init__.py alone; what is installed says the same."""
    try:
        assert metadata.version("upsample3d") == up.__version__
    except metadata.PackageNotFoundError:
        pytest.skip("built in place, not installed")
    assert up.__version__ not in (ROOT / "pyproject.toml").read_text()


def test_no_file_of_tests_imports_another():
    """What several share stands in tests/tools."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    assert len(files) > 90
    for file in files:
        assert not re.search(r"^\s*(from|import) test_\w+", file.read_text(), re.MULTILINE), file
