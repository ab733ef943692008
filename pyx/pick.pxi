# SPDX-License-Identifier: Apache-2.0
"""A tile of picked sources, moved as bytes."""

cdef void copy_rows(const job_t *job, const char *source, char *result,
                    tile_t tile) noexcept nogil:
    """pick_tile where W copies rows as they are."""
    cdef int64_t h, n = tile.w1 - tile.w0
    cdef const char *row
    source += job.d.lo[tile.d] * job.source.d + tile.w0 * job.source.w
    result += tile.d * job.result.d + tile.h0 * job.result.h + tile.w0 * job.result.w
    for h in range(tile.h0, tile.h1):
        row = source + job.h.lo[h] * job.source.h
        if job.stream and job.source_row:
            stream_bytes(result, row, n * job.lanes * job.itemsize)
        else:
            move_row(result, job.result.w, job.result.lane, row, job.source.w, job.source.lane, n,
                     job.lanes, job.itemsize)
        result += job.result.h


cdef void pick_rows(const job_t *job, char *target, int64_t target_stride, const char *source,
                    char *packed, int64_t h, int64_t count, int64_t w0, int64_t n) noexcept nogil:
    """target[r, w] = source[h + r, w], picked by the bands of H and W, for r < count."""
    cdef const int64_t *row = job.h.lo + h
    cdef int64_t cols = source_end(&job.w, job.w.results), r, span = row[count - 1] - row[0]
    cdef int64_t width = cols * job.lanes, begin = w0 * job.lanes, stride = width * job.itemsize
    if job.w_form != W_LOOKUP:
        source += job.w.lo[w0] * job.source.w
        for r in range(count):
            if r > 0 and row[r] == row[r - 1]:
                memcpy(target, target - target_stride, n * job.lanes * job.itemsize)
            else:
                pick_row(target, source + row[r] * job.source.h, job.source.w, job.source.lane,
                         job.w.lo + w0, n, job.lanes, job.itemsize)
            target += target_stride
    elif not job.own_rows:
        pick_lanes(target, target_stride, source, job.source.h, row, count, job.itemsize, width,
                   &job.table, begin, n * job.lanes)
    elif in_one_run(job, cols) and span < count:
        memcpy(packed, source + row[0] * job.source.h, (span + 1) * stride)
        pick_lanes(target, target_stride, packed - row[0] * stride, stride, row, count,
                   job.itemsize, width, &job.table, begin, n * job.lanes)
    else:
        for r in range(count):
            move_row(packed, job.lanes * job.itemsize, job.itemsize, source + row[r] * job.source.h,
                     job.source.w, job.source.lane, cols, job.lanes, job.itemsize)
            pick_lanes(target + r * target_stride, 0, packed, 0, row, 1, job.itemsize, width,
                       &job.table, begin, n * job.lanes)


cdef void clear_results(const job_t *job, char *result, tile_t tile) noexcept nogil:
    """result[h, w] = 0, in every byte."""
    cdef char[16] zero
    cdef int64_t _h
    memset(zero, 0, sizeof(zero))
    result += tile.d * job.result.d + tile.h0 * job.result.h + tile.w0 * job.result.w
    for _h in range(tile.h0, tile.h1):
        move_row(result, job.result.w, job.result.lane, zero, 0, 0, tile.w1 - tile.w0, job.lanes,
                 job.itemsize)
        result += job.result.h


cdef tile_t clear_beyond(const job_t *job, char *result, tile_t tile) noexcept nogil:
    """Clears the results of the tile that have no source; returns the tile of those that have."""
    cdef tile_t beyond = tile
    if tile.d >= job.d.reached or tile.h0 >= job.h.reached or tile.w0 >= job.w.reached:
        clear_results(job, result, tile)
        tile.h1 = tile.h0
        return tile
    if tile.h1 > job.h.reached:
        beyond.h0 = tile.h1 = job.h.reached
        clear_results(job, result, beyond)
    if tile.w1 > job.w.reached:
        beyond = tile
        beyond.w0 = tile.w1 = job.w.reached
        clear_results(job, result, beyond)
    return tile


cdef void pick_tile(const job_t *job, const char *source, char *result, char *scratch,
                    tile_t tile) noexcept nogil:
    """result[h, w] = source[d, h, w], all picked by their bands, byte for byte; 0 beyond them."""
    tile = clear_beyond(job, result, tile)
    if job.w.kind == SAME:
        copy_rows(job, source, result, tile)
    else:
        pick_groups(job, source, result, scratch, tile)


cdef void pick_groups(const job_t *job, const char *source, char *result, char *scratch,
                      tile_t tile) noexcept nogil:
    """pick_tile where W picks, a few rows at a time."""
    cdef int64_t count, h = tile.h0, n = tile.w1 - tile.w0
    cdef int64_t line_bytes = n * job.lanes * job.itemsize
    cdef char *lines = scratch + job.scratch.lines
    cdef char *packed = scratch + job.scratch.packed
    source += job.d.lo[tile.d] * job.source.d
    result += tile.d * job.result.d + tile.h0 * job.result.h + tile.w0 * job.result.w
    while h < tile.h1:
        count = min(job.group, tile.h1 - h)
        if job.stream or not job.result_row:
            if h == tile.h0 or job.group > 1 or job.h.lo[h] != job.h.lo[h - 1]:  # else there
                pick_rows(job, lines, line_bytes, source, packed, h, count, tile.w0, n)
            deliver_rows(job, result, lines, line_bytes, count, n)
        else:
            pick_rows(job, result, job.result.h, source, packed, h, count, tile.w0, n)
        result += count * job.result.h
        h += count
