# SPDX-License-Identifier: Apache-2.0
"""Copies of the project, built in place, one CPU level at a time, for mutants.py and lines.py."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
FOLDERS = ("python", "pyx", "include", "tests", "bench", "docs")
FILES = ("README.md", "SECURITY.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "setup.py")
DIRECTIVES = ("boundscheck=False", "wraparound=False", "cdivision=True")
FLAGS = ("-std=c++17", "-fopenmp", "-ffp-contract=off", "-fno-math-errno")


def make(folder: Path) -> Path:
    """A copy of what tests and builds need, nothing of it compiled."""
    for name in FOLDERS:
        waste = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=waste)
    for name in FILES:
        shutil.copy(ROOT / name, folder / name)
    return folder


def build(copy: Path, level: str, flags: Sequence[str]) -> None:
    """Compiles cpu.pyx and gather.pyx of a copy, the kernel for one level, as setup.py does."""
    march = [] if level == "base" else [f"-march=x86-64-{level}"]
    kernel = copy / "python" / "upsample3d" / "kernel" / level
    kernel.mkdir(exist_ok=True)
    for name, folder, more in (("cpu", kernel.parent, []), ("gather", kernel, march)):
        if name == "cpu" and list(folder.glob("cpu.*.so")):
            continue
        code = f"build/{name}.cpp"
        (copy / "build").mkdir(exist_ok=True)
        directives = [word for directive in DIRECTIVES for word in ("-X", directive)]
        run(
            copy, sys.executable, "-m", "cython", "--cplus", "-3", "-Ipyx", *directives,
            "--module-name", f"upsample3d.kernel.{name}", f"pyx/{name}.pyx", "-o", code,
        )  # fmt: skip
        made = folder / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
        run(
            copy, os.environ.get("CXX", "g++"), "-shared", "-fPIC", *FLAGS, *more, *flags,
            "-Iinclude", f"-I{sysconfig.get_path('include')}", code, "-o", str(made),
        )  # fmt: skip


def file_of(test: str, root: Path = ROOT) -> Path:
    """Where a file of tests is, whichever folder it is in."""
    (found,) = (root / "tests").rglob(f"{test}.py")
    return found


def run(copy: Path, *command: str) -> None:
    subprocess.run(command, cwd=copy, check=True)


def environment(copy: Path, level: str, **more: str) -> dict[str, str]:
    """An environment in which Python finds the copy's package, with one level."""
    return {**os.environ, "PYTHONPATH": str(copy / "python"), "UPSAMPLE3D_LEVEL": level, **more}
