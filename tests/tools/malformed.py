# SPDX-License-Identifier: Apache-2.0
"""Random wrong calls of every entry point: their errors are documented, and nothing is written.

Entry points: the functions, Plan, the operators in two phases, their IR, the tilings, and the
command line, all in process. By hand, any number from a seed on (docs/testing.md says how, under
sanitizers):

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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from aclnn_calls import LAST, OPS, arguments
from strange import ERRORS, NUMBERS, STRANGE, TENSORS, NamelessError, Unspeakable, raising
from test_aclnn_fuzz import POSITIONS, STATUSES, pixels

import upsample3d as up
from upsample3d import aclnn, graph, tiling
from upsample3d.__main__ import main as command_line

Pick = Callable[[Sequence[Any]], Any]

SMALL, LARGE = (2, 3, 4, 5, 6), (2, 3, 8, 10, 12)
ONES = {shape: np.ones(shape, np.float32) for shape in (SMALL, LARGE)}
for _ones in ONES.values():
    _ones.flags.writeable = False  # the sources of many executions


class Liar(np.ndarray):
    """An array whose shape and strides are not those of its memory."""

    shape = property(lambda self: (2, 3, 8000, 1000, 1200))
    strides = property(lambda self: (4,) * 5)
    flags = property(lambda self: None)


class Claims:
    """Says it is an array, and has all that one asks of arrays."""

    __class__ = np.ndarray  # type: ignore[assignment]
    dtype, shape, strides, ndim = np.dtype("f4"), LARGE, (5760, 1920, 480, 48, 4), 5
    __array_struct__ = 3


def strided(shape: tuple[int, ...], strides: tuple[int, ...], dtype: str = "f4") -> np.ndarray:
    """An array of such strides over memory that holds all of it."""
    reach = [stride * (size - 1) for stride, size in zip(strides, shape, strict=True)]
    low, high = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
    memory = np.ones(high - low + 16, np.uint8)
    return np.ndarray(shape, dtype, memory, -low, strides)


ARRAYS = [
    lambda: np.ones(LARGE, "f4"), lambda: np.ones(SMALL, "f4"), lambda: np.ones(LARGE, "f8"),
    lambda: np.ones(SMALL, "f8"), lambda: np.ones(LARGE, "f4")[::-1],
    lambda: np.ones(LARGE, "f4")[:, :0],
    lambda: np.ones(LARGE, "f4")[0], lambda: np.ones(LARGE, "f4").astype(">f4"),
    lambda: np.ones(LARGE, "f4").astype("i4"), lambda: np.ones(LARGE, "f4").astype(object),
    lambda: np.ones(LARGE, "f4").view("V4"), lambda: np.ones(LARGE, "f4").view(Liar),
    lambda: np.ones(SMALL, "f4").view(Liar), lambda: np.ma.masked_array(np.ones(LARGE, "f4")),
    lambda: np.broadcast_to(np.float32(1), LARGE), lambda: np.broadcast_to(np.float32(1), SMALL),
    lambda: np.broadcast_to(np.float32(1), (7, 9, 2**18, 2**19, 2**18)),
    lambda: np.broadcast_to(np.float32(1), (1, 1, 2**31, 1, 1)),
    lambda: np.broadcast_to(np.float32(1), (2**30, 2**30, 1, 1, 1)),
    lambda: strided(SMALL, (360, 120, 40, 16, 4)), lambda: strided(SMALL, (0, 0, 0, 0, 0)),
    lambda: strided(LARGE, (1, 1, 1, 1, 1)), lambda: strided(LARGE, (3, 5, 7, 11, 13)),
    lambda: strided(SMALL, (-3000, 1000, -200, 30, -5)), lambda: strided(LARGE, (8, 4, 0, 4, -4)),
    lambda: np.zeros((), np.float32), lambda: np.zeros((2,) * 9, np.float32), Claims,
]  # fmt: skip
TEXTS = [
    "NCDHW", "NDHWC", "ncdhw", "aclnn", "torch", "cuda", "float32", "bfloat16", "f4", ">f4", "f2",
    "O", "f4,f4", "V2", "nearest", "trilinear_backward", "\0", "\ud800", "x" * 5000, b"NCDHW",
]  # fmt: skip
SIZES = [
    SMALL, LARGE, SMALL[2:], LARGE[2:], list(SMALL), np.array(SMALL), np.array(LARGE[2:]), (0,) * 5,
    (2, 3, 2**31 - 1, 2**31 - 1, 2**31 - 1), (2, 3, 4, 5, 2**31), (2**62, 3, 4, 5, 6), (-1,) * 5,
    (2**31, 2**31, 1, 1, 1), (10**5000, 3, 4, 5, 6), (2, 3, 4, 5, 10**5000), (10**5000,) * 3, (),
    (2.0, 3.0, 4.0, 5.0, 6.0), (True,) * 5, ("2",) * 5, range(2, 7), range(10**9), (4, 5, 10**400),
    [1.0, 2.0, None], (0.5,) * 3, 2, 2.0, 10**5000, -(10**5000), 1e300, 1e-300, float("inf"),
]  # fmt: skip
THINGS = [
    *STRANGE, *TENSORS, *ARRAYS, *(lambda n=n: n for n in NUMBERS + TEXTS),
    *(lambda n=n: n for n in SIZES * 3), *ARRAYS, lambda: None,
    *(lambda e=e: raising(e, ("__hash__", "__eq__", "__repr__"))() for e in ERRORS),
    *(lambda e=e: raising(e, ("__len__", "__iter__", "__repr__"))() for e in ERRORS),
    *(lambda e=e: raising(e, ("__index__", "__repr__"), (int,))(3) for e in ERRORS),
]  # fmt: skip
DOCUMENTED = (up.ParameterError, up.ParameterTypeError)
LONGEST = 1000
"""Characters of a message of aclnn's, graph's and tiling's."""


