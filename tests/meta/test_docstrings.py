# SPDX-License-Identifier: Apache-2.0
"""Every public name has a docstring that is complete by itself, in numpydoc's sections."""

from __future__ import annotations

import doctest
import enum
import importlib
import importlib.util
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

MODULES = ["", "aclnn", "graph", "reference", "tiling", "volumes"]
if importlib.util.find_spec("torch"):
    MODULES.append("torch")

RAISES_NOTHING = {
    "build_info", "get_num_threads", "torch.disable", "torch.enable", "torch.enable_worker",
    "torch.enabled", "torch.interpolate",
}  # fmt: skip
"""Functions that refuse no argument, or leave that to PyTorch."""


def returns_status(name: str) -> bool:
    """Whether it is one of CANN's functions, which return a status where others raise."""
    return name.startswith("aclnn.acl")


def public() -> Iterator[tuple[str, Any]]:
    """(name, object) of every public class and function, and of a class's public methods."""
    for module in MODULES:
        here = importlib.import_module(f"upsample3d.{module}".strip("."))
        for name in here.__all__:
            found = getattr(here, name)
            if not (inspect.isclass(found) or inspect.isroutine(found)):
                continue
            yield f"{module}.{name}".strip("."), found
            if inspect.isclass(found) and found.__module__.startswith("upsample3d"):
                for method, inner in vars(found).items():
                    if inspect.isfunction(inner) and (method[0] != "_" or method == "__call__"):
                        yield f"{module}.{name}.{method}".strip("."), inner


NAMES = dict(public())
FUNCTIONS = {name: found for name, found in NAMES.items() if inspect.isroutine(found)}


def sections(found: Any) -> dict[str, str]:
    """A docstring's sections by name, the text above them as Summary."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", "Summary\n---\n" + inspect.getdoc(found), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def listed(section: str) -> list[str]:
    """The names that a section describes, `a, b : type` as two."""
    heads = re.findall(r"^(\S.*?)(?: : .*)?$", section, flags=re.M)
    return [name.lstrip("*") for head in heads for name in head.split(", ")]


def is_method(name: str) -> bool:
    return inspect.isclass(NAMES.get(name.rpartition(".")[0]))


def parameters(found: Callable[..., Any]) -> list[str]:
    return [name for name in inspect.signature(found).parameters if name != "self"]


def test_there_are_many():
    assert len(FUNCTIONS) > 40
    assert {"Plan", "Plan.__call__", "nearest", "volumes.forward", "aclnn.AclTensor"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_summary_is_one_sentence_on_one_line(name):
    first = sections(NAMES[name])["Summary"].split("\n\n")[0].strip()
    assert "\n" not in first
    assert first.endswith(".")
    assert "otherwise as" not in inspect.getdoc(NAMES[name]).lower()
    assert not first.startswith("The same")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters_are_those_of_the_signature(name):
    said = sections(FUNCTIONS[name])
    assert listed(said.get("Parameters", "")) == parameters(FUNCTIONS[name])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_and_errors_are_described(name):
    said, found = sections(FUNCTIONS[name]), FUNCTIONS[name]
    silent = inspect.signature(found).return_annotation in ("None", None)
    assert ("Returns" in said or "Yields" in said) != silent
    if not is_method(name):
        assert ("Raises" in said) != (name in RAISES_NOTHING or returns_status(name))


@pytest.mark.parametrize("name", ["Plan", "Band", "ParameterTypeError"])
def test_what_is_constructed_lists_its_parameters(name):
    assert listed(sections(NAMES[name])["Parameters"]) == parameters(NAMES[name])


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n.split(".")[-1] in (
    "nearest", "nearest_exact", "trilinear", "nearest_backward", "nearest_exact_backward",
    "trilinear_backward",
)])  # fmt: skip
def test_functions_say_the_same_of_the_same_parameter(name):
    """Six functions have their text each; where two differ, it is what differs between them."""
    module, _, op = name.rpartition(".")
    twin = "trilinear_backward" if op.endswith("_backward") else "trilinear"
    mine, theirs = (described(FUNCTIONS[f"{module}.{other}".strip(".")]) for other in (op, twin))
    for parameter in mine.keys() & theirs.keys() - {"input", "rule"}:
        assert mine[parameter] == theirs[parameter], parameter


def described(found: Any) -> dict[str, str]:
    """Parameter -> what is said of it."""
    parts = re.split(r"^(?=\S)", sections(found)["Parameters"], flags=re.M)[1:]
    return {part.split(" : ")[0]: part for part in parts}


@pytest.mark.parametrize("name", [name for name in NAMES if ">>>" in inspect.getdoc(NAMES[name])])
def test_examples_run_as_printed(name):
    examples = doctest.DocTestParser().get_doctest(
        inspect.getdoc(NAMES[name]), {}, name, None, None
    )
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples).failed == 0


def test_enums_and_errors_have_a_sentence_each():
    for name, found in NAMES.items():
        if inspect.isclass(found) and issubclass(found, (enum.Enum, Exception)):
            assert found.__doc__ != (found.__base__.__doc__ or ""), name
