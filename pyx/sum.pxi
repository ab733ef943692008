# SPDX-License-Identifier: Apache-2.0
"""A tile of weighted sums, along D, then H, then W."""

cdef void sum_slabs(const job_t *job, acc_t *block, const char *source, char *packed, int64_t d,
                    int64_t rows, int64_t cols) noexcept nogil:
    """block[row, col] = sum_d w_d source[d, row, col]: in one run if contiguous, else by rows."""
    cdef int64_t start = job.d.start[d], terms = job.d.start[d + 1] - start
    cdef const acc_t *w = <const acc_t *>job.d.w + start if job.d.w else NULL
    cdef int64_t width = cols * job.pixel, _row, t
    if in_one_run(job, cols):
        sum_rows(block, source, job.dtype, job.source.d, terms, w, rows * width, False,
                 job.prefetch_distance)
        return
    for _row in range(rows):
        if job.source_row or terms == 0:
            sum_rows(block, source, job.dtype, job.source.d, terms, w, width, False,
                     job.prefetch_distance)
        else:
            for t in range(terms):
                move_row(packed, job.pixel * job.itemsize, job.itemsize, source + t * job.source.d,
                         job.source.w, job.source.element, cols, job.pixel, job.itemsize)
                sum_rows(block, packed, job.dtype, 0, 1, w + t if w else NULL, width, t > 0, 0)
        block += width
        source += job.source.h


