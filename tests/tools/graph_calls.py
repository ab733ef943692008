# SPDX-License-Identifier: Apache-2.0
"""Calls of the IR operators that more than one test file makes."""

from __future__ import annotations

import pytest

import upsample3d as up
from upsample3d.graph import (
    UpsampleNearest3dGrad,
    UpsampleNearestExact3dGrad,
    UpsampleTrilinear3dBackward,
    UpsampleTrilinear3dGrad,
)
from upsample3d.spec.errors import InferShapeError

LISTS = (UpsampleNearestExact3dGrad, UpsampleNearest3dGrad, UpsampleTrilinear3dGrad)
ALL = (*LISTS, UpsampleTrilinear3dBackward)
TEN, FIVE = (1, 1, 10, 10, 10), (1, 1, 5, 5, 5)
NEITHER_FAILS = [UpsampleNearest3dGrad, UpsampleTrilinear3dGrad]


def names(operator) -> str:
    return operator.name


every = pytest.mark.parametrize("operator", ALL, ids=names)
with_lists = pytest.mark.parametrize("operator", LISTS, ids=names)


def refused(operator, *arguments, **attributes) -> InferShapeError:
    with pytest.raises(InferShapeError) as caught:
        operator.infer_shape(*arguments, **attributes)
    assert caught.value.status == up.Status.INFERSHAPE_ERROR == 561001
    assert operator.name in str(caught.value)
    return caught.value


class Raising:
    """What raises what no reader foresees, and cannot be printed."""

    def raises(self, *arguments):
        raise RuntimeError

    __iter__ = __len__ = __index__ = __truediv__ = __bool__ = __eq__ = __repr__ = raises
