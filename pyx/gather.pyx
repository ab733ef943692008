# SPDX-License-Identifier: Apache-2.0
"""The kernel: unit number -> (plane, h run, w run, d) -> a tile of the result, summed or picked."""

from cpython.exc cimport PyErr_CheckSignals
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.time cimport monotonic
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy, memset

from upsample3d.kernel.cpu import max_threads

from job cimport (COLUMN_BYTES, FLOAT32, FLOAT64, SAME, SUM, W_COLUMNS, W_LANES, W_LOOKUP,
                  band_t, job_t, lookup_t, magic_of, magic_quotient, magic_t, strides_t)
from rows cimport (ahead_t, clear_rows, enter_default_mode, fenv_t, look_up_rows, move_row,
                   pack_slabs, padded, pick_lanes, pick_row, read_ahead, restore_mode,
                   round_columns, round_row, stream_bytes, stream_end, sum_band, sum_rows,
                   to_columns, vector_lanes)

# Seconds of work between two looks at pending signals, as near as one stretch foretells the next.
cdef double STRETCH_SECONDS = 0.05


ctypedef fused real_t:
    float
    double


# Where a call's arrays begin.
cdef struct arrays_t:
    const char *source
    char *result
    char *workspace


# What is done between two looks at pending signals: planes walk..walked of units first..last.
cdef struct stretch_t:
    int64_t first, last, walk, walked


# Results h0..h1 x w0..w1 at one d of one plane.
cdef struct tile_t:
    int64_t plane, h0, h1, w0, w1, d


cdef inline int64_t source_end(const band_t *band, int64_t last) noexcept nogil:
    """One past the last source that results before `last` reach."""
    return band.lo[last - 1] + band.start[last] - band.start[last - 1]


cdef inline bint in_one_run(const job_t *job, int64_t cols) noexcept nogil:
    """Whether `cols` columns of consecutive source rows are contiguous."""
    return job.source_row and cols * job.lanes * job.itemsize == job.source.h


cdef void deliver_rows(const job_t *job, char *result, const char *lines, int64_t line_bytes,
                       int64_t count, int64_t w) noexcept nogil:
    """Moves finished rows to where they belong: past the cache, or with the result's strides."""
    if job.stream and line_bytes == job.result.h:
        stream_bytes(result, lines, count * line_bytes)
        return
    for _ in range(count):
        if job.stream:
            stream_bytes(result, lines, line_bytes)
        else:
            move_row(result, job.result.w, job.result.lane, lines, job.lanes * job.itemsize,
                     job.itemsize, w, job.lanes, job.itemsize)
        result += job.result.h
        lines += line_bytes


include "pack.pxi"
include "sum.pxi"
include "pick.pxi"


# ---- From a unit's number to its tiles ----

cdef int64_t divide(int64_t *number, magic_t by, int64_t divisor) noexcept nogil:
    """The remainder of number by divisor; number becomes the quotient."""
    cdef int64_t quotient = <int64_t>magic_quotient(by, <uint64_t>number[0])
    cdef int64_t remainder = number[0] - quotient * divisor
    number[0] = quotient
    return remainder


cdef tile_t tile_of(const job_t *job, int64_t unit) noexcept nogil:
    """Unit ((group, h run), w run), d: a tile of plane `group`, which stands for all of them."""
    cdef tile_t tile
    tile.d = divide(&unit, job.by_d, job.d.results)
    tile.w0 = divide(&unit, job.by_w_runs, job.w_runs) * job.w_run
    tile.h0 = divide(&unit, job.by_h_runs, job.h_runs) * job.h_run
    tile.w1 = min(tile.w0 + job.w_run, job.w.results)
    tile.h1 = min(tile.h0 + job.h_run, job.h.results)
    tile.plane = unit
    return tile


cdef int64_t place(const job_t *job, const strides_t *strides, int64_t plane) noexcept nogil:
    """Bytes from an array's beginning to a plane's."""
    cdef int64_t n = plane, c = divide(&n, job.by_channels, job.channels)
    return n * strides.n + c * strides.c


