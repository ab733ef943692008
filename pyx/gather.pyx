# SPDX-License-Identifier: Apache-2.0
"""The kernel: unit number -> (plane, h tile, w tile, d) -> a tile of results, summed or copied."""

from cpython.exc cimport PyErr_CheckSignals
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.time cimport monotonic
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy, memset

from upsample3d.kernel.cpu import max_threads

from job cimport (COLUMN_BYTES, FLOAT32, FLOAT64, IDENTITY, SUM, W_COLUMNS, W_PIXELS, W_TABLE,
                  band_t, job_t, magic_of, magic_quotient, magic_t, strides_t, table_t)
from rows cimport (clear_rows, copy_row, enter_default_mode, fenv_t, move_row, pack_slabs, padded,
                   prefetch_some, prefetch_t, restore_mode, round_columns, round_row,
                   stream_bytes, stream_end, sum_band, sum_rows, table_copy, table_pass,
                   to_columns, vector_lanes)

# Seconds of work between two polls of signals, estimated from the last chunk.
cdef double SIGNAL_POLL_SECONDS = 0.05


ctypedef fused acc_t:
    float
    double


# The addresses of a call's arrays.
cdef struct arrays_t:
    const char *source
    char *result
    char *workspace


# The work between two polls of signals: planes first_plane..last_plane of units first..last.
cdef struct chunk_t:
    int64_t first, last, first_plane, last_plane


# Results h0..h1 x w0..w1 at one d of one plane.
cdef struct tile_t:
    int64_t plane, h0, h1, w0, w1, d


cdef inline int64_t source_end(const band_t *band, int64_t last) noexcept nogil:
    """One past the last source of the results before `last`."""
    return band.lo[last - 1] + band.start[last] - band.start[last - 1]


cdef inline bint in_one_run(const job_t *job, int64_t cols) noexcept nogil:
    """Whether `cols` columns of consecutive source rows are contiguous."""
    return job.source_row and cols * job.pixel * job.itemsize == job.source.h


cdef void deliver_rows(const job_t *job, char *result, const char *lines, int64_t line_bytes,
                       int64_t count, int64_t w) noexcept nogil:
    """Moves finished rows to the result: past the cache, or with its strides."""
    if job.stream and line_bytes == job.result.h:
        stream_bytes(result, lines, count * line_bytes)
        return
    for _ in range(count):
        if job.stream:
            stream_bytes(result, lines, line_bytes)
        else:
            move_row(result, job.result.w, job.result.element, lines, job.pixel * job.itemsize,
                     job.itemsize, w, job.pixel, job.itemsize)
        result += job.result.h
        lines += line_bytes


include "pack.pxi"
include "sum.pxi"
include "copy.pxi"


# ---- From a unit's number to its tiles ----

cdef int64_t divide(int64_t *number, magic_t by, int64_t divisor) noexcept nogil:
    """The remainder of number by divisor; number becomes the quotient."""
    cdef int64_t quotient = <int64_t>magic_quotient(by, <uint64_t>number[0])
    cdef int64_t remainder = number[0] - quotient * divisor
    number[0] = quotient
    return remainder


cdef tile_t tile_of(const job_t *job, int64_t unit) noexcept nogil:
    """Unit ((group, h tile), w tile), d: the tile in the group's first plane."""
    cdef tile_t tile
    tile.d = divide(&unit, job.by_d, job.d.results)
    tile.w0 = divide(&unit, job.by_tiles_w, job.tiles_w) * job.tile_w
    tile.h0 = divide(&unit, job.by_tiles_h, job.tiles_h) * job.tile_h
    tile.w1 = min(tile.w0 + job.tile_w, job.w.results)
    tile.h1 = min(tile.h0 + job.tile_h, job.h.results)
    tile.plane = unit
    return tile


cdef int64_t place(const job_t *job, const strides_t *strides, int64_t plane) noexcept nogil:
    """A plane's offset in its array, in bytes."""
    cdef int64_t n = plane, c = divide(&n, job.by_channels, job.channels)
    return n * strides.n + c * strides.c


