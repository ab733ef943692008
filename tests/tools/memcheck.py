# SPDX-License-Identifier: Apache-2.0
"""valgrind's memcheck over every kernel: fails where an error has a frame of ours.

    python tests/tools/memcheck.py [CALLS]

Takes some minutes. Level v3, because valgrind knows no AVX-512; PYTHONMALLOC=malloc, so that every
object has an end. Errors that are NumPy's or Python's own are counted and let pass.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

OURS = "/upsample3d/"
CALLS = 250


def watched(calls: int) -> None:
    """The calls that valgrind looks at: random ones, cut up as large ones are, and wrong ones."""
    import numpy as np
    import valid_calls

    import upsample3d as up
    from upsample3d.plan import machine

    machine.allowed_threads = lambda: 2
    for k in range(calls):
        rng = np.random.default_rng([11, k])

        def pick(values, rng=rng):
            return values[int(rng.integers(len(values)))]

        if k % 5 == 0:
            valid_calls.cuts(pick if k % 10 else lambda values: values[-1])
        valid_calls.checked(valid_calls.drawn(pick))
    for wrong in ({"scales": "2"}, {"out": np.zeros(3)}, {"input_size": (1, 1, 0, 1, 1)}):
        try:
            up.nearest_backward(np.ones((1, 1, 2, 2, 2)), **{"input_size": (1,) * 5, **wrong})
        except (up.ParameterError, up.ParameterTypeError):
            continue
        raise AssertionError(wrong)
    print(f"{calls} calls on level {up.build_info()['level']}")


def errors(report: Path) -> tuple[list[str], int]:
    """(errors with a frame of ours, number of the others) of valgrind's XML report."""
    ours, others = [], 0
    for error in ElementTree.parse(report).getroot().iter("error"):
        if (error.findtext("kind") or "").startswith("Leak_"):  # Python frees no module at its end
            continue
        frames = [frame.findtext("obj") or "" for frame in error.iter("frame")]
        if any(OURS in frame for frame in frames):
            ours.append(ElementTree.tostring(error, encoding="unicode"))
        else:
            others += 1
    return ours, others


def main(calls: int) -> int:
    level = {"UPSAMPLE3D_LEVEL": "v3", "PYTHONMALLOC": "malloc", "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        status = subprocess.run(
            ["valgrind", "--tool=memcheck", "--leak-check=no", "--num-callers=30", "--xml=yes",
             f"--xml-file={report}", sys.executable, __file__, "watched", str(calls)],
            env={**os.environ, **level},
        ).returncode  # fmt: skip
        ours, others = errors(report)
    print(*ours, sep="\n")
    print(f"memcheck: {len(ours)} errors with a frame of ours, {others} without, exit {status}")
    return 1 if ours or status else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["watched"]:
        watched(int(sys.argv[2]))
    else:
        sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else CALLS))
