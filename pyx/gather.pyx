# SPDX-License-Identifier: Apache-2.0
"""The kernel: unit number -> (plane, h run, w run, d) -> a tile of the result."""

from cpython.exc cimport PyErr_CheckSignals
from cpython.pycapsule cimport PyCapsule_GetPointer
from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy

from job cimport (COLUMN_BYTES, FLOAT32, FLOAT64, PICK, SUM, W_COLUMNS, W_NONE, band_t, job_t,
                  magic_of, magic_quotient, magic_t, strides_t)
from rows cimport (enter_default_mode, fenv_t, move_row, restore_mode, round_columns, round_row,
                   stream_bytes, stream_end, sum_band, sum_rows, to_columns)

ctypedef fused real_t:
    float
    double


# ---- One tile: results h0..h1 x w0..w1 at one d of one plane ----

cdef inline int64_t source_end(const band_t *band, int64_t last) noexcept nogil:
    """One past the last source that results before `last` reach."""
    return band.lo[last - 1] + band.start[last] - band.start[last - 1]


cdef void sum_slabs(const job_t *job, real_t *block, const char *source, char *packed, int64_t d,
                    int64_t rows, int64_t cols) noexcept nogil:
    """block[row, col] = sum_d w_d source[d, row, col]: in one run if memory has it, else rows."""
    cdef int64_t start = job.d.start[d], terms = job.d.start[d + 1] - start
    cdef const real_t *w = <const real_t *>job.d.w + start if job.d.w else NULL
    cdef int64_t width = cols * job.lanes, _row, t
    if job.source_slab and width * job.itemsize == job.source.h:
        sum_rows(block, source, job.dtype, job.source.d, terms, w, rows * width, False)
        return
    for _row in range(rows):
        if job.source_row or terms == 0:
            sum_rows(block, source, job.dtype, job.source.d, terms, w, width, False)
        else:
            for t in range(terms):
                move_row(packed, job.lanes * job.itemsize, job.itemsize, source + t * job.source.d,
                         job.source.w, job.source.lane, cols, job.lanes, job.itemsize)
                sum_rows(block, packed, job.dtype, 0, 1, w + t if w else NULL, width, t > 0)
        block += width
        source += job.source.h


