# SPDX-License-Identifier: Apache-2.0
"""job.h and magic.h as Cython sees them."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t


cdef extern from "upsample3d/magic.h" nogil:
    ctypedef struct magic_t:
        uint64_t multiplier
        uint32_t shift

    magic_t magic_of(uint64_t divisor, uint32_t width)
    uint64_t magic_quotient(magic_t magic, uint64_t x)


cdef extern from "upsample3d/job.h" nogil:
    enum: FLOAT32, FLOAT16, BFLOAT16, FLOAT64
    enum: SUM, COPY, IDENTITY
    enum: W_NONE, W_PIXELS, W_COLUMNS, W_TABLE
    enum: COLUMN_BYTES

    ctypedef struct band_t:
        int64_t results
        const int64_t *lo
        const int64_t *start
        const void *w
        int64_t kind, covered

    ctypedef struct table_t:
        int64_t terms, stride, step
        const int32_t *first
        const int32_t *smallest
        const int32_t *largest
        const float *w
        const uint8_t *byte

    ctypedef struct strides_t:
        int64_t n, c, d, h, w, element

    ctypedef struct scratch_t:
        int64_t block, rows, columns, sums, packed, lines, size

    ctypedef struct job_t:
        int64_t dtype, itemsize
        int64_t copy, copy_bytes, copy_unit
        band_t d, h, w
        table_t table
        int64_t planes, channels, pixel
        strides_t origin, source, result
        int64_t pack
        int64_t source_row, result_row
        int64_t w_form, skip_d, h_writes, pad_row, prefetch_bytes, prefetch_distance
        int64_t rows_together, stream
        int64_t tile_h, tile_w, tiles_h, tiles_w, h_split, w_split
        int64_t inner, groups, units, chunk
        magic_t by_d, by_tiles_w, by_tiles_h, by_channels
        scratch_t scratch
