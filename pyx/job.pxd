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
    enum: SUM, PICK, SAME
    enum: W_NONE, W_LANES, W_COLUMNS, W_LOOKUP
    enum: COLUMN_BYTES

    ctypedef struct band_t:
        int64_t results
        const int64_t *lo
        const int64_t *start
        const void *w
        int64_t kind, reached

    ctypedef struct lookup_t:
        int64_t terms, stride, step
        const int32_t *first
        const int32_t *least
        const int32_t *most
        const float *w
        const uint8_t *byte

    ctypedef struct strides_t:
        int64_t n, c, d, h, w, lane

    ctypedef struct scratch_t:
        int64_t block, rows, columns, sums, packed, lines, size

    ctypedef struct job_t:
        int64_t dtype, itemsize
        int64_t pick, copy_bytes, copy_unit
        band_t d, h, w
        lookup_t table
        int64_t planes, channels, lanes
        strides_t origin, source, result
        int64_t pack
        int64_t source_row, result_row
        int64_t w_form, in_place, own_rows, ahead, row_ahead, group, stream
        int64_t h_run, w_run, h_runs, w_runs, h_piece, w_piece
        int64_t inner, groups, units, stretch
        magic_t by_d, by_w_runs, by_h_runs, by_channels
        scratch_t scratch