def is_documented(error: BaseException) -> bool:
    """Whether it is ours, with one of two numbers; or memory's end; or a caller's object's own."""
    if isinstance(error, DOCUMENTED):
        return error.status in (161001, 161002) and len(str(error)) > 10
    own = type(error) in (Unspeakable, NamelessError) or any(error is other for other in ERRORS)
    return own or isinstance(error, MemoryError) or error.args == ("x",)


def one_function(pick: Pick) -> str:
    op = pick(("nearest_exact", "nearest", "trilinear")) + pick(("_backward", ""))
    backward = op.endswith("_backward")
    out = np.full(SMALL if backward else LARGE, 7, np.float32)
    given: dict[str, Any] = {"out": out}
    given |= {"input_size": SMALL} if backward else {"output_size": LARGE[2:]}
    source = {"grad_output" if backward else "input": ONES[LARGE if backward else SMALL]}
    names = [*source, "input_size" if backward else "output_size", "scales", "data_format", "out"]
    names += ["rule", "schedule", "num_threads", *["output_size"] * backward]
    names += ["align_corners"] * op.startswith("trilinear")
    given |= source
    for _ in range(pick((1, 1, 1, 2, 3))):
        given[pick(names)] = pick(THINGS)()
    return outcome(lambda: getattr(up, op)(**given), out, (op, given))


def one_plan(pick: Pick) -> str:
    shape, result = (LARGE, SMALL) if pick((True, False)) else (SMALL, LARGE)
    op = pick(("nearest_exact", "nearest", "trilinear")) + ("_backward" * (shape is LARGE))
    out = np.full(result, 7, np.float32)
    given: dict[str, Any] = {"op": op, "shape": shape, "dtype": "float32"}
    given |= {"input_size": SMALL} if shape is LARGE else {"output_size": LARGE[2:]}
    call: list[Any] = [ONES[shape], out, None]
    names = [*given, "input_size", "output_size", "scales", "align_corners", "data_format", "rule"]
    names += ["strides", "out_strides", "schedule", "num_threads"]
    if pick((True, False)):
        call[2] = np.zeros(1 << 16, np.uint8)
    for _ in range(pick((0, 1, 1, 2))):
        given[pick(names)] = pick(THINGS)()
    for _ in range(pick((0, 1, 1, 2))):
        call[pick((0, 1, 2))] = pick(THINGS)()
    return outcome(lambda: up.Plan(**given)(*call), out, (given, call))


def outcome(run: Callable[[], Any], out: np.ndarray, case: object) -> str:
    try:
        run()
    except Exception as error:
        if not is_documented(error):
            raise AssertionError(shown(case)) from error
        assert (out == 7).all(), shown(case)
        return type.__dict__["__name__"].__get__(type(error))
    return "success"


def shown(case: object) -> str:
    try:
        with np.printoptions(threshold=4, edgeitems=1):
            return repr(case)
    except Exception:
        return "a case that cannot be printed"


def one_operator(pick: Pick) -> str:
    op = OPS[pick(list(OPS))]
    given = arguments(**(LAST if pick((False, True)) else {}))
    for _ in range(pick((0, 1, 1, 2, 3))):
        given[pick(POSITIONS)] = pick(THINGS)()
    before = pixels(given)
    status, size, made = op.prepare(given)
    assert status in STATUSES
    assert pixels(given) == before
    if status:
        assert (size, made) == (0, None)
        assert len(aclnn.aclGetRecentErrMsg()) <= LONGEST
        return f"phase 1 {int(status)}"
    second = [bytearray(size), size, made, None]
    for _ in range(pick((0, 1, 1, 2))):
        second[pick((0, 1, 2, 3))] = pick(THINGS)()
    status = op.second(*second)
    assert status in STATUSES
    if status:
        assert pixels(given) == before
        assert len(aclnn.aclGetRecentErrMsg()) <= LONGEST
    if pick((False, True)):
        assert op.second(*second) in STATUSES
        assert aclnn.aclDestroyAclOpExecutor(second[2]) in STATUSES
    return f"phase 2 {int(status)}"


