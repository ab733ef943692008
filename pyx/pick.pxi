# SPDX-License-Identifier: Apache-2.0
"""A tile of picked sources: results h0..h1 x w0..w1 at one d of one plane, moved as bytes."""

cdef void copy_tile(const job_t *job, const char *source, char *result, int64_t h0, int64_t h1,
                    int64_t w0, int64_t w1, int64_t d) noexcept nogil:
    """result[h, w] = source[d, h, w], d and h picked by their bands, byte for byte."""
    cdef int64_t h, n = w1 - w0
    cdef const char *row
    source += job.d.lo[d] * job.source.d + w0 * job.source.w
    result += h0 * job.result.h + w0 * job.result.w
    for h in range(h0, h1):
        row = source + job.h.lo[h] * job.source.h
        if job.stream and job.source_row:
            stream_bytes(result, row, n * job.lanes * job.itemsize)
        else:
            move_row(result, job.result.w, job.result.lane, row, job.source.w, job.source.lane, n,
                     job.lanes, job.itemsize)
        result += job.result.h


cdef void pick_line(const job_t *job, char *line, const char *row, char *packed, int64_t w0,
                    int64_t n) noexcept nogil:
    """line[w] = row[w], picked by the band of W."""
    cdef int64_t cols = source_end(&job.w, job.w.results)
    if job.w_form != W_LOOKUP:
        pick_row(line, row + job.w.lo[w0] * job.source.w, job.source.w, job.source.lane,
                 job.w.lo + w0, n, job.lanes, job.itemsize)
        return
    if job.own_rows:
        move_row(packed, job.lanes * job.itemsize, job.itemsize, row, job.source.w, job.source.lane,
                 cols, job.lanes, job.itemsize)
        row = packed
    look_up_row(line, row, job.itemsize, cols * job.lanes, &job.table, w0 * job.lanes,
                n * job.lanes)


cdef void pick_tile(const job_t *job, const char *source, char *result, char *scratch, int64_t h0,
                    int64_t h1, int64_t w0, int64_t w1, int64_t d) noexcept nogil:
    """result[h, w] = source[d, h, w], all picked by their bands, byte for byte."""
    cdef bint direct = job.result_row and not job.stream
    cdef int64_t r, count, h = h0, line_bytes = (w1 - w0) * job.lanes * job.itemsize
    cdef int64_t stride = job.result.h if direct else line_bytes
    cdef char *line
    cdef char *last = NULL
    cdef int64_t picked = -1
    source += job.d.lo[d] * job.source.d
    result += h0 * job.result.h + w0 * job.result.w
    while h < h1:
        count = min(job.group, h1 - h)
        line = result if direct else scratch + job.scratch.lines
        for r in range(h, h + count):
            if job.h.lo[r] != picked:
                picked = job.h.lo[r]
                pick_line(job, line, source + picked * job.source.h, scratch + job.scratch.packed,
                          w0, w1 - w0)
            elif line != last:
                memcpy(line, last, line_bytes)
            last = line
            line += stride
        if not direct:
            deliver_rows(job, result, scratch + job.scratch.lines, line_bytes, count, w1 - w0)
        result += count * job.result.h
        h += count
