# SPDX-License-Identifier: Apache-2.0
"""Mutation testing by hand: small mistakes in the arithmetic of indices, weights, rounding, strides
and schedules, each of which a test must find.

    python tests/tools/mutants.py           all of mutants.toml, at one CPU level
    python tests/tools/mutants.py packed 7  those whose file or reason has a word, or of a number

Works on a copy; the package and its tests' dependencies have to be installed, with Cython and a
compiler. All mistakes of a C++ or Cython file are compiled at once, each behind a number that the
environment chooses; those of Python are written into the copy one at a time. Every mistake meets
the tests that mutants.toml names for its file, until the first one fails; a crash or the time limit
counts as failing. Prints what survived; the exit status is 0 where at least 95 % were killed, and
the table explains every survivor.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import copies

TABLE = Path(__file__).parent / "mutants.toml"
NUMBER = "UPSAMPLE3D_MUTANT"
LIMIT = 300
"""Seconds of the CPU for a file of tests of one mutant: a mistake may have made a loop endless."""

ASLEEP = 1800
"""Seconds altogether, should threads wait for each other; long, for the machine may be busy."""

CHOOSE = f"""
#include <stdlib.h>
static const int mutant = getenv("{NUMBER}") ? atoi(getenv("{NUMBER}")) : 0;
"""
EXTERN = '\ncdef extern from "upsample3d/magic.h" nogil:\n    int mutant\n'


@dataclass(frozen=True, slots=True)
class Mutant:
    """`old` becomes `new` where the text `at`, which is once in the file, has it.

    In C++ and Cython both are expressions. why: what is wrong then. tests: the files that look for
    it. level: the CPU level, "" for any. survives: why no test can tell, if none can.
    """

    number: int
    file: str
    old: str
    new: str
    at: str
    why: str
    tests: tuple[str, ...]
    level: str
    survives: str

    @property
    def compiled(self) -> bool:
        return not self.file.endswith(".py")

    def place(self, text: str) -> tuple[int, int]:
        """Where `old` begins and ends in the file's text."""
        if text.count(self.at) != 1 or self.at.count(self.old) != 1:
            raise ValueError(f"{self.file}: {self.old!r} is not at one place, by {self.at!r}")
        begin = text.index(self.at) + self.at.index(self.old)
        return begin, begin + len(self.old)

    def written(self, text: str) -> str:
        """The text with the mistake instead."""
        begin, end = self.place(text)
        return text[:begin] + self.new + text[end:]


def table() -> list[Mutant]:
    """The mutants of mutants.toml, numbered from 1."""
    rows = tomllib.loads(TABLE.read_text())
    return [
        Mutant(
            number, row["file"], row["old"], row["new"], row.get("at", row["old"]), row["why"],
            tuple(row.get("tests", tests_of(row["file"], rows["tests"]))), row.get("level", ""),
            row.get("survives", ""),
        )
        for number, row in enumerate(rows["mutant"], 1)
    ]  # fmt: skip


def tests_of(file: str, tests: dict[str, list[str]]) -> list[str]:
    return next(names for pattern, names in tests.items() if re.search(pattern, file))


def with_choices(text: str, mutants: Iterable[Mutant], cython: bool) -> str:
    """The text with all of these mistakes, each made where `mutant` is its number."""
    form = "(({1}) if mutant == {0} else ({2}))" if cython else "(mutant == {0} ? ({1}) : ({2}))"
    edge = len(text)
    places = [(*m.place(text), m) for m in mutants]
    for begin, end, m in sorted(places, key=lambda place: place[:2], reverse=True):
        if end > edge:
            raise ValueError(f"{m.file}: two mutants share {m.old!r}")
        text = text[:begin] + form.format(m.number, m.new, m.old) + text[end:]
        edge = begin
    return text


def prepare(copy: Path, mutants: list[Mutant]) -> None:
    """Writes all mistakes of compiled files into the copy."""
    for file in sorted({m.file for m in mutants if m.compiled}):
        path = copy / file
        here = [m for m in mutants if m.file == file]
        path.write_text(with_choices(path.read_text(), here, file.startswith("pyx/")))
    magic, pyx = copy / "include/upsample3d/magic.h", copy / "pyx/gather.pyx"
    for path, mark, more in (
        (magic, "#include <stdint.h>\n", CHOOSE),
        (pyx, "from rows cimport", EXTERN),
    ):
        before, after = path.read_text().split(mark)
        path.write_text(before + more + mark + after)


def failing(copy: Path, level: str, number: int, tests: Iterable[str]) -> str:
    """The first test that fails, "a crash", "time"; empty if all pass."""
    for test in tests:  # one process each: a file's state does not help or hide the next one's
        command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", "-p",
                   "no:randomly", str(copies.file_of(test, copy))]  # fmt: skip
        environment = copies.environment(copy, level, **{NUMBER: str(number)})
        try:
            done = subprocess.run(
                command, cwd=copy, env=environment, capture_output=True, text=True, timeout=ASLEEP,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT)),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"time, in {test}"
        if done.returncode:
            found = re.search(r"^(?:FAILED|ERROR) tests/(\S+)", done.stdout, flags=re.M)
            return found[1] if found else f"a crash ({done.returncode}) in {test}"
    return ""


def results(copy: Path, mutants: list[Mutant], level: str) -> Iterator[tuple[Mutant, str]]:
    """Every mutant with what killed it, or nothing."""
    built: set[str] = set()
    for m in sorted(mutants, key=lambda m: (m.level, m.number)):
        here = m.level or level
        if here not in built:
            copies.build(copy, here, ["-O1"])
            built.add(here)
            tests = dict.fromkeys(t for m in mutants if (m.level or level) == here for t in m.tests)
            if found := failing(copy, here, 0, tests):
                raise SystemExit(f"without any mistake, on {here}: {found}")
        path = copy / m.file
        text = path.read_text()
        if not m.compiled:
            path.write_text(m.written(text))
        yield m, failing(copy, here, m.number, m.tests)
        path.write_text(text)


def main() -> int:
    words, mutants = sys.argv[1:], table()
    chosen = [
        m for m in mutants
        if not words or any(w == str(m.number) or w in m.file + m.why for w in words)
    ]  # fmt: skip
    level = os.environ.get("UPSAMPLE3D_LEVEL", "v3")
    survived = []
    with tempfile.TemporaryDirectory() as folder:
        copy = copies.make(Path(folder) / "copy")
        prepare(copy, mutants)
        for m, killer in results(copy, chosen, level):
            print(f"{m.number:3} {m.file.split('/')[-1]:16} {m.why:60} {killer or 'SURVIVED'}",
                  flush=True)  # fmt: skip
            survived += [] if killer else [m]
    killed = len(chosen) - len(survived)
    print(f"killed {killed} of {len(chosen)}, {killed / max(1, len(chosen)):.1%}")
    for m in survived:
        print(f"{m.number:3} {m.old!r} -> {m.new!r}: {m.survives or 'NOT EXPLAINED'}")
    explained = all(m.survives for m in survived)
    return 0 if explained and killed >= 0.95 * len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
