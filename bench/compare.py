# SPDX-License-Identifier: Apache-2.0
"""How much faster NEW is than OLD, case by case, worst first: `python bench/compare.py OLD NEW`.

OLD and NEW are files that ratios.py wrote. Where both have it, the share of the floor is compared,
else seconds: the first is worth more, for the machine may have changed between the runs.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    asked = parser.parse_args()
    old, new = (
        {row["name"]: row for row in json.loads(path.read_text())}
        for path in (asked.old, asked.new)
    )
    ratios = []
    for name in old.keys() & new.keys():
        if "floor" in old[name] and "floor" in new[name]:
            ratios.append((new[name]["floor"] / old[name]["floor"], name))
        else:
            ratios.append((old[name]["seconds"] / new[name]["seconds"], name))
    for ratio, name in sorted(ratios):
        print(f"{ratio:6.2f}  {name}")
    alone = old.keys() ^ new.keys()
    print(f"{len(ratios)} cases in both, {len(alone)} in one")


if __name__ == "__main__":
    main()
