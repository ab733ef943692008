# SPDX-License-Identifier: Apache-2.0
"""Where Python is what costs, small calls and the building of a plan: `python bench/small.py`.

The gradient of 1 x 1 x 2 x 2 x 2 beside PyTorch's op, in turn; a plan for (1, 4, 64^3 -> 128^3)
beside its own kernel. Medians of rounds.
"""

from __future__ import annotations

import numpy as np
import sides
from cases import Case
from ratios import in_turn

import upsample3d as up

ROUNDS = 15


def main() -> None:
    import torch

    tiny = Case("trilinear", "backward", "tiny", "float32", "NCDHW", 1)
    source, result = tiny.arrays()
    torch.set_num_threads(1)
    size = tiny.input_size
    tensor = torch.from_numpy(source)
    op = torch.ops.aten.upsample_trilinear3d_backward
    arguments = (tensor, [2, 2, 2], [1, 1, 1, 1, 1], False, None, None, None)
    works = {
        "torch, op": lambda: op(*arguments),
        "torch, into a result": sides.torchs(tiny, source, result),
        "trilinear_backward": lambda: up.trilinear_backward(source, size),
        "Plan": sides.ours(tiny, source, result),
    }
    seconds = in_turn(list(works.values()), ROUNDS, 0.01)
    for name, row in zip(works, seconds, strict=True):
        ratio = np.median(row / seconds[0])
        print(f"{name:22} {np.median(row) * 1e6:7.2f} us  x {ratio:.2f} of torch's op")

    large = Case("trilinear", "backward", "64->128 C4", "float32", "NCDHW", 1)
    source, result = large.arrays()
    build, run = in_turn(
        [lambda: sides.ours(large, source, result), sides.ours(large, source, result)], 7, 0.02
    )
    print(
        f"{'plan building':22} {np.median(build) * 1e6:7.0f} us  x {np.median(build / run):.3f} "
        f"of the kernel, {np.median(run) * 1e3:.2f} ms"
    )


if __name__ == "__main__":
    main()
