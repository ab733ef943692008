# SPDX-License-Identifier: Apache-2.0
"""Random calls that are wrong, of every entry point: what comes back is documented, in few words,
and nothing is written.

malformed_calls.py says which calls, malformed_things.py what they are given. By hand, as many as
wanted from a seed on (docs/testing.md says how, under sanitizers):

    python tests/tools/malformed.py 200000 [SEED]
"""

from __future__ import annotations

import collections
import contextlib
import io
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from malformed_calls import CALLS, FILES, SHARES, Pick, damage

from upsample3d.__main__ import main as command_line

NUMERALS = [
    "0", "1", "2", "3", "8", "64", "-1", "", "x", "1e3", "nan", "inf", "-inf", "1e400", "0x10", "٣",
    "16777217", "2147483647", "2147483648", "4294967296", "9223372036854775807", "1_000",
    "9223372036854775808", "9" * 5000, " 4 ", "4,4", "\0", "\ud800",
]  # fmt: skip
OPTIONS = ["--op", "--grad-output-shape", "--input-size", "--output-size", "--scales", "--format",
           "--dtype", "--align-corners", "--soc", "--cores", "--bogus", "-h", "--"]  # fmt: skip
VALUES = [
    "nearest_exact_backward", "nearest_backward", "trilinear_backward", "trilinear", "NDHWC", "ND",
    "NCHW", "float32", "bf16", "complex64", "string", "ascend910b", "ascend910_93", "ASCEND950",
    "1,8,64,64,64", "1,8,32,32,32", "2,4,6,8,10", "0,0,1,1,1", "1,1,1,1,1", "64,64,64", "--", "=",
]  # fmt: skip


def numerals(pick: Pick) -> str:
    return ",".join(pick(NUMERALS) for _ in range(pick((1, 3, 5, 5, 5, 9))))


def one_command(pick: Pick) -> str:
    kind = pick(("check", "check", "check", "check", "demo", "any"))
    if kind == "check":
        argv = ["check", "--op", pick(VALUES[:3]), "--grad-output-shape", pick(VALUES[14:19])]
        argv += ["--input-size", pick(VALUES[14:19])]
        for _ in range(pick((0, 1, 2, 3))):
            argv += [pick(OPTIONS), pick((pick(VALUES), numerals(pick)))]
        if pick((False, True)):
            argv[pick(range(len(argv)))] = numerals(pick)
    elif kind == "demo":  # the last mistake is always there: a whole demonstration takes a second
        damage(Path("v.npy"), pick)
        argv = [
            "demo",
            "--volume",
            pick(FILES),
            "--steps",
            pick(NUMERALS),
            "--size",
            pick(NUMERALS),
        ]
        argv += ["--output", pick(("no/such.png", "."))]
    else:
        argv = [pick((*OPTIONS, *VALUES, "info", "demo", "check", "--version")) for _ in range(9)]
        argv = argv[: pick(range(10))]
        if argv[:1] == ["demo"]:
            argv += ["--size", "-1"]
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = command_line(argv)
    assert status in (0, 1, 2), argv
    assert "Traceback" not in said.getvalue(), argv
    return f"{kind} exits with {status}"


ENTRIES = (*CALLS, one_command)


def main(count: int, seed: int) -> None:
    """`count` executions, shared among the entry points, and how they ended."""
    started, seen = time.monotonic(), collections.Counter()
    warnings.simplefilter("error")
    os.chdir(tempfile.mkdtemp())
    shared = zip(ENTRIES, (*SHARES, 1), strict=True)
    entries = [entry for entry, share in shared for _ in range(share)]
    with open("running", "w") as running:  # says where it was, should an execution end the process
        print(f"{Path.cwd() / 'running'} says which execution is running", flush=True)
        for k in range(count):
            rng = np.random.default_rng([seed, k])

            def pick(values: Sequence[Any], rng: np.random.Generator = rng) -> Any:
                return values[int(rng.integers(len(values)))]

            entry = entries[k % len(entries)]
            running.seek(0)
            print(f"seed {seed}, execution {k}, {entry.__name__}", file=running, flush=True)
            try:
                seen[entry.__name__, entry(pick)] += 1
            except BaseException:
                print(f"seed {seed}, execution {k}, {entry.__name__}", file=sys.stderr)
                raise
            if k % 10_000 == 9_999:
                print(f"{k + 1} executions, {time.monotonic() - started:.0f} s", flush=True)
    for (name, ended), times in sorted(seen.items()):
        print(f"{name:15} {ended:24} {times}")
    print(f"{count} executions from seed {seed}: all ended as documented")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
