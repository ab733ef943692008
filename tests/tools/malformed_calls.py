# SPDX-License-Identifier: Apache-2.0
"""Random calls that are wrong, one function an entry point of the library: how each ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from aclnn_calls import LAST, OPS, POSITIONS, STATUSES, arguments, pixels
from malformed_things import ARRAYS, LARGE, ONES, SMALL, THINGS
from strange import ERRORS, NamelessError, Unspeakable

import upsample3d as up
from upsample3d import aclnn, graph, reference, tiling, volumes

Pick = Callable[[Sequence[Any]], Any]

DOCUMENTED = (up.ParameterError, up.ParameterTypeError)
LONGEST = 1000
"""Characters of a message."""


def is_documented(error: BaseException) -> bool:
    """Whether it is ours, with one of two numbers; or memory's end; or a caller's object's own."""
    if isinstance(error, DOCUMENTED):
        return error.status in (161001, 161002) and 10 < len(str(error)) <= LONGEST
    own = type(error) in (Unspeakable, NamelessError) or any(error is other for other in ERRORS)
    return own or isinstance(error, MemoryError) or error.args == ("x",)


FULL = np.full(1, 7, np.float32)
"""The result that a call does not have to leave as it is: it makes its own."""


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


def one_reference(pick: Pick) -> str:
    op = pick(("nearest_exact", "nearest", "trilinear")) + pick(("_backward", ""))
    shape, size = (LARGE, SMALL) if op.endswith("_backward") else (SMALL, LARGE[2:])
    call = [ONES[shape], size, None]
    named: dict[str, Any] = {}
    names = ["data_format", "rule", "order", "real"]
    names += ["align_corners"] * op.startswith("trilinear")
    for _ in range(pick((1, 1, 2))):
        call[pick((0, 1, 2))] = pick(THINGS)()
    for _ in range(pick((0, 0, 1))):
        named[pick(names)] = pick(THINGS)()
    return outcome(lambda: getattr(reference, op)(*call, **named), FULL, (op, call, named))


FILES = ["v.npy", "v.npz", "v.nii", "v.nii.gz", "no.npy", ".", "v.txt", "\0.npy", "\ud800.npy", ""]


def one_file(pick: Pick) -> str:
    """A volume read or resampled, from a file of which a byte is wrong more often than not."""
    damage(Path("v.npy"), pick)
    name = pick(("read", "forward", "backward"))
    call: list[Any] = ["v.npy", *["o.npy"] * (name != "read")]
    named: dict[str, Any] = {}
    if name != "read":
        named = {"forward": {"output_size": (6, 6, 6)}, "backward": {"input_size": (3, 3, 3)}}[name]
        named["op"] = pick(("nearest", "trilinear"))
    names = ["data_format", "array", *named, *["scales", "dtype", "axes", "like"] * bool(named)]
    if name != "read":
        named["force"] = True
    for _ in range(pick((0, 1, 1))):
        call[pick(range(len(call)))] = pick((pick(FILES), pick(THINGS)()))
    for _ in range(pick((0, 1, 1, 2))):
        named[pick(names)] = pick(THINGS)()
    try:
        getattr(volumes, name)(*call, **named)
    except Exception as error:
        kinds = (OSError, ValueError, ImportError, volumes.VolumeWarning)
        paths = sum(len(str(path)) for path in call if issubclass(type(path), str))
        longest = LONGEST + paths  # which are shown in full
        if not is_documented(error) and not (
            isinstance(error, kinds) and len(str(error)) <= longest
        ):
            raise AssertionError(shown((name, call, named))) from error
        return type.__dict__["__name__"].__get__(type(error))
    return "success"


def damage(path: Path, pick: Pick) -> None:
    """Changes a byte of a file that a volume is read from."""
    content = bytearray(b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, ")
    content += b"'shape': (5, 5, 5), }".ljust(79) + b"\n" + bytes(500)
    content[pick(range(128))] = pick(range(256))
    path.write_bytes(content[: pick((128, 628, 628, 10))])


CALLS = [
    one_function, one_plan, one_operator, one_ir_operator, one_tiling, one_question, one_reference,
    one_file,
]  # fmt: skip
SHARES = [8, 6, 6, 3, 3, 1, 3, 2]

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]
else:
    from upsample3d.torch import interpolate

    def one_interpolate(pick: Pick) -> str:
        """Errors are F.interpolate's, but for those that an argument raises itself."""
        given: dict[str, Any] = {"input": torch.ones(1, 1, 2, 3, 2), "size": LARGE[2:]}
        given["mode"] = pick(("nearest", "nearest-exact", "trilinear"))
        names = ("input", "size", "scale_factor", "mode", "align_corners", "antialias")
        for _ in range(pick((1, 1, 2))):
            given[pick(names)] = pick(THINGS)()
        theirs = ended(lambda: torch.nn.functional.interpolate(**given))
        ours = ended(lambda: interpolate(**given))
        if type(ours) is not type(theirs) and not (ours is not None and is_documented(ours)):
            raise AssertionError(f"{theirs!r}: {shown(given)}") from ours
        return "success" if ours is None else type.__dict__["__name__"].__get__(type(ours))

    def ended(run: Callable[[], Any]) -> Exception | None:
        try:
            run()
        except Exception as error:
            return error
        return None

    CALLS.append(one_interpolate)
    SHARES.append(2)