cdef void along_w(const job_t *job, char *target, int64_t target_stride, const acc_t *rows,
                  int64_t stride, char *scratch, int64_t count, int64_t w0, int64_t w1,
                  prefetch_t *prefetch) noexcept nogil:
    """target[r, w] = sum_w w_w rows[r, w], rounded, for r < count."""
    cdef acc_t *columns = <acc_t *>(scratch + job.scratch.columns)
    cdef char *sums = scratch + job.scratch.sums
    cdef int64_t origin = job.w.lo[w0] * job.pixel, n = (w1 - w0) * job.pixel, _r
    cdef int64_t width = source_end(&job.w, w1) * job.pixel - origin
    if job.w_form == W_COLUMNS:
        prefetch_some(prefetch, count // 4)
        to_columns(columns, rows, stride, count, width)
        prefetch_some(prefetch, count // 4)
        sum_band(sums, FLOAT32, job.pixel * COLUMN_BYTES, columns, job.pixel * COLUMN_BYTES, &job.w,
                 w0, w1, job.pixel * COLUMN_BYTES // <int64_t>sizeof(acc_t))
        prefetch_some(prefetch, count // 4)
        round_columns(target, job.dtype, target_stride, <const acc_t *>sums, count, n)
        return
    if job.w_form == W_TABLE:
        prefetch_some(prefetch, count - count // 4)
        if acc_t is float:
            table_pass(target, job.dtype, target_stride, rows, stride, count, width, &job.table,
                       w0 * job.pixel, origin, n)
        return
    for _r in range(count):
        prefetch_some(prefetch, 1)
        if job.w_form == W_PIXELS:
            sum_band(target, job.dtype, job.pixel * job.itemsize, rows,
                     job.pixel * <int64_t>sizeof(acc_t), &job.w, w0, w1, job.pixel)
        else:
            round_row(target, job.dtype, rows, n)
        target += target_stride
        rows = <const acc_t *>(<const char *>rows + stride)


cdef void along_h(const job_t *job, char *target, int64_t target_stride, const acc_t *rows,
                  int64_t stride, char *scratch, int64_t h, int64_t count,
                  int64_t w0, int64_t w1, prefetch_t *prefetch) noexcept nogil:
    """target[r, w] = sum_w w_w sum_h w_h rows[h, w], rounded, for `count` results from h on.

    A pass that adds nothing hands its rows on; the last pass writes the target.
    """
    cdef char *sums = scratch + job.scratch.rows
    cdef int64_t width = (source_end(&job.w, w1) - job.w.lo[w0]) * job.pixel
    if job.h_writes or job.pad_row:
        if job.w.kind == IDENTITY:
            prefetch_some(prefetch, count)
            sum_band(target, job.dtype, target_stride, rows, stride, &job.h, h, h + count, width)
            return
        prefetch_some(prefetch, count // 4)
        if not job.skip_d:
            width = padded(width, sizeof(acc_t))
        sum_band(sums, FLOAT32, width * <int64_t>sizeof(acc_t), rows, stride, &job.h, h, h + count,
                 width)
        rows, stride = <const acc_t *>sums, width * <int64_t>sizeof(acc_t)
    along_w(job, target, target_stride, rows, stride, scratch, count, w0, w1, prefetch)


cdef void sum_window(const job_t *job, char *target, const char *source, acc_t *scratch,
                     int64_t h, int64_t w0, int64_t w1, int64_t d) noexcept nogil:
    """The results h, w0..w1 of a window too long for a block, summed part by part.

    Parts along H are rows, summed into one; parts along W (then w1 is w0 + 1) are columns of it.
    """
    cdef char *parts = <char *>scratch
    cdef acc_t *block = <acc_t *>(parts + job.scratch.block)
    cdef acc_t *row = <acc_t *>(parts + job.scratch.rows)
    cdef acc_t *sums = <acc_t *>(parts + job.scratch.sums)
    cdef const acc_t *h_w = <const acc_t *>job.h.w + job.h.start[h] if job.h.w else NULL
    cdef const acc_t *w_w = <const acc_t *>job.w.w + job.w.start[w0] if job.w.w else NULL
    cdef int64_t rows = job.h.start[h + 1] - job.h.start[h], done_h, next_h
    cdef int64_t cols = source_end(&job.w, w1) - job.w.lo[w0], done_w = 0, next_w, width
    cdef prefetch_t none = prefetch_t(NULL, 0, 0, 0, 0, 0)
    while True:
        next_w = min(done_w + job.w_split, cols)
        width = (next_w - done_w) * job.pixel
        done_h = 0
        while True:
            next_h = min(done_h + job.h_split, rows)
            sum_slabs(job, block, source + done_h * job.source.h + done_w * job.source.w,
                      parts + job.scratch.packed, d, next_h - done_h, next_w - done_w)
            sum_rows(row, <const char *>block, FLOAT32, width * <int64_t>sizeof(acc_t),
                     next_h - done_h, h_w + done_h if h_w else NULL, width, done_h > 0, 0)
            done_h = next_h
            if done_h == rows:
                break
        if job.w_split >= cols:
            along_w(job, target, 0, row, 0, parts, 1, w0, w1, &none)
            return
        sum_rows(sums, <const char *>row, FLOAT32, job.pixel * <int64_t>sizeof(acc_t),
                 next_w - done_w, w_w + done_w if w_w else NULL, job.pixel, done_w > 0, 0)
        done_w = next_w
        if done_w == cols:
            break
    round_row(target, job.dtype, sums, job.pixel)


cdef void sum_tile(const job_t *job, const char *source, char *result, acc_t *scratch, tile_t tile,
                   prefetch_t *prefetch) noexcept nogil:
    """result[h, w] = sum_w w_w (sum_h w_h (sum_d w_d source[d, h, w])): along D, then H, then W.

    In English: slabs are summed into a block of rows, rows of the block into result rows, and
    these along W. Cost: each source element is read once for every d whose band holds it.
    """
    cdef char *parts = <char *>scratch
    cdef char *lines = parts + job.scratch.lines
    cdef const acc_t *block = <acc_t *>(parts + job.scratch.block)
    cdef int64_t h_lo = job.h.lo[tile.h0], w_lo = job.w.lo[tile.w0]
    cdef int64_t cols = source_end(&job.w, tile.w1) - w_lo
    cdef int64_t stride = cols * job.pixel * <int64_t>sizeof(acc_t)
    cdef int64_t line_bytes = (tile.w1 - tile.w0) * job.pixel * job.itemsize
    cdef int64_t target_stride, count, h = tile.h0
    cdef char *target
    cdef const acc_t *rows
    cdef bint no_slabs = job.d.start[tile.d] == job.d.start[tile.d + 1]

    source += job.d.lo[tile.d] * job.source.d + h_lo * job.source.h + w_lo * job.source.w
    if job.skip_d:
        block, stride = <const acc_t *>source, job.source.h
    elif not (job.h_split or no_slabs):
        sum_slabs(job, <acc_t *>block, source, parts + job.scratch.packed, tile.d,
                  source_end(&job.h, tile.h1) - h_lo, cols)

    result += tile.d * job.result.d + tile.h0 * job.result.h + tile.w0 * job.result.w
    while h < tile.h1:
        count = min(job.rows_together, tile.h1 - h)
        if job.stream or not job.result_row:
            target, target_stride = lines, line_bytes
        else:
            target, target_stride = result, job.result.h
        if no_slabs or job.h.start[h] == job.h.start[h + count]:
            clear_rows(target, target_stride, line_bytes, count)
        elif job.h_split:
            sum_window(job, target, source, scratch, h, tile.w0, tile.w1, tile.d)
        else:
            rows = <const acc_t *>(<const char *>block + (job.h.lo[h] - h_lo) * stride)
            along_h(job, target, target_stride, rows, stride, parts, h, count, tile.w0, tile.w1,
                    prefetch)
        if target == lines:
            deliver_rows(job, result, lines, line_bytes, count, tile.w1 - tile.w0)
        result += count * job.result.h
        h += count