cdef prefetch_t prefetch_of(const job_t *job, const char *source, int64_t unit,
                            int64_t rows) noexcept nogil:
    """The new slabs of the unit's tile, to be prefetched while `rows` result rows are finished.

    Slabs of the same tile at d - 1 are in the cache; if d is 0, all are new.
    """
    cdef tile_t tile = tile_of(job, unit)
    cdef int64_t h_lo = job.h.lo[tile.h0], rows_read = source_end(&job.h, tile.h1) - h_lo
    cdef int64_t cols = source_end(&job.w, tile.w1) - job.w.lo[tile.w0]
    cdef int64_t size = rows_read * job.source.h
    cdef int64_t first = source_end(&job.d, tile.d) if tile.d > 0 else job.d.lo[0]
    cdef int64_t slabs = source_end(&job.d, tile.d + 1) - first
    if slabs * size > job.prefetch_bytes or not in_one_run(job, cols):
        slabs = 0
    source += place(job, &job.origin, tile.plane) + first * job.source.d + h_lo * job.source.h
    return prefetch_t(source, 0, size, slabs, job.source.d, slabs * size // rows + 1)


cdef void do_unit(const job_t *job, const arrays_t *arrays, const chunk_t *chunk, char *scratch,
                  int64_t unit, int64_t end, packed_t *packed) noexcept nogil:
    """The unit's tile in the chunk's planes; the unit's are group, group + groups, ...

    end: where the thread's units end.
    """
    cdef tile_t tile = tile_of(job, unit)
    cdef prefetch_t prefetch = prefetch_t(NULL, 0, 0, 0, 0, 0)
    cdef int64_t _plane
    cdef const char *plane_source
    cdef char *plane_result
    if job.d.kind == SUM and job.inner == 1 and unit + 1 < end:
        prefetch = prefetch_of(job, arrays.source, unit + 1, tile.h1 - tile.h0)
    tile.plane += chunk.first_plane * job.groups
    for _plane in range(chunk.first_plane, chunk.last_plane):
        plane_source = arrays.source + place(job, &job.origin, tile.plane)
        if job.pack:
            plane_source = pack_tile(job, plane_source, scratch, tile, packed)
        plane_result = arrays.result + place(job, &job.result, tile.plane)
        if job.copy:
            copy_tile(job, plane_source, plane_result, scratch, tile)
        elif job.dtype == FLOAT64:
            sum_tile(job, plane_source, plane_result, <double *>scratch, tile, &prefetch)
        else:
            sum_tile(job, plane_source, plane_result, <float *>scratch, tile, &prefetch)
        tile.plane += job.groups


# ---- Threads ----

cdef void share(const job_t *job, const arrays_t *arrays, const chunk_t *chunk, int64_t thread,
                int64_t threads) noexcept nogil:
    """One thread's contiguous part of a chunk's units."""
    cdef int64_t unit, count = chunk.last - chunk.first
    cdef int64_t begin = chunk.first + count * thread // threads
    cdef int64_t end = chunk.first + count * (thread + 1) // threads
    cdef char *scratch = arrays.workspace + thread * job.scratch.size
    cdef packed_t packed = packed_t(0, 0)
    cdef fenv_t found
    if job.copy_bytes:
        begin, end = begin * job.copy_unit, min(end * job.copy_unit, job.copy_bytes)
        memcpy(arrays.result + begin, arrays.source + begin, end - begin)
        return
    found = enter_default_mode()
    for unit in range(begin, end):
        do_unit(job, arrays, chunk, scratch, unit, end, &packed)
    restore_mode(found)
    if job.stream:
        stream_end()


# ---- Python's side ----

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
    """The address of an array's first element, or the given one. The array must outlive its use."""
    if isinstance(array, int):
        return <void *><uintptr_t>array
    capsule = array.__array_struct__
    return (<array_interface_t *>PyCapsule_GetPointer(capsule, NULL)).data


cdef bint byte_extent(array, int flags, uintptr_t *ends) except -1:
    """Sets where an array's bytes begin and end; True if it has the flags, elements, no objects."""
    capsule = array.__array_struct__
    cdef array_interface_t *it = <array_interface_t *>PyCapsule_GetPointer(capsule, NULL)
    cdef Py_ssize_t extent
    cdef int axis
    ends[0] = <uintptr_t>it.data
    ends[1] = ends[0] + it.itemsize
    for axis in range(it.nd):
        extent = (it.shape[axis] - 1) * it.strides[axis]
        if it.shape[axis] == 0:
            return False
        ends[extent > 0] += extent
    return it.flags & flags == flags and it.typekind != b"O"


cdef void set_band(band_t *to, band, list arrays) except *:
    to.results = len(band.lo)
    to.lo = <const int64_t *>address(band.lo)
    to.start = <const int64_t *>address(band.start)
    to.w = NULL if band.w is None else address(band.w)
    to.kind, to.covered = band.kind, band.covered
    arrays += [band.lo, band.start, band.w]


cdef void set_table(table_t *to, table, int64_t pixel, list arrays) except *:
    to.terms, to.stride, to.step = len(table.w), len(table.first), pixel
    to.first = <const int32_t *>address(table.first)
    to.w = <const float *>address(table.w)
    to.smallest = to.largest = NULL
    to.byte = NULL
    if pixel > 1:
        to.smallest = <const int32_t *>address(table.smallest)
        to.largest = <const int32_t *>address(table.largest)
    if table.byte is not None:
        to.byte = <const uint8_t *>address(table.byte)
    arrays += table


cdef strides_t strides_of(tuple bytes_) except *:
    cdef strides_t strides
    strides.n, strides.c, strides.d, strides.h, strides.w, strides.element = bytes_
    return strides


cdef class Job:
    """A plan in numbers, ready to run; job.h documents each."""

    cdef job_t job
    cdef list arrays  # the bands' arrays: the job points into them

    def __cinit__(self, bands, layout, schedule):
        cdef job_t *job = &self.job
        self.arrays = []
        set_band(&job.d, bands[0], self.arrays)
        set_band(&job.h, bands[1], self.arrays)
        set_band(&job.w, bands[2], self.arrays)
        job.dtype, job.itemsize = layout.dtype, layout.itemsize
        job.planes, job.channels, job.pixel = layout.planes, layout.channels, layout.pixel
        job.origin, job.result = strides_of(layout.source), strides_of(layout.result)
        job.result_row = layout.result_row
        job.copy_bytes, job.copy_unit = schedule.copy_bytes, schedule.copy_unit
        job.inner, job.groups = schedule.inner, schedule.groups
        job.units, job.chunk = schedule.units, schedule.chunk
        tiles = schedule.tiles
        job.source, job.pack = job.origin, tiles.pack
        job.source_row = layout.source_row or tiles.pack > 0
        if tiles.pack:
            job.source.element, job.source.w = job.itemsize, job.pixel * job.itemsize
            job.source.h, job.source.d = tiles.pack_row, tiles.pack_slab
        job.copy, job.skip_d = tiles.copy, tiles.skip_d
        job.h_writes, job.pad_row = tiles.h_writes, tiles.pad_row
        job.prefetch_bytes = tiles.prefetch_bytes
        job.prefetch_distance = tiles.prefetch_distance
        job.rows_together, job.stream = tiles.rows_together, tiles.stream
        job.w_form = tiles.form.w_form
        if job.w_form == W_TABLE:
            table = tiles.form.table(bands[2], job.pixel, job.itemsize, vector_lanes)
            set_table(&job.table, table, job.pixel, self.arrays)
        job.tile_h, job.tiles_h = tiles.tile_h, tiles.tiles_h
        job.tile_w, job.tiles_w = tiles.tile_w, tiles.tiles_w
        job.h_split, job.w_split = tiles.h_split, tiles.w_split
        (job.scratch.block, job.scratch.rows, job.scratch.columns, job.scratch.sums,
         job.scratch.packed, job.scratch.lines, job.scratch.size) = tiles.scratch
        cdef uint32_t width = 32 if max(job.units, job.planes) < 1 << 32 else 64
        job.by_d = magic_of(job.d.results, width)
        job.by_tiles_w = magic_of(job.tiles_w, width)
        job.by_tiles_h = magic_of(job.tiles_h, width)
        job.by_channels = magic_of(job.channels, width)

    def disjoint(self, source, result, workspace, uintptr_t size):
        """Whether result and workspace are writable, and no two of the three extents overlap.

        If False, look closer: interleaved arrays, for example, are disjoint too.
        """
        cdef uintptr_t[2] s
        cdef uintptr_t[2] r
        cdef uintptr_t[2] w
        return (
            byte_extent(source, 0, s) and byte_extent(result, ALIGNED | WRITEABLE, r)
            and byte_extent(workspace, CONTIGUOUS | WRITEABLE, w) and w[1] - w[0] >= size
            and (s[1] <= r[0] or r[1] <= s[0]) and (s[1] <= w[0] or w[1] <= s[0])
            and (r[1] <= w[0] or w[1] <= r[0])
        )

    def run(self, source, result, workspace, int threads):
        """Fills result from source, arrays or addresses; polls signals between chunks.

        A chunk is some units, or some planes of one unit per thread. The first has the plan's
        size; its time sets the size of the next one, at most three times as large.
        """
        cdef const job_t *job = &self.job
        cdef arrays_t arrays = arrays_t(NULL, NULL, NULL)
        cdef chunk_t chunk = chunk_t(0, 0, 0, 0)
        cdef int64_t size = job.chunk
        cdef double begin, pace
        cdef bint ends = False
        cdef int thread
        arrays.source, arrays.result = <const char *>address(source), <char *>address(result)
        if workspace is not None:
            arrays.workspace = <char *>((<uintptr_t>address(workspace) + 63) & ~<uintptr_t>63)
        while not ends:
            if chunk.first_plane == 0:
                chunk.last = min(chunk.first + max(threads, size // job.inner), job.units)
            chunk.last_plane = min(chunk.first_plane + max(1, size // threads), job.inner)
            ends = chunk.last == job.units and chunk.last_plane == job.inner
            begin = 0.0 if ends else monotonic()
            if threads > 1:  # a signal's handler may have forked since
                threads = min(threads, <int>max_threads())
            with nogil:
                if threads == 1:  # a team of one costs 0.45 us
                    share(job, &arrays, &chunk, 0, 1)
                else:
                    for thread in prange(threads, num_threads=threads, schedule="static",
                                         chunksize=1):
                        share(job, &arrays, &chunk, thread, threads)
            if not ends:
                PyErr_CheckSignals()
                pace = SIGNAL_POLL_SECONDS / max(monotonic() - begin, 1e-9)
                size = <int64_t>min(max(size * min(max(pace, 0.1), 3.0), 1.0), 1e15)
            if chunk.last_plane == job.inner:
                chunk.first, chunk.first_plane = chunk.last, 0
            else:
                chunk.first_plane = chunk.last_plane


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
