# SPDX-License-Identifier: Apache-2.0
"""The mistakes of mutants.toml can be made: their places are in the sources, and say why."""

from __future__ import annotations

import mutants
import pytest


@pytest.mark.parametrize("m", mutants.table(), ids=lambda m: f"{m.number}")
def test_a_mutant_has_its_place(m):
    text = (mutants.copies.ROOT / m.file).read_text()
    assert m.written(text) != text
    assert m.why
    assert m.tests
    assert all(map(mutants.copies.file_of, m.tests))


def test_choices_of_a_file_do_not_overlap():
    compiled = [m for m in mutants.table() if m.compiled]
    for file in {m.file for m in compiled}:
        text = (mutants.copies.ROOT / file).read_text()
        here = [m for m in compiled if m.file == file]
        chosen = mutants.with_choices(text, here, file.startswith("pyx/"))
        assert all(f"mutant == {m.number} " in chosen for m in here)


def test_there_are_enough():
    assert len(mutants.table()) >= 40
