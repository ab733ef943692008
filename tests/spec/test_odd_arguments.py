# SPDX-License-Identifier: Apache-2.0
"""Arguments at the edges of what is judged, where no other file of tests goes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import upsample3d as up
from upsample3d import aclnn, volumes
from upsample3d.cann.acl import AclTensor, aclCreateTensor, aclFormat
from upsample3d.plan import schedule, w_pass
from upsample3d.spec import layout
from upsample3d.spec.opspec import specify
from upsample3d.spec.question import Question

SIZE, SHAPE = (2, 3, 4, 5, 6), (2, 3, 8, 10, 12)


def test_n_below_0():
    with pytest.raises(up.ParameterError, match=r"\(-1, 3, 8, 10, 12\) in NCDHW, wanted N and C"):
        up.Plan("trilinear_backward", (-1, *SHAPE[1:]), "f4", input_size=SIZE)


@pytest.mark.parametrize("op", ["nearest_exact", "nearest", "trilinear"])
def test_input_size_forward_is_compared(op):
    plan = up.Plan(op, SIZE, "f4", input_size=SIZE, output_size=SHAPE[2:])
    assert plan.out_shape == SHAPE
    with pytest.raises(up.ParameterError, match=r"wanted \(2, 3, 4, 5, 6\) as input has"):
        up.Plan(op, SIZE, "f4", input_size=(2, 3, 4, 5, 7), output_size=SHAPE[2:])
    with pytest.raises(up.ParameterError, match="an integer of 16610 bits, 3, 4, 5, 6"):
        up.Plan(op, (10**5000, *SIZE[1:]), "f4", input_size=SIZE, output_size=SHAPE[2:])


def test_a_name_that_compares_and_hashes_as_it_likes():
    class Name(str):
        __slots__ = ()

        def __eq__(self, other):
            return False

        def __hash__(self):
            raise RuntimeError

    x = np.arange(720, dtype=np.float32).reshape(SIZE)
    plan = up.Plan(Name("nearest"), SIZE, "f4", output_size=SHAPE[2:], rule=Name("torch"))
    assert plan == up.Plan("nearest", SIZE, "f4", output_size=SHAPE[2:], rule="torch")
    wanted = x.repeat(2, 2).repeat(2, 3).repeat(2, 4)
    assert np.array_equal(up.nearest(x, SHAPE[2:], rule=Name("torch")), wanted)
    with pytest.raises(up.ParameterError, match="wanted one of NCDHW, NDHWC"):
        up.nearest(x, SHAPE[2:], data_format=Name("NCHW"))


def test_a_plan_says_what_it_is():
    plan = up.Plan("nearest", SIZE, "f2", output_size=SHAPE[2:], num_threads=1)
    size = f"workspace_size={plan.workspace_size}"
    _, h, w = SHAPE[2:]
    how = f"W table, tile {h} x {w}, threads=1"
    assert repr(plan) == f"Plan('nearest', {SIZE} -> {SHAPE}, float16, NCDHW, {how}, {size})"
    assert "W pixels" in repr(up.Plan("trilinear", (1, 4, 4, 4, 40), "f4", output_size=(4, 4, 9),
                                     data_format="NDHWC"))  # fmt: skip
    assert "W copy" in repr(up.Plan("trilinear", SIZE, "f4", output_size=SIZE[2:]))
    nothing = up.Plan("nearest", (0, *SIZE[1:]), "f2", output_size=SHAPE[2:])
    assert repr(nothing).endswith("float16, NCDHW, workspace_size=0)")


@pytest.mark.parametrize("over", [0, 1])
def test_bytes_below_2_to_the_63(over):
    """2^30 * 2^30 * 2 floats are 2^63 bytes; one W less is fewer."""
    shape = (1, 1, 2**30, 2**30, 2)
    options = {"input_size": (1, 1, 1, 1, 1), "strides": (0,) * 5}
    if over:
        with pytest.raises(up.ParameterError, match="fewer than 2"):
            up.Plan("nearest_backward", shape, "f4", **options)
    else:
        spec = specify(Question("nearest_backward", (*shape[:4], 1), "f4", **options))
        assert math.prod(spec.source_shape) * 4 == 2**62


@pytest.mark.parametrize("op", ["nearest_exact", "nearest", "trilinear"])
def test_sizes_from_scales_are_rounded_down(op):
    """floor(5 * 1.5) = 7, floor(3 * 0.99) = 2 and floor(7 * 1.4) = 9."""
    y = getattr(up, op)(np.ones((1, 1, 5, 3, 7), np.float32), scales=(1.5, 0.99, 1.4))
    assert y.shape == (1, 1, 7, 2, 9)


@pytest.mark.parametrize("axis", [2, 3, 4])
def test_the_largest_size_of_an_axis(axis):
    shape = [1] * 5
    for size, fits in ((2**31 - 1, True), (2**31, False)):
        shape[axis] = size
        options = {"input_size": (1,) * 5, "strides": (0,) * 5}
        if fits:
            spec = specify(Question("nearest_backward", shape, "f4", **options))
            assert spec.source_shape[axis] == size
        else:
            with pytest.raises(up.ParameterError, match=f"is {size}, wanted 1 to {size - 1}"):
                specify(Question("nearest_backward", shape, "f4", **options))


# ---- Tensors ----


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


# ---- Where bytes lie ----


def offsets(shape, strides) -> np.ndarray:
    """Where every element begins, one by one."""
    where = [sum(map(int.__mul__, k, strides)) for k in itertools.product(*map(range, shape))]
    return np.sort(np.array(where, np.int64))


@pytest.mark.parametrize("stride", [-(2**63), 1 - 2**63, 2**63 - 1, 0, 7])
@pytest.mark.parametrize("axis", range(5))
@pytest.mark.parametrize("data_format", ["NCDHW", "NDHWC"])
def test_strides_of_axes_of_length_1_do_not_matter(data_format, axis, stride):
    def odd(array):
        strides = (*array.strides[:axis], stride, *array.strides[axis + 1 :])
        return np.lib.stride_tricks.as_strided(array, array.shape, strides)

    shape, space = [4, 3, 5, 2, 6], [2, 3, 4] if data_format == "NCDHW" else [1, 2, 3]
    shape[axis] = 1
    size = [n if k == axis else n + 1 for k, n in enumerate(shape) if k in space]
    x = np.random.default_rng(axis).random(shape, np.float32)
    for op in ("nearest", "trilinear"):
        wanted = getattr(up, op)(x, size, data_format=data_format)
        assert wanted.shape[axis] == 1
        out = np.zeros_like(wanted)
        view = odd(out)
        assert view.strides[axis] == odd(x).strides[axis] == stride
        got = getattr(up, op)(odd(x), size, data_format=data_format, out=view)
        assert got is view
        assert np.array_equal(out, wanted)
        plan = up.Plan(
            op, shape, "f4", output_size=size, data_format=data_format, strides=odd(x).strides,
            out_strides=view.strides,
        )  # fmt: skip
        out[:] = 0
        plan(odd(x), view, np.empty(plan.workspace_size, np.uint8))
        assert np.array_equal(out, wanted)
        assert np.array_equal(getattr(up, op)(odd(x), size, data_format=data_format), wanted)


@pytest.mark.parametrize("name", ["strides", "out_strides"])
def test_a_stride_without_absolute_value(name):
    """Longer axes have none of -2^63; one step would leave every memory."""
    options = {"output_size": (8, 10, 12), name: (-(2**63), 480, 96, 16, 4)}
    with pytest.raises(up.ParameterError, match=rf"{name}\[0\] is -9223372036854775808, wanted"):
        up.Plan("nearest", SIZE, "f4", **options)


STEPS = (0, 2, 4, 6, 8, 12, 16, 24, 48)


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (1, 4), (2, 2, 2), (1, 2, 3), (3, 1, 1)])
def test_dense_and_overlaps_against_every_element(shape):
    seen = set()
    for strides in itertools.product(STEPS, repeat=len(shape)):
        where = offsets(shape, strides)
        fills = np.array_equal(where, 4 * np.arange(len(where)))
        assert layout.dense(shape, strides, 4) == fills, strides
        apart = bool((np.diff(where) >= 4).all())
        refused = layout.overlaps_itself(shape, strides, 4)
        assert refused or apart, strides
        assert not (fills and refused), strides
        turned = tuple(-s for s in strides)
        assert layout.overlaps_itself(shape, turned, 4) == refused
        seen.add((fills, apart, refused))
    assert {(True, True, False), (False, True, False), (False, False, True)} <= seen


def test_rows_beyond_32_bits_have_no_table():
    """A table counts elements of a row, channels included, in 32 bits."""
    for channels, fits in ((1, True), (2, False), (3, False)):
        sources = 2**30
        lo = np.arange(sources - 8, sources)
        band = up.Band(lo, lo + 1, np.arange(9), None, sources)
        shape, strides = (1, channels, 1, 1, sources), (0, 4, 0, 0, 4 * channels)
        lies = layout.arrange(0, 4, shape, strides, (*shape[:4], 8), strides)
        assert lies.pixel == channels
        assert w_pass.fits_table(band, lies, 4, copy=False) == fits


# ---- Cores ----


@pytest.mark.parametrize(
    ("quota", "cores"), [(math.inf, 6), (1.5, 2), (2, 2), (0.5, 1), (0.001, 1), (99, 6)]
)
def test_a_quota_is_rounded_up(quota, cores, monkeypatch):
    monkeypatch.setattr(schedule, "_quota", lambda: quota)
    monkeypatch.setattr(schedule.cpu, "processors", lambda: 6)
    assert schedule._cores() == cores


def test_without_openmp_affinity_counts_or_all_cores(monkeypatch):
    monkeypatch.setattr(schedule, "_quota", lambda: math.inf)
    monkeypatch.setattr(schedule.cpu, "processors", lambda: 0)
    monkeypatch.setattr(schedule.os, "sched_getaffinity", lambda _: range(5))
    assert schedule._cores() == 5
    monkeypatch.delattr(schedule.os, "sched_getaffinity")
    for count, cores in ((12, 12), (None, 1)):
        monkeypatch.setattr(schedule.os, "cpu_count", lambda count=count: count)
        assert schedule._cores() == cores


# ---- Files ----


def test_nifti_without_nibabel(tmp_path, monkeypatch):
    (tmp_path / "x.nii").write_bytes(b"")
    monkeypatch.setitem(__import__("sys").modules, "nibabel", None)
    with pytest.raises(ModuleNotFoundError, match=r"x\.nii: NIfTI wants nibabel"):
        volumes.read(tmp_path / "x.nii")


# ---- SCH_ID ----


@pytest.mark.parametrize(("sch_id", "planes"), [(1, 6), (2, 2), (3, 1)])
def test_planes_of_a_unit(sch_id, planes):
    """N * C of them, N, or one: N is 2, C is 3."""
    plan = up.Plan("nearest_backward", SHAPE, "f4", input_size=SIZE, schedule=sch_id)
    assert plan.schedule.inner == planes
    assert plan.schedule.inner * plan.schedule.groups == 6


@pytest.mark.parametrize("axis", [2, 3, 4])
def test_0_is_refused_where_any_axis_differs(axis):
    size = list(SHAPE)
    size[axis] -= 1
    with pytest.raises(up.ParameterError, match="schedule is 0, a copy"):
        up.nearest_backward(np.ones(SHAPE, np.float32), size, schedule=0)


@pytest.mark.parametrize("count", [16_383, 16_384, 16_385, 40_000, 3 * 16_384 + 1])
def test_a_copy_of_any_length(count):
    """A copy is cut into 64 KiB."""
    x = np.random.default_rng(2).random((1, 1, 1, 1, count), np.float32)
    out = np.full_like(x, 7)
    assert up.nearest_backward(x, x.shape, out=out, schedule=0).tobytes() == x.tobytes()