IR = [getattr(graph, name) for name in graph.__all__ if name.startswith("Upsample")]
OURS = (up.InferShapeError, up.TilingError, up.KernelNotFoundError)


def one_ir_operator(pick: Pick) -> str:
    operator = pick(IR)
    given = {"input_size": SMALL, pick(("output_size", "output_size", "scales")): LARGE[2:]}
    names = [attribute.name for attribute in operator.attributes]
    if "scales" in given:
        given["scales"] = (2, 2, 2)
    for _ in range(pick((0, 1, 1, 2, 3))):
        given[pick((*names, *names, "bogus"))] = pick(THINGS)()
    source, shape, dtype = ONES[LARGE], LARGE, pick(THINGS)()
    if pick((True, False, False)):
        source, shape = pick(ARRAYS)(), pick(THINGS)()
    case = operator.name, given, source, shape, dtype
    runs = [
        (lambda: operator.infer_dtype(dtype), OURS),
        (lambda: operator.infer_shape(shape, **given), OURS),
        (lambda: operator(source, **given), (*OURS, up.ParameterTypeError)),
    ]
    return refusal(*runs[pick((0, 1, 1, 1, 2, 2, 2, 2))], case)


PLANS = {
    tiling.nearest_950: ("scales", "input_size", "grad_input_dtype", "ub_size"),
    tiling.nearest_a2: ("scales",),
    tiling.trilinear_a2: ("inverse_scales", "align_corners"),
}


def one_tiling(pick: Pick) -> str:
    plan = pick(list(PLANS))
    given, named = [LARGE, SMALL], {}
    for _ in range(pick((0, 1, 1, 2))):
        given[pick((0, 1))] = pick((*THINGS, lambda: LARGE, lambda: SMALL))()
    for _ in range(pick((0, 1, 1, 2))):
        named[pick(("dtype", "cores", *PLANS[plan]))] = pick(THINGS)()
    kinds = (up.TilingError, *DOCUMENTED)
    return refusal(lambda: plan(*given, **named), kinds, (plan.__name__, given, named))


def one_question(pick: Pick) -> str:
    """Which documented limits a call breaks."""
    given: dict[str, Any] = {**arguments(), "op": "nearest_backward", "scales": (2, 2, 1.5)}
    names = ("op", "gradOut", "outputSize", "inputSize", "scales", "gradInput")
    for _ in range(pick((0, 1, 1, 2, 3))):
        given[pick(names)] = pick(THINGS)()
    asked = {name: given[name] for name in names}
    return refusal(lambda: aclnn.documented_limit_violations(**asked), DOCUMENTED, asked)


def refusal(run: Callable[[], Any], kinds: tuple[type[Exception], ...], case: object) -> str:
    """How a call ended that writes nothing: one of these errors, and few words."""
    try:
        run()
    except (up.ParameterError, up.ParameterTypeError) as error:
        if type(error) not in kinds or not 10 < len(str(error)) <= LONGEST:
            raise AssertionError(shown(case)) from error
        return type(error).__name__
    except Exception as error:
        raise AssertionError(shown(case)) from error
    return "success"


NUMERALS = [
    "0", "1", "2", "3", "8", "64", "-1", "", "x", "1e3", "nan", "inf", "-inf", "1e400", "0x10", "٣",
    "16777217", "2147483647", "2147483648", "4294967296", "9223372036854775807", "1_000",
    "9223372036854775808", "9" * 5000, " 4 ", "4,4", "\0", "\ud800",
]  # fmt: skip
FILES = ["v.npy", "v.npz", "v.nii", "v.nii.gz", "no.npy", ".", "v.txt", "\0.npy", "\ud800.npy", ""]
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


def damage(path: Path, pick: Pick) -> None:
    """Changes a byte of a file that a volume is read from."""
    content = bytearray(b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, ")
    content += b"'shape': (5, 5, 5), }".ljust(79) + b"\n" + bytes(500)
    content[pick(range(128))] = pick(range(256))
    path.write_bytes(content[: pick((128, 628, 628, 10))])


ENTRIES = (
    one_function, one_plan, one_operator, one_ir_operator, one_tiling, one_question, one_command,
)  # fmt: skip
SHARES = (8, 6, 6, 3, 3, 1, 1)


def main(count: int, seed: int) -> None:
    """`count` executions, shared among the entries, and how they ended."""
    started, seen = time.monotonic(), collections.Counter()
    warnings.simplefilter("error")
    os.chdir(tempfile.mkdtemp())
    entries = [entry for entry, share in zip(ENTRIES, SHARES, strict=True) for _ in range(share)]
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