cdef void along_w(const job_t *job, char *target, int64_t target_stride, const real_t *rows,
                  int64_t stride, char *scratch, int64_t count, int64_t w0,
                  int64_t w1) noexcept nogil:
    """target[r, w] = sum_w w_w rows[r, w], rounded, for r < count; in place where reals fit."""
    cdef real_t *columns = <real_t *>(scratch + job.scratch.columns)
    cdef real_t *sums = <real_t *>(scratch + job.scratch.sums)
    cdef bint in_place = job.itemsize == <int64_t>sizeof(real_t)
    cdef int64_t width = (source_end(&job.w, w1) - job.w.lo[w0]) * job.lanes
    cdef int64_t lane_bytes = job.lanes * <int64_t>sizeof(real_t), n = (w1 - w0) * job.lanes, _r

    if job.w_form == W_COLUMNS:
        to_columns(columns, rows, stride, count, width)
        sum_band(sums, job.lanes * COLUMN_BYTES, columns, job.lanes * COLUMN_BYTES, &job.w, w0, w1,
                 job.lanes * COLUMN_BYTES // <int64_t>sizeof(real_t))
        round_columns(target, job.dtype, target_stride, sums, count, n)
        return
    for _r in range(count):
        if job.w_form == W_NONE:
            round_row(target, job.dtype, rows, n)
        elif in_place:
            sum_band(<real_t *>target, lane_bytes, rows, lane_bytes, &job.w, w0, w1, job.lanes)
        else:
            sum_band(sums, lane_bytes, rows, lane_bytes, &job.w, w0, w1, job.lanes)
            round_row(target, job.dtype, sums, n)
        target += target_stride
        rows = <const real_t *>(<const char *>rows + stride)


cdef void along_h(const job_t *job, char *target, int64_t target_stride, const real_t *rows,
                  int64_t stride, char *scratch, int64_t h, int64_t count,
                  int64_t w0, int64_t w1) noexcept nogil:
    """target[r, w] = sum_w w_w sum_h w_h rows[h, w], rounded, for `count` results from h on.

    A pass with nothing to add hands on what it got; the last pass writes into the target itself
    where reals are what the target holds.
    """
    cdef real_t *own = <real_t *>(scratch + job.scratch.rows)
    cdef int64_t width = (source_end(&job.w, w1) - job.w.lo[w0]) * job.lanes
    if job.h.kind == SUM or (job.h.kind == PICK and count > 1):
        if job.w_form == W_NONE and job.itemsize == <int64_t>sizeof(real_t):
            sum_band(<real_t *>target, target_stride, rows, stride, &job.h, h, h + count, width)
            return
        sum_band(own, width * <int64_t>sizeof(real_t), rows, stride, &job.h, h, h + count, width)
        rows, stride = own, width * <int64_t>sizeof(real_t)
    along_w(job, target, target_stride, rows, stride, scratch, count, w0, w1)


cdef void sum_window(const job_t *job, char *target, const char *source, real_t *scratch,
                     int64_t h, int64_t w0, int64_t w1, int64_t d) noexcept nogil:
    """The results h, w0..w1 of a window too long for a block: its parts are added one by one.

    Along H the parts are rows, summed into one row; along W (then w1 is w0 + 1) columns of that.
    """
    cdef char *parts = <char *>scratch
    cdef real_t *block = <real_t *>(parts + job.scratch.block)
    cdef real_t *row = <real_t *>(parts + job.scratch.rows)
    cdef real_t *sums = <real_t *>(parts + job.scratch.sums)
    cdef const real_t *h_w = <const real_t *>job.h.w + job.h.start[h] if job.h.w else NULL
    cdef const real_t *w_w = <const real_t *>job.w.w + job.w.start[w0] if job.w.w else NULL
    cdef int64_t rows = job.h.start[h + 1] - job.h.start[h], done_h, next_h
    cdef int64_t cols = source_end(&job.w, w1) - job.w.lo[w0], done_w = 0, next_w, width
    while True:
        next_w = min(done_w + job.w_piece, cols)
        width = (next_w - done_w) * job.lanes
        done_h = 0
        while True:
            next_h = min(done_h + job.h_piece, rows)
            sum_slabs(job, block, source + done_h * job.source.h + done_w * job.source.w,
                      parts + job.scratch.packed, d, next_h - done_h, next_w - done_w)
            sum_rows(row, <const char *>block, FLOAT32, width * <int64_t>sizeof(real_t),
                     next_h - done_h, h_w + done_h if h_w else NULL, width, done_h > 0)
            done_h = next_h
            if done_h == rows:
                break
        if job.w_piece >= cols:
            along_w(job, target, 0, row, 0, parts, 1, w0, w1)
            return
        sum_rows(sums, <const char *>row, FLOAT32, job.lanes * <int64_t>sizeof(real_t),
                 next_w - done_w, w_w + done_w if w_w else NULL, job.lanes, done_w > 0)
        done_w = next_w
        if done_w == cols:
            break
    round_row(target, job.dtype, sums, job.lanes)


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


cdef void sum_tile(const job_t *job, const char *source, char *result, real_t *scratch,
                   int64_t h0, int64_t h1, int64_t w0, int64_t w1, int64_t d) noexcept nogil:
    """result[h, w] = sum_w w_w (sum_h w_h (sum_d w_d source[d, h, w])): along D, then H, then W.

    In English: the slabs of the band of d are summed into a block of rows, rows of the block into
    rows of results, and those along themselves. Cost: each source element under the tile is read
    once for every d whose band holds it.
    """
    cdef char *parts = <char *>scratch
    cdef char *lines = parts + job.scratch.lines
    cdef const real_t *block = <real_t *>(parts + job.scratch.block)
    cdef int64_t h_lo = job.h.lo[h0], w_lo = job.w.lo[w0]
    cdef int64_t cols = source_end(&job.w, w1) - w_lo
    cdef int64_t stride = cols * job.lanes * <int64_t>sizeof(real_t)
    cdef int64_t target_stride, count, h = h0
    cdef char *target
    cdef const real_t *rows

    source += job.d.lo[d] * job.source.d + h_lo * job.source.h + w_lo * job.source.w
    if job.d.kind != SUM and job.source_row and job.itemsize == <int64_t>sizeof(real_t):
        block, stride = <const real_t *>source, job.source.h
    elif not job.h_piece:
        sum_slabs(job, <real_t *>block, source, parts + job.scratch.packed, d,
                  source_end(&job.h, h1) - h_lo, cols)

    result += h0 * job.result.h + w0 * job.result.w
    while h < h1:
        count = min(job.group, h1 - h)
        if job.stream or not job.result_row:
            target, target_stride = lines, (w1 - w0) * job.lanes * job.itemsize
        else:
            target, target_stride = result, job.result.h
        if job.h_piece:
            sum_window(job, target, source, scratch, h, w0, w1, d)
        else:
            rows = <const real_t *>(<const char *>block + (job.h.lo[h] - h_lo) * stride)
            along_h(job, target, target_stride, rows, stride, parts, h, count, w0, w1)
        if target == lines:
            deliver_rows(job, result, lines, target_stride, count, w1 - w0)
        result += count * job.result.h
        h += count


cdef void copy_tile(const job_t *job, const char *source, char *result, int64_t h0, int64_t h1,
                    int64_t w0, int64_t w1, int64_t d) noexcept nogil:
    """result[h, w] = source[d, h, w], byte for byte."""
    cdef int64_t h
    source += d * job.source.d + w0 * job.source.w
    for h in range(h0, h1):
        move_row(result + h * job.result.h + w0 * job.result.w, job.result.w, job.result.lane,
                 source + h * job.source.h, job.source.w, job.source.lane,
                 w1 - w0, job.lanes, job.itemsize)


# ---- From a unit's number to its tiles ----

cdef int64_t divide(int64_t *number, magic_t by, int64_t divisor) noexcept nogil:
    """The remainder of number by divisor; number becomes the quotient."""
    cdef int64_t quotient = <int64_t>magic_quotient(by, <uint64_t>number[0])
    cdef int64_t remainder = number[0] - quotient * divisor
    number[0] = quotient
    return remainder


cdef void do_unit(const job_t *job, const char *source, char *result, char *scratch,
                  int64_t unit) noexcept nogil:
    """Unit ((group, h run), w run), d: the same tile of the planes group, group + groups, ..."""
    cdef int64_t d = divide(&unit, job.by_d, job.d.results)
    cdef int64_t w0 = divide(&unit, job.by_w_runs, job.w_runs) * job.w_run
    cdef int64_t h0 = divide(&unit, job.by_h_runs, job.h_runs) * job.h_run
    cdef int64_t h1 = min(h0 + job.h_run, job.h.results), w1 = min(w0 + job.w_run, job.w.results)
    cdef int64_t plane = unit, n, c, _walked
    cdef const char *plane_source
    cdef char *plane_result
    for _walked in range(job.inner):
        n = plane
        c = divide(&n, job.by_channels, job.channels)
        plane_source = source + n * job.source.n + c * job.source.c
        plane_result = result + n * job.result.n + c * job.result.c + d * job.result.d
        if job.copy:
            copy_tile(job, plane_source, plane_result, h0, h1, w0, w1, d)
        elif job.dtype == FLOAT64:
            sum_tile(job, plane_source, plane_result, <double *>scratch, h0, h1, w0, w1, d)
        else:
            sum_tile(job, plane_source, plane_result, <float *>scratch, h0, h1, w0, w1, d)
        plane += job.groups


# ---- Threads ----

cdef void share(const job_t *job, const char *source, char *result, char *workspace, int64_t first,
                int64_t last, int64_t thread, int64_t threads) noexcept nogil:
    """One thread's contiguous part of the units first .. last."""
    cdef int64_t unit, begin = first + (last - first) * thread // threads
    cdef int64_t end = first + (last - first) * (thread + 1) // threads
    cdef fenv_t found
    if job.copy_bytes:
        begin, end = begin * job.copy_unit, min(end * job.copy_unit, job.copy_bytes)
        memcpy(result + begin, source + begin, end - begin)
        return
    found = enter_default_mode()
    for unit in range(begin, end):
        do_unit(job, source, result, workspace + thread * job.scratch.size, unit)
    restore_mode(found)
    if job.stream:
        stream_end()


cdef void run_units(const job_t *job, const char *source, char *result, char *workspace,
                    int64_t first, int64_t last, int threads) noexcept nogil:
    cdef int thread
    if threads == 1:
        share(job, source, result, workspace, first, last, 0, 1)
        return
    for thread in prange(threads, num_threads=threads, schedule="static", chunksize=1):
        share(job, source, result, workspace, first, last, thread, threads)


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
    """
    ctypedef struct array_interface_t:
        void *data


cdef void *address(array) except? NULL:
    """Where an array's first element lies. The array must outlive the address."""
    capsule = array.__array_struct__
    return (<array_interface_t *>PyCapsule_GetPointer(capsule, NULL)).data


cdef void set_band(band_t *to, band, list arrays) except *:
    to.results = len(band.lo)
    to.lo = <const int64_t *>address(band.lo)
    to.start = <const int64_t *>address(band.start)
    to.w = NULL if band.w is None else address(band.w)
    to.kind = band.kind
    arrays += [band.lo, band.start, band.w]


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
        job.source, job.result = strides_of(layout.source), strides_of(layout.result)
        job.source_row, job.source_slab = layout.source_row, layout.source_slab
        job.result_row = layout.result_row
        job.copy = schedule.sch_id == 0
        job.copy_bytes, job.copy_unit = schedule.copy_bytes, schedule.copy_unit
        job.inner, job.groups = schedule.inner, schedule.groups
        job.units, job.slab = schedule.units, schedule.slab
        tiles = schedule.tiles
        job.w_form, job.group, job.stream = tiles.w_form, tiles.group, tiles.stream
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

    def run(self, source, result, workspace, int threads):
        """Fills result from source; between slabs of units, pending signals are heard."""
        cdef const job_t *job = &self.job
        cdef const char *from_ = <const char *>address(source)
        cdef char *to = <char *>address(result)
        cdef char *parts = NULL
        cdef int64_t first = 0, last
        if workspace is not None:
            parts = <char *>((<uintptr_t>address(workspace) + 63) & ~<uintptr_t>63)
        while first < job.units:
            last = min(first + job.slab, job.units)
            with nogil:
                run_units(job, from_, to, parts, first, last, threads)
            first = last
            if first < job.units:
                PyErr_CheckSignals()


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
