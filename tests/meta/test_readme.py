# SPDX-License-Identifier: Apache-2.0
"""What README and docs/ show is what happens."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import upsample3d as up
from upsample3d import graph
from upsample3d.__main__ import main
from upsample3d.geometry.axis import Axis

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in (
    "usage", "volumes", "torch", "cann", "numerics", "speed", "threads", "testing", "architecture",
))]  # fmt: skip
"""In the order in which their code is run, one upon the other."""

README = "\n".join(page.read_text() for page in PAGES)
COMMANDS = re.findall(r"^\$ upsample3d (.*?[^\\])\n(.*?)(?=^\$|^```)", README, flags=re.M | re.S)


def test_readme_is_short_and_every_page_is_run():
    assert len(PAGES[0].read_text().splitlines()) <= 150
    assert set((ROOT / "docs").glob("*.md")) == set(PAGES[1:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_to_files(page):
    links = re.findall(r"\]\(([^)]+)\)", page.read_text())
    assert all((page.parent / link).exists() for link in links), links
    assert links or page.parent.name == "docs"


def test_doctest():
    example = doctest.DocTestParser().get_doctest(README, {}, "README", "README.md", 0)
    assert len(example.examples) > 10
    assert doctest.DocTestRunner().run(example).failed == 0


@pytest.mark.filterwarnings("ignore:.torch.jit.script")  # PyTorch's compiler about itself
def test_python_blocks():
    """The blocks without a prompt build on each other."""
    blocks = re.findall(r"^```python\n(?!>>>)(.*?)^```", README, flags=re.M | re.S)
    names: dict[str, object] = {}
    for block in blocks:
        torch = "torch" in block
        if torch and not importlib.util.find_spec("torch"):
            continue
        exec(block, names)
        if torch:
            exec("upsample3d.torch.disable()", names)
    assert len(blocks) == 6
    assert names["output"].shape == (1, 8, 64, 64, 64)
    area = names["band"](Axis(7, 3, None, False, "aclnn", np.float32, False))
    assert (area.lo.tolist(), area.hi.tolist()) == ([0, 2, 4], [3, 5, 7])
    assert np.array_equal(area.w, np.full(9, 1 / 3, np.float32))


def graph_calls(text: str) -> list[str]:
    """The calls of graph's operators in a text, wherever its lines are broken."""
    return re.findall(r"graph\.Upsample\w+(?:\.\w+)?\((?:[^()]|\([^()]*\))*\)", text)


GRAPH_CALLS = [
    *((call, (1, 8, 64, 64, 64)) for call in graph_calls(README)),
    *((call, (1, 1, 10, 10, 10)) for call in graph_calls(graph.__doc__)),
]


@pytest.mark.parametrize(("call", "shape"), GRAPH_CALLS)
def test_graph_calls_run_as_printed(call, shape):
    grad_output = np.random.default_rng(0).random(shape, np.float32)
    size = (*shape[:2], *(n // 2 for n in shape[2:]))
    given = eval(call, {"graph": graph, "grad_output": grad_output})
    if "infer_shape" in call:
        assert given == size
    else:
        op = "trilinear_backward" if "Trilinear" in call else "nearest_backward"
        assert np.array_equal(given, getattr(up, op)(grad_output, size))


def test_there_are_such_calls():
    assert "input_size" in GRAPH_CALLS[0][0]
    assert len(GRAPH_CALLS) >= 4


@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=["legal", "illegal"])
def test_commands(command, shown, capsys):
    status = main(shlex.split(command.replace("\\\n", " ")))
    assert sized(capsys.readouterr().out) == sized(shown.rstrip("\n") + "\n")
    assert status == (0 if " legal on" in shown.replace("not legal on", "") else 1)


def sized(text: str) -> str:
    """Without our workspace's size, which depends on the number of cores."""
    return re.sub(r"workspace of \d+ bytes", "workspace of ... bytes", text)
