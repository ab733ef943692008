# SPDX-License-Identifier: Apache-2.0
"""Prints the oldest versions that pyproject.toml allows, for pip install -r."""

import tomllib
from pathlib import Path

content = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
project = content["project"]
wanted = [*content["build-system"]["requires"], *project["dependencies"]]
for extra in ("test", "demo"):
    wanted += project["optional-dependencies"][extra]
print("\n".join(sorted({requirement.replace(">=", "==") for requirement in wanted})))
