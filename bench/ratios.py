# SPDX-License-Identifier: Apache-2.0
"""Ours, PyTorch, JAX and the floor in turn, in one process: `python bench/ratios.py --help`.

A row is a case: our median time, GB/s of source and result together, how many times as long PyTorch
takes, and our share of the floor. Ratios are medians over rounds of the ratio within a round, so
that a drift of the machine cancels. All sides write into results that exist already.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import cases
import numpy as np
import sides
from cases import Case
from tqdm import tqdm


def in_turn(works: Sequence[sides.Work], rounds: int, shortest: float) -> np.ndarray:
    """Seconds per call, [work, round]: each round runs every work, one after the other.

    shortest: seconds that one measurement lasts at least.
    """
    repeats = []
    for work in works:
        work()
        begin = time.perf_counter()
        work()
        repeats.append(max(1, round(shortest / max(time.perf_counter() - begin, 1e-7))))
    seconds = np.empty((len(works), rounds))
    for r in range(rounds):
        for k, work in enumerate(works):
            begin = time.perf_counter()
            for _ in range(repeats[k]):
                work()
            seconds[k, r] = (time.perf_counter() - begin) / repeats[k]
    return seconds


def measure(case: Case, rounds: int, shortest: float, against: Sequence[str]) -> dict[str, object]:
    """The row of a case: seconds, gb_s, and torch, jax, floor where they were asked for and are."""
    source, result = case.arrays()
    works = {"ours": sides.ours(case, source, result)}
    if "torch" in against:
        works["torch"] = sides.torchs(case, source, result)
    if "jax" in against:
        works["jax"] = sides.jaxs(case, source, result)
    if "floor" in against:
        works["floor"], works["streamed"] = sides.floors(case, source, result)
    works = {name: work for name, work in works.items() if work is not None}
    seconds = dict(zip(works, in_turn(list(works.values()), rounds, shortest), strict=True))
    own = seconds["ours"]
    row = {**asdict(case), "name": case.name, "bytes": case.bytes, "seconds": float(np.median(own)),
           "gb_s": case.bytes / float(np.median(own)) / 1e9}  # fmt: skip
    for name in ("torch", "jax"):
        if name in seconds:
            row[name] = float(np.median(seconds[name] / own))
    if "floor" in seconds:
        floor = min(seconds["floor"], seconds["streamed"], key=np.median)
        row["floor"] = float(np.median(floor / own))
    return row


def line(row: dict[str, object]) -> str:
    """A row of the table."""
    ratios = "".join(
        f"  {name} {row[name]:6.2f}" if name in row else "" for name in ("torch", "jax", "floor")
    )
    return f"{row['name']:72} {row['seconds'] * 1e3:9.3f} ms {row['gb_s']:6.1f} GB/s{ratios}"


def summary(rows: Sequence[dict[str, object]]) -> list[str]:
    """Geometric means over the up-sampling cases by about two, per op, memory, size and type."""
    groups: dict[tuple[str, ...], list[dict[str, object]]] = {}
    for row in rows:
        if row["shape"] in cases.DOUBLING and row["memory"] in cases.FORMATS:
            megabytes = row["bytes"] / 1e6
            size = "< 8 MB" if megabytes < 8 else "8-64 MB" if megabytes <= 64 else "> 64 MB"
            kind = "trilinear" if row["mode"].startswith("trilinear") else "nearest"
            bits = "fp32" if row["dtype"] == "float32" else "16-bit"
            for width in (size, "all"):
                groups.setdefault(
                    (row["direction"], kind, row["memory"], bits, f"{row['threads']}t", width), []
                ).append(row)
    lines = []
    for key in sorted(groups):
        means = [
            f"{name} {np.exp(np.mean(np.log([row[name] for row in groups[key]]))):6.2f}"
            for name in ("torch", "floor")
            if all(name in row for row in groups[key])
        ]
        lines.append(f"{' '.join(key):52} {'  '.join(means)}  ({len(groups[key])} cases)")
    return lines


def draw(rows: Sequence[dict[str, object]], path: Path) -> None:
    """One bar per case, our share of the floor, against the line of the floor."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    rows = [row for row in rows if "floor" in row]
    figure, axes = plt.subplots(figsize=(9, 1 + 0.16 * len(rows)), layout="constrained")
    names = [row["name"] for row in rows]
    colours = ["C0" if row["mode"].startswith("trilinear") else "C2" for row in rows]
    axes.barh(names, [row["floor"] for row in rows], color=colours)
    axes.axvline(1, color="black")
    axes.set(xlabel="share of the floor: time to read the source and write the result once / ours")
    axes.tick_params(axis="y", labelsize=6)
    axes.set_xlim(0, 1.25)  # a pick that leaves sources out needs less than the floor's reading
    axes.invert_yaxis()
    axes.margins(y=0.005)
    figure.savefig(path, dpi=90)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add(
        "--only",
        type=re.compile,
        default=re.compile(""),
        metavar="REGEX",
        help="cases whose name matches",
    )
    add("--rounds", type=int, default=7, help="rounds per case (default: %(default)s)")
    add("--shortest", type=float, default=0.02, metavar="S", help="seconds per measurement")
    add("--against", nargs="*", default=["torch", "floor"], choices=["torch", "jax", "floor"])
    add("--json", type=Path, metavar="FILE", help="where the rows go")
    add("--png", type=Path, metavar="FILE", help="where the picture goes")
    asked = parser.parse_args()
    wanted = [case for case in cases.all_cases() if asked.only.search(case.name)]
    if not wanted:
        parser.error(f"no case's name matches --only {asked.only.pattern}")
    rows = []
    for case in tqdm(wanted, unit="case"):
        rows.append(measure(case, asked.rounds, asked.shortest, asked.against))
        tqdm.write(line(rows[-1]))
    print(*summary(rows), sep="\n")
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1))
    if asked.png:
        draw(rows, asked.png)


if __name__ == "__main__":
    main()
