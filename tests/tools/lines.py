# SPDX-License-Identifier: Apache-2.0
"""Which lines and branches of the project its tests reach.

    python tests/tools/lines.py              everything
    python tests/tools/lines.py -k refusals  with arguments for pytest; the goals then do not count

Works on a copy; the package and its tests' dependencies have to be installed, with coverage, Cython
and gcc. The copy's kernels are built for every CPU level of this machine and count their own lines,
of pyx/ and include/. Its tests run once on the best level under coverage.py, and those of the
kernels once more on the others. The exit status is 0 where the goals are met: every branch of the
modules that judge arguments, and 95 % of the lines of each language. PyTorch's modules count where
it is installed.
"""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import copies

from upsample3d.kernel import cpu

JUDGES = (
    "errors", "arguments", "question", "opspec", "buffers", "messages", "acl", "checks", "limits",
    "layout",
)  # fmt: skip
"""The modules that judge arguments."""

GENERATED = ("build/cpu.cpp", "build/gather.cpp")
GOAL = 0.95


def test(copy: Path, level: str, arguments: list[str]) -> None:
    """Runs tests of the copy under coverage.py; failing tests do not stop the count."""
    environment = copies.environment(copy, level)
    command = [sys.executable, "-m", "coverage", "run", "-m", "pytest", "-q", "-p",
               "no:cacheprovider", *arguments]  # fmt: skip
    subprocess.run(command, cwd=copy, env=environment, check=False)


def python_files(copy: Path) -> Iterator[tuple[str, int, int, int, int, str]]:
    """(file, lines, reached, branches, reached, what is missing) of every module."""
    for words in (["combine", "-q"], ["json", "-q", "-o", "coverage.json"]):
        copies.run(copy, sys.executable, "-m", "coverage", *words)
    files = json.loads((copy / "coverage.json").read_text())["files"]
    for path, file in sorted(files.items()):
        total = file["summary"]
        missing = [*file["missing_lines"], *map(tuple, file["missing_branches"])]
        yield (
            Path(path).stem, total["num_statements"], total["covered_lines"],
            total["num_branches"], total["covered_branches"], " ".join(map(str, missing)),
        )  # fmt: skip


def compiled_files(copy: Path) -> Iterator[tuple[str, int, int, str]]:
    """(file, lines, reached, what is missing) of every file of pyx/ and include/."""
    counts: dict[str, Counter[int]] = {}
    origins = {name: origins_of((copy / name).read_text()) for name in GENERATED}
    for counted in copy.rglob("*.gcda"):
        command = ["gcov", "--json-format", "--stdout", str(counted)]
        said = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=True)
        for file in json.loads(said.stdout.splitlines()[0])["files"]:
            path = file["file"]
            if not path.startswith("include/") and path not in origins:
                continue
            for line in file["lines"]:  # once for each instance of a template
                at = Path(path).name, line["line_number"]
                at = origins[path][at[1] - 1] if path in origins else at
                if at:
                    counts.setdefault(at[0], Counter())[at[1]] += line["count"]
    ours = {path.name for folder in ("pyx", "include") for path in (copy / folder).rglob("*.*")}
    for name, lines in sorted(counts.items()):
        if name not in ours:  # what Cython adds
            continue
        missing = sorted(line for line, count in lines.items() if count == 0)
        yield name, len(lines), len(lines) - len(missing), " ".join(map(str, missing))


def origins_of(code: str) -> list[tuple[str, int] | None]:
    """The (file, line) of Cython behind every line of what it made; None where there is none.

    Before the lines of a statement Cython writes a comment with the place; they end with the next
    one, or with the function.
    """
    origins: list[tuple[str, int] | None] = []
    origin = None
    for line in code.splitlines():
        if found := re.match(r'\s*/\* "([^"]+)":(\d+)$', line):
            origin = Path(found[1]).name, int(found[2])
        elif line.startswith("}") or "/* function exit code */" in line:
            origin = None
        origins.append(origin)
    return origins


def share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def main() -> int:
    arguments = sys.argv[1:]
    levels = cpu.levels()
    with tempfile.TemporaryDirectory() as folder:
        copy = copies.make(Path(folder).resolve() / "copy")
        for level in levels:
            copies.build(copy, level, ["-O1", "--coverage"])
        test(copy, "", arguments)
        for level in [] if arguments else levels[1:]:
            test(copy, level, ["tests/kernel"])
        modules, kernels = list(python_files(copy)), list(compiled_files(copy))

    torch = importlib.util.find_spec("torch") is not None
    modules = [module for module in modules if torch or not module[0].startswith("torch")]
    for name, lines, reached, branches, taken, missing in modules:
        branched = f"{taken:3} of {branches:3} branches"
        print(f"{name:16} {reached:4} of {lines:4} lines, {branched}  {missing}")
    for name, lines, reached, missing in kernels:
        print(f"{name:16} {reached:4} of {lines:4} lines  {missing}")

    judges = [module for module in modules if module[0] in JUDGES]
    figures = {
        "branches of the modules that judge arguments": (
            share(sum(r[4] for r in judges), sum(r[3] for r in judges)), 1.0,
        ),
        "lines of python/": (share(sum(r[2] for r in modules), sum(r[1] for r in modules)), GOAL),
        "lines of pyx/": (of(kernels, ".p"), GOAL),
        "lines of include/": (of(kernels, ".h"), GOAL),
    }  # fmt: skip
    for name, (reached, goal) in figures.items():
        print(f"{name}: {reached:.1%}, goal {goal:.0%}")
    return 0 if arguments or all(reached >= goal for reached, goal in figures.values()) else 1


def of(kernels: list[tuple[str, int, int, str]], suffix: str) -> float:
    chosen = [k for k in kernels if Path(k[0]).suffix.startswith(suffix)]
    return share(sum(k[2] for k in chosen), sum(k[1] for k in chosen))


if __name__ == "__main__":
    sys.exit(main())
