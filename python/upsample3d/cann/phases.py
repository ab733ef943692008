# SPDX-License-Identifier: Apache-2.0
"""The operators in two phases, by CANN's names: a first that checks and plans, a second that runs.

    status, size, executor = aclnnUpsampleNearestExact3dBackwardGetWorkspaceSize(
        gradOut, outputSize, inputSize, scalesD, scalesH, scalesW, gradInput)
    status = aclnnUpsampleNearestExact3dBackward(workspace, size, executor, stream)

The parameters are CANN's in order, but for those that C needs and Python does not: &workspaceSize
and &executor are returned, and aclCreateTensor has no viewDimsNum and storageDimsNum
(aclCreateIntArray has its size). None is the null pointer; int arrays are any sequence of ints.

A status is returned, never an exception (KeyboardInterrupt and its like pass through; a call with
the wrong number of arguments is Python's TypeError), and aclGetRecentErrMsg() says what was wrong
at the last failure: neither reading nor success clears it. After a failure gradInput is as it was.
Scales count only where all three are > 0.
"""

from __future__ import annotations

from . import acltypes
from .acl import aclCreateIntArray, aclCreateTensor, aclDestroyIntArray, aclDestroyTensor
from .acltypes import *  # noqa: F403 - every type and format of CANN's
from .executors import AclOpExecutor, aclDestroyAclOpExecutor, aclSetAclOpExecutorRepeatable
from .first_phase import (
    aclnnUpsampleNearest3dBackwardGetWorkspaceSize,
    aclnnUpsampleNearestExact3dBackwardGetWorkspaceSize,
    aclnnUpsampleTrilinear3dBackwardGetWorkspaceSize,
)
from .limits import documented_limit_violations
from .messages import aclGetRecentErrMsg, aclnnStatus
from .second_phase import (
    aclnnUpsampleNearest3dBackward,
    aclnnUpsampleNearestExact3dBackward,
    aclnnUpsampleTrilinear3dBackward,
)
from .tensors import AclTensor

ACL_SUCCESS = ACLNN_SUCCESS = aclnnStatus.ACLNN_SUCCESS
ACLNN_ERR_PARAM_NULLPTR = aclnnStatus.ACLNN_ERR_PARAM_NULLPTR
ACLNN_ERR_PARAM_INVALID = aclnnStatus.ACLNN_ERR_PARAM_INVALID
ACLNN_ERR_RUNTIME_ERROR = aclnnStatus.ACLNN_ERR_RUNTIME_ERROR

__all__ = [
    "ACLNN_ERR_PARAM_INVALID", "ACLNN_ERR_PARAM_NULLPTR", "ACLNN_ERR_RUNTIME_ERROR",
    "ACLNN_SUCCESS", "ACL_SUCCESS", "AclOpExecutor", "AclTensor", "aclCreateIntArray",
    "aclCreateTensor", "aclDestroyAclOpExecutor", "aclDestroyIntArray", "aclDestroyTensor",
    "aclGetRecentErrMsg", "aclSetAclOpExecutorRepeatable", "aclnnStatus",
    "aclnnUpsampleNearest3dBackward", "aclnnUpsampleNearest3dBackwardGetWorkspaceSize",
    "aclnnUpsampleNearestExact3dBackward", "aclnnUpsampleNearestExact3dBackwardGetWorkspaceSize",
    "aclnnUpsampleTrilinear3dBackward", "aclnnUpsampleTrilinear3dBackwardGetWorkspaceSize",
    "documented_limit_violations",
]  # fmt: skip
__all__ += acltypes.__all__