cdef ahead_t slabs_ahead(const job_t *job, const char *source, int64_t unit,
                         int64_t rows) noexcept nogil:
    """What the unit's tile reads and the tile before it does not, to be asked for over `rows` rows.

    The tile before it is the same one at d - 1, unless d is 0.
    """
    cdef tile_t tile = tile_of(job, unit)
    cdef int64_t h_lo = job.h.lo[tile.h0], rows_read = source_end(&job.h, tile.h1) - h_lo
    cdef int64_t cols = source_end(&job.w, tile.w1) - job.w.lo[tile.w0]
    cdef int64_t size = rows_read * job.source.h
    cdef int64_t first = source_end(&job.d, tile.d) if tile.d > 0 else job.d.lo[0]
    cdef int64_t slabs = source_end(&job.d, tile.d + 1) - first
    if slabs * size > job.ahead or not in_one_run(job, cols):
        slabs = 0
    source += place(job, &job.origin, tile.plane) + first * job.source.d + h_lo * job.source.h
    return ahead_t(source, 0, size, slabs, job.source.d, slabs * size // rows + 1)


cdef void do_unit(const job_t *job, const arrays_t *arrays, const stretch_t *stretch, char *scratch,
                  int64_t unit, int64_t end, packed_t *packed) noexcept nogil:
    """The unit's tile, in those of planes group, group + groups ... that the stretch walks.

    The thread's units end at `end`.
    """
    cdef tile_t tile = tile_of(job, unit)
    cdef ahead_t ahead = ahead_t(NULL, 0, 0, 0, 0, 0)
    cdef int64_t _plane
    cdef const char *plane_source
    cdef char *plane_result
    if job.d.kind == SUM and job.inner == 1 and unit + 1 < end:
        ahead = slabs_ahead(job, arrays.source, unit + 1, tile.h1 - tile.h0)
    tile.plane += stretch.walk * job.groups
    for _plane in range(stretch.walk, stretch.walked):
        plane_source = arrays.source + place(job, &job.origin, tile.plane)
        if job.pack:
            plane_source = pack_tile(job, plane_source, scratch, tile, packed)
        plane_result = arrays.result + place(job, &job.result, tile.plane)
        if job.pick:
            pick_tile(job, plane_source, plane_result, scratch, tile)
        elif job.dtype == FLOAT64:
            sum_tile(job, plane_source, plane_result, <double *>scratch, tile, &ahead)
        else:
            sum_tile(job, plane_source, plane_result, <float *>scratch, tile, &ahead)
        tile.plane += job.groups


# ---- Threads ----

cdef void share(const job_t *job, const arrays_t *arrays, const stretch_t *stretch, int64_t thread,
                int64_t threads) noexcept nogil:
    """One thread's contiguous part of a stretch's units."""
    cdef int64_t unit, count = stretch.last - stretch.first
    cdef int64_t begin = stretch.first + count * thread // threads
    cdef int64_t end = stretch.first + count * (thread + 1) // threads
    cdef char *scratch = arrays.workspace + thread * job.scratch.size
    cdef packed_t packed = packed_t(0, 0)
    cdef fenv_t found
    if job.copy_bytes:
        begin, end = begin * job.copy_unit, min(end * job.copy_unit, job.copy_bytes)
        memcpy(arrays.result + begin, arrays.source + begin, end - begin)
        return
    found = enter_default_mode()
    for unit in range(begin, end):
        do_unit(job, arrays, stretch, scratch, unit, end, &packed)
    restore_mode(found)
    if job.stream:
        stream_end()


# ---- The door ----

cdef extern from *:
    """
    /* What __array_struct__ holds: numpy.org/doc/stable/reference/arrays.interface.html */
    typedef struct {
        int two, nd;
        char typekind;
        int itemsize, flags;
        Py_ssize_t *shape, *strides;
        void *data;
        PyObject *descr;
    } array_interface_t;
    enum { CONTIGUOUS = 0x1, ALIGNED = 0x100, WRITEABLE = 0x400 };
    """
    enum: CONTIGUOUS, ALIGNED, WRITEABLE
    ctypedef struct array_interface_t:
        int nd
        char typekind
        int itemsize, flags
        Py_ssize_t *shape
        Py_ssize_t *strides
        void *data


cdef void *address(array) except? NULL:
    """Where an array's first element lies, or a number says it does. It must outlive the use."""
    if isinstance(array, int):
        return <void *><uintptr_t>array
    capsule = array.__array_struct__
    return (<array_interface_t *>PyCapsule_GetPointer(capsule, NULL)).data


cdef bint reaches(array, int flags, uintptr_t *ends) except -1:
    """Where an array's bytes begin and end; whether it has these flags and elements, no objects."""
    capsule = array.__array_struct__
    cdef array_interface_t *it = <array_interface_t *>PyCapsule_GetPointer(capsule, NULL)
    cdef Py_ssize_t reach
    cdef int axis
    ends[0] = <uintptr_t>it.data
    ends[1] = ends[0] + it.itemsize
    for axis in range(it.nd):
        reach = (it.shape[axis] - 1) * it.strides[axis]
        if it.shape[axis] == 0:
            return False
        ends[reach > 0] += reach
    return it.flags & flags == flags and it.typekind != b"O"


cdef void set_band(band_t *to, band, list arrays) except *:
    to.results = len(band.lo)
    to.lo = <const int64_t *>address(band.lo)
    to.start = <const int64_t *>address(band.start)
    to.w = NULL if band.w is None else address(band.w)
    to.kind, to.reached = band.kind, band.reached
    arrays += [band.lo, band.start, band.w]


cdef void set_table(lookup_t *to, tuple table, int64_t lanes, list arrays) except *:
    first, w, least, most = table
    to.terms, to.stride, to.step = len(w), len(first), lanes
    to.first = <const int32_t *>address(first)
    to.w = <const float *>address(w)
    to.least = to.most = NULL
    to.byte = NULL
    if lanes > 1:
        to.least = <const int32_t *>address(least)
        to.most = <const int32_t *>address(most)
    arrays += [first, w, least, most]


cdef strides_t strides_of(tuple bytes_) except *:
    cdef strides_t strides
    strides.n, strides.c, strides.d, strides.h, strides.w, strides.lane = bytes_
    return strides


cdef class Job:
    """A plan in numbers, ready to run: see job.h for what each is."""

    cdef job_t job
    cdef list arrays  # the bands' arrays: the job points into them

    def __cinit__(self, bands, layout, schedule):
        cdef job_t *job = &self.job
        self.arrays = []
        set_band(&job.d, bands[0], self.arrays)
        set_band(&job.h, bands[1], self.arrays)
        set_band(&job.w, bands[2], self.arrays)
        job.dtype, job.itemsize = layout.dtype, layout.itemsize
        job.planes, job.channels, job.lanes = layout.planes, layout.channels, layout.lanes
        job.origin, job.result = strides_of(layout.source), strides_of(layout.result)
        job.result_row = layout.result_row
        job.copy_bytes, job.copy_unit = schedule.copy_bytes, schedule.copy_unit
        job.inner, job.groups = schedule.inner, schedule.groups
        job.units, job.stretch = schedule.units, schedule.stretch
        tiles = schedule.tiles
        job.source, job.pack = job.origin, tiles.pack
        job.source_row = layout.source_row or tiles.pack > 0
        if tiles.pack:
            job.source.lane, job.source.w = job.itemsize, job.lanes * job.itemsize
            job.source.h, job.source.d = tiles.pack_row, tiles.pack_slab
        job.pick, job.in_place = tiles.pick, tiles.in_place
        job.own_rows, job.ahead = tiles.own_rows, tiles.ahead
        job.row_ahead = tiles.row_ahead
        job.w_form, job.group, job.stream = tiles.w_form, tiles.group, tiles.stream
        if job.w_form == W_LOOKUP:
            set_table(&job.table, bands[2].table(job.lanes, vector_lanes), job.lanes,
                      self.arrays)
        if tiles.shuffled:
            places = bands[2].byte_places(job.itemsize)
            job.table.byte = <const uint8_t *>address(places)
            self.arrays.append(places)
        job.h_run, job.h_runs = tiles.h_run, tiles.h_runs
        job.w_run, job.w_runs = tiles.w_run, tiles.w_runs
        job.h_piece, job.w_piece = tiles.h_piece, tiles.w_piece
        (job.scratch.block, job.scratch.rows, job.scratch.columns, job.scratch.sums,
         job.scratch.packed, job.scratch.lines, job.scratch.size) = tiles.scratch
        cdef uint32_t width = 32 if max(job.units, job.planes) < 1 << 32 else 64
        job.by_d = magic_of(job.d.results, width)
        job.by_w_runs = magic_of(job.w_runs, width)
        job.by_h_runs = magic_of(job.h_runs, width)
        job.by_channels = magic_of(job.channels, width)

    def apart(self, source, result, workspace, uintptr_t size):
        """Whether result and workspace can be written, and all lie in stretches of their own.

        False asks for a closer look: arrays may be interleaved, for example.
        """
        cdef uintptr_t[2] s
        cdef uintptr_t[2] r
        cdef uintptr_t[2] w
        return (
            reaches(source, 0, s) and reaches(result, ALIGNED | WRITEABLE, r)
            and reaches(workspace, CONTIGUOUS | WRITEABLE, w) and w[1] - w[0] >= size
            and (s[1] <= r[0] or r[1] <= s[0]) and (s[1] <= w[0] or w[1] <= s[0])
            and (r[1] <= w[0] or w[1] <= r[0])
        )

    def run(self, source, result, workspace, int threads):
        """Fills result from source, arrays or addresses; between stretches, signals are heard.

        A stretch is some units, or some planes of a unit for each thread. The first has the plan's
        size; how long it took says how large the next one is, at most three times as large.
        """
        cdef const job_t *job = &self.job
        cdef arrays_t arrays = arrays_t(NULL, NULL, NULL)
        cdef stretch_t stretch = stretch_t(0, 0, 0, 0)
        cdef int64_t size = job.stretch
        cdef double begin, pace
        cdef bint ends = False
        cdef int thread
        arrays.source, arrays.result = <const char *>address(source), <char *>address(result)
        if workspace is not None:
            arrays.workspace = <char *>((<uintptr_t>address(workspace) + 63) & ~<uintptr_t>63)
        while not ends:
            if stretch.walk == 0:
                stretch.last = min(stretch.first + max(threads, size // job.inner), job.units)
            stretch.walked = min(stretch.walk + max(1, size // threads), job.inner)
            ends = stretch.last == job.units and stretch.walked == job.inner
            begin = 0.0 if ends else monotonic()
            if threads > 1:  # a signal's handler may have forked since they were counted
                threads = min(threads, <int>max_threads())
            with nogil:
                if threads == 1:  # a team of one costs 0.45 us
                    share(job, &arrays, &stretch, 0, 1)
                else:
                    for thread in prange(threads, num_threads=threads, schedule="static",
                                         chunksize=1):
                        share(job, &arrays, &stretch, thread, threads)
            if not ends:
                PyErr_CheckSignals()
                pace = STRETCH_SECONDS / max(monotonic() - begin, 1e-9)
                size = <int64_t>min(max(size * min(max(pace, 0.1), 3.0), 1.0), 1e15)
            if stretch.walked == job.inner:
                stretch.first, stretch.walk = stretch.last, 0
            else:
                stretch.walk = stretch.walked


def magic(uint64_t divisor, uint32_t width):
    """The (multiplier, shift) that divide by `divisor` in `width` bits (32 or 64)."""
    cdef magic_t found = magic_of(divisor, width)
    return found.multiplier, found.shift


def quotients(const uint64_t[::1] numbers, uint64_t divisor, uint32_t width, uint64_t[::1] result):
    """result[i] = numbers[i] // divisor, by the magic of `width` bits."""
    cdef magic_t by = magic_of(divisor, width)
    cdef Py_ssize_t i
    for i in range(numbers.shape[0]):
        result[i] = magic_quotient(by, numbers[i])
