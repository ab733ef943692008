# SPDX-License-Identifier: Apache-2.0
"""`upsample3d.volumes` and its like are there as soon as the package is, and not before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import upsample3d as up

MODULES = ["aclnn", "graph", "reference", "tiling", "volumes"]


def test_modules_come_by_their_name_and_not_before():
    """Nor does PyTorch come to those who look at everything."""
    program = f"""if True:
        import inspect, sys
        import upsample3d as up
        for name in {MODULES}:
            assert f"upsample3d.{{name}}" not in sys.modules, name
        assert {{*{MODULES}}} <= {{*dir(up)}}
        found = dict(inspect.getmembers(up))
        for name in {MODULES}:
            assert found[name] is sys.modules[f"upsample3d.{{name}}"], name
        assert "torch" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", program], check=True)


def test_torch_comes_by_its_name():
    pytest.importorskip("torch")
    assert up.torch is sys.modules["upsample3d.torch"]


def test_other_names_are_not_there():
    with pytest.raises(AttributeError, match="module 'upsample3d' has no attribute 'volume'"):
        up.volume  # noqa: B018
    assert not hasattr(up, "demos")


def test_type_checkers_know_them(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "mypy.ini").write_text(
        "[mypy]\nstrict = true\n[mypy-torch.*,numpy.*]\nfollow_imports = skip\n"
        "ignore_missing_imports = true\n"
    )
    (tmp_path / "use.py").write_text(
        "import upsample3d as up\n"
        "reveal_type(up.volumes.forward('a', 'b').shape)\n"
        "up.volumes.forward('a', 'b', spacing='1')\n"
        "up.volume\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", f"--cache-dir={tmp_path}", "use.py"],
        cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "MYPYPATH": str(Path(up.__file__).parent.parent)},
    )  # fmt: skip
    ours = [line.split(":", 2)[1:] for line in done.stdout.splitlines() if "use.py:" in line]
    assert [number for number, _ in ours] == ["2", "3", "4"], done.stdout
    assert "int, ...]" in ours[0][1]
    assert '"volume"' in ours[2][1]
