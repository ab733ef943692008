# SPDX-License-Identifier: Apache-2.0
"""A tile of copied sources, byte for byte."""

cdef void copy_identity(const job_t *job, const char *source, char *result,
                        tile_t tile) noexcept nogil:
    """copy_tile when W is an identity: whole rows."""
    cdef int64_t h, n = tile.w1 - tile.w0
    cdef const char *row
    source += job.d.lo[tile.d] * job.source.d + tile.w0 * job.source.w
    result += tile.d * job.result.d + tile.h0 * job.result.h + tile.w0 * job.result.w
    for h in range(tile.h0, tile.h1):
        row = source + job.h.lo[h] * job.source.h
        if job.stream and job.source_row:
            stream_bytes(result, row, n * job.pixel * job.itemsize)
        else:
            move_row(result, job.result.w, job.result.element, row, job.source.w,
                     job.source.element, n, job.pixel, job.itemsize)
        result += job.result.h


cdef void copy_rows(const job_t *job, char *target, int64_t target_stride, const char *source,
                    char *packed, int64_t h, int64_t count, int64_t w0, int64_t n) noexcept nogil:
    """target[r, w] = source[lo_h[h + r], lo_w[w]] for r < count."""
    cdef const int64_t *row = job.h.lo + h
    cdef int64_t cols = source_end(&job.w, job.w.results), r, span = row[count - 1] - row[0]
    cdef int64_t width = cols * job.pixel, begin = w0 * job.pixel, stride = width * job.itemsize
    if job.w_form != W_TABLE:
        source += job.w.lo[w0] * job.source.w
        for r in range(count):
            if r > 0 and row[r] == row[r - 1]:
                memcpy(target, target - target_stride, n * job.pixel * job.itemsize)
            else:
                copy_row(target, source + row[r] * job.source.h, job.source.w, job.source.element,
                         job.w.lo + w0, n, job.pixel, job.itemsize)
            target += target_stride
    elif not job.pad_row:
        table_copy(target, target_stride, source, job.source.h, row, count, job.itemsize, width,
                   &job.table, begin, n * job.pixel)
    elif in_one_run(job, cols) and span < count:
        memcpy(packed, source + row[0] * job.source.h, (span + 1) * stride)
        table_copy(target, target_stride, packed - row[0] * stride, stride, row, count,
                   job.itemsize, width, &job.table, begin, n * job.pixel)
    else:
        for r in range(count):
            move_row(packed, job.pixel * job.itemsize, job.itemsize, source + row[r] * job.source.h,
                     job.source.w, job.source.element, cols, job.pixel, job.itemsize)
            table_copy(target + r * target_stride, 0, packed, 0, row, 1, job.itemsize, width,
                       &job.table, begin, n * job.pixel)


cdef void clear_results(const job_t *job, char *result, tile_t tile) noexcept nogil:
    """result[h, w] = 0: all bytes."""
    cdef char[16] zero
    cdef int64_t _h
    memset(zero, 0, sizeof(zero))
    result += tile.d * job.result.d + tile.h0 * job.result.h + tile.w0 * job.result.w
    for _h in range(tile.h0, tile.h1):
        move_row(result, job.result.w, job.result.element, zero, 0, 0, tile.w1 - tile.w0, job.pixel,
                 job.itemsize)
        result += job.result.h


cdef tile_t clear_beyond(const job_t *job, char *result, tile_t tile) noexcept nogil:
    """Clears the tile's results without a source; returns the tile of the others."""
    cdef tile_t beyond = tile
    if tile.d >= job.d.covered or tile.h0 >= job.h.covered or tile.w0 >= job.w.covered:
        clear_results(job, result, tile)
        tile.h1 = tile.h0
        return tile
    if tile.h1 > job.h.covered:
        beyond.h0 = tile.h1 = job.h.covered
        clear_results(job, result, beyond)
    if tile.w1 > job.w.covered:
        beyond = tile
        beyond.w0 = tile.w1 = job.w.covered
        clear_results(job, result, beyond)
    return tile


cdef void copy_tile(const job_t *job, const char *source, char *result, char *scratch,
                    tile_t tile) noexcept nogil:
    """result[h, w] = source[lo_d, lo_h, lo_w], byte for byte; 0 if it has no source."""
    tile = clear_beyond(job, result, tile)
    if job.w.kind == IDENTITY:
        copy_identity(job, source, result, tile)
    else:
        copy_groups(job, source, result, scratch, tile)


cdef void copy_groups(const job_t *job, const char *source, char *result, char *scratch,
                      tile_t tile) noexcept nogil:
    """copy_tile when W is not an identity: rows_together rows at a time."""
    cdef int64_t count, h = tile.h0, n = tile.w1 - tile.w0
    cdef int64_t line_bytes = n * job.pixel * job.itemsize
    cdef char *lines = scratch + job.scratch.lines
    cdef char *packed = scratch + job.scratch.packed
    source += job.d.lo[tile.d] * job.source.d
    result += tile.d * job.result.d + tile.h0 * job.result.h + tile.w0 * job.result.w
    while h < tile.h1:
        count = min(job.rows_together, tile.h1 - h)
        if job.stream or not job.result_row:
            # one row at a time: the last result row, still in `lines`, may have the same source
            if h == tile.h0 or job.rows_together > 1 or job.h.lo[h] != job.h.lo[h - 1]:
                copy_rows(job, lines, line_bytes, source, packed, h, count, tile.w0, n)
            deliver_rows(job, result, lines, line_bytes, count, n)
        else:
            copy_rows(job, result, job.result.h, source, packed, h, count, tile.w0, n)
        result += count * job.result.h
        h += count
