# SPDX-License-Identifier: Apache-2.0
"""Right and wrong uses, as mypy sees them: `# wrong: code` stands where it has to complain."""

from __future__ import annotations

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import upsample3d as up
from upsample3d import reference
from upsample3d.spec.types import DataFormat, Op, Rule

single: NDArray[np.float32] = np.ones((1, 1, 2, 3, 4), np.float32)
double: NDArray[np.float64] = np.ones((1, 1, 4, 6, 8))
labels: NDArray[np.uint8] = np.ones((1, 1, 2, 3, 4), np.uint8)
size = (1, 1, 2, 3, 4)

# ---- Elements out are elements in ----

assert_type(up.trilinear(single, (4, 6, 8)), NDArray[np.float32])
assert_type(up.nearest(labels, scales=2), NDArray[np.uint8])
assert_type(up.nearest_exact_backward(double, size), NDArray[np.float64])
assert_type(reference.trilinear_backward(double, size), NDArray[np.float64])
assert_type(up.trilinear(single, out=np.empty_like(single)), NDArray[np.float32])
up.nearest([[1.0]], scales=2)  # wrong: arg-type
up.trilinear("scan.nii.gz", scales=2)  # wrong: arg-type

plan = up.Plan("trilinear", single.shape, "float32", output_size=(4, 6, 8))
assert_type(plan(single), NDArray[np.float32])

# ---- Names ----

op: Op = "nearest_exact_backward"
rule: Rule = "torch"
data_format: DataFormat = "NDHWC"
up.Plan(op, size, single.dtype, input_size=size, rule=rule, data_format=data_format)
up.bands(op, 3, 6, rule=rule)
up.Plan("linear", size, "float32", output_size=(4, 6, 8))  # wrong: arg-type
up.Plan("trilinear", size, "float32", rule="pytorch")  # wrong: arg-type
up.trilinear(single, scales=2, rule="pytorch")  # wrong: arg-type
up.nearest(single, scales=2, data_format="channels_last")  # wrong: arg-type
up.bands("linear", 3, 6)  # wrong: arg-type
up.bands("nearest", 3, 6, rule="onnx")  # wrong: arg-type
reference.nearest(single, scales=2, order="npu")  # wrong: arg-type
reference.nearest_backward(single, size, device="a3")  # wrong: arg-type
reference.nearest_backward(single, size, real="float16")  # wrong: arg-type

# ---- Sizes and scales ----

up.trilinear(single, single.shape[2:])
up.trilinear(single, [np.int64(4), 6, np.int32(8)])
up.trilinear(single, np.array([4, 6, 8]))
up.trilinear(single, scales=np.float32(1.5))
up.trilinear(single, scales=[1.5, 2, np.float64(3)])
up.trilinear(single, scales=np.array([1.5, 2, 3]))
up.trilinear_backward(double, size, (None, 2.0, None))
up.trilinear(single, 2)  # wrong: arg-type
up.trilinear(single, (2.0, 2.0, 2.0))  # wrong: arg-type
up.trilinear(single, "4,6,8")  # wrong: arg-type
up.trilinear(single, scales="2")  # wrong: arg-type
up.trilinear(single, scales=("2", "2", "2"))  # wrong: arg-type
up.trilinear(single, scales=2, align_corners=None)  # wrong: arg-type
up.nearest(single, scales=2, align_corners=True)  # wrong: call-arg
up.trilinear_backward(double)  # wrong: call-arg
up.nearest(single, scales=2, schedule="auto")  # wrong: arg-type
up.set_num_threads("4")  # wrong: arg-type
