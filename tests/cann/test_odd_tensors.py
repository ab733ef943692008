# SPDX-License-Identifier: Apache-2.0
"""Tensors made by hand, views of storage, and memory that does not suffice."""

from __future__ import annotations

import numpy as np
import pytest

from upsample3d import aclnn
from upsample3d.cann.acl import AclTensor, aclCreateTensor, aclFormat

SIZE, SHAPE = (2, 3, 4, 5, 6), (2, 3, 8, 10, 12)


def test_a_tensor_prints_itself():
    tensor = AclTensor.from_array(np.ones(SIZE, np.float16))
    assert repr(tensor) == f"AclTensor({SIZE}, ACL_FLOAT16, ACL_FORMAT_NCDHW)"
    assert aclnn.aclDestroyTensor(tensor) == 0
    assert repr(tensor) == "AclTensor(destroyed)"


def test_tensors_made_by_hand_are_refused():
    array = np.ones(SIZE, np.float32)
    for view, form in (
        (array.tolist(), aclFormat.ACL_FORMAT_ND),
        (array.astype(">f4"), aclFormat.ACL_FORMAT_ND),
        (array, 2),
    ):
        tensor = AclTensor(view, view, form, 0, SIZE)
        assert aclnn.aclDestroyTensor(tensor) == 161002
        assert "made by hand" in aclnn.aclGetRecentErrMsg()


class Hungry:
    """A sequence too large for the memory there is."""

    def __len__(self):
        raise MemoryError

    def __iter__(self):
        raise MemoryError


def test_memory_that_does_not_suffice_is_a_status():
    tensors = [AclTensor.from_array(np.ones(s, np.float32)) for s in (SHAPE, SIZE)]
    status, size, executor = aclnn.aclnnUpsampleNearest3dBackwardGetWorkspaceSize(
        tensors[0], Hungry(), SIZE, 0.0, 0.0, 0.0, tensors[1]
    )
    assert (status, size, executor) == (561103, 0, None)
    assert aclnn.aclGetRecentErrMsg() == "memory does not suffice"


@pytest.mark.parametrize(
    ("strides", "offset", "inside"),
    [
        ((6, 1), 0, True),
        ((6, 1), 1, False),
        ((-6, -1), 23, True),
        ((-6, -1), 22, False),
        ((-6, 1), 18, True),
        ((-6, 1), 19, False),
        ((-6, 1), 17, False),
        ((6, -1), 5, True),
    ],
)
def test_a_view_ends_with_its_storage(strides, offset, inside):
    """4 x 6 of 24 elements: the first and the last element are 0 and 23, wherever it begins."""
    data = np.arange(24, dtype=np.float32)
    tensor = aclCreateTensor((4, 6), 0, strides, offset, 2, (24,), data)
    assert (tensor is not None) == inside
    if inside:
        ij = np.indices((4, 6))
        assert np.array_equal(tensor.view, offset + ij[0] * strides[0] + ij[1] * strides[1])
