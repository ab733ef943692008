# SPDX-License-Identifier: Apache-2.0
"""What tests of files share."""

import pytest


@pytest.fixture
def folder(tmp_path):
    """A folder in which nothing hidden may be left."""
    yield tmp_path
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
