# SPDX-License-Identifier: Apache-2.0
"""rows.h, width.h and pack.h as Cython sees them."""

from libc.stdint cimport int64_t

from job cimport band_t, strides_t, table_t


cdef extern from "upsample3d/rows.h" nogil:
    ctypedef struct fenv_t:
        pass

    ctypedef struct prefetch_t:
        const char *run
        int64_t done, bytes, runs, stride, step

    void sum_rows[acc_t](acc_t *sum, const char *row, int64_t dtype, int64_t stride, int64_t terms,
                         const acc_t *w, int64_t n, bint onto, int64_t distance)
    void sum_band[acc_t](char *sums, int64_t dtype, int64_t sums_stride, const acc_t *rows,
                         int64_t stride, const band_t *band, int64_t first, int64_t last, int64_t n)
    const int64_t vector_lanes
    int64_t padded(int64_t n, int64_t acc_size)
    void round_row[acc_t](char *row, int64_t dtype, const acc_t *sum, int64_t n)
    void move_row(char *to, int64_t to_w, int64_t to_element, const char *source, int64_t from_w,
                  int64_t from_element, int64_t w, int64_t pixel, int64_t itemsize)
    void clear_rows(char *row, int64_t stride, int64_t bytes, int64_t count)
    void stream_bytes(char *to, const char *source, int64_t n)
    void stream_end()
    void prefetch_some(prefetch_t *next, int64_t rows)
    fenv_t enter_default_mode()
    void restore_mode(fenv_t found)


cdef extern from "upsample3d/width.h" nogil:
    void to_columns[acc_t](acc_t *columns, const acc_t *rows, int64_t stride, int64_t count,
                           int64_t n)
    void round_columns[acc_t](char *rows, int64_t dtype, int64_t stride, const acc_t *columns,
                              int64_t count, int64_t n)
    void table_pass(char *target, int64_t dtype, int64_t target_stride, const float *rows,
                    int64_t stride, int64_t count, int64_t width, const table_t *table,
                    int64_t begin, int64_t origin, int64_t n)
    void table_copy(char *to, int64_t to_stride, const char *rows, int64_t stride,
                    const int64_t *row, int64_t count, int64_t itemsize, int64_t width,
                    const table_t *table, int64_t begin, int64_t n)
    void copy_row(char *to, const char *row, int64_t row_w, int64_t row_element, const int64_t *lo,
                  int64_t n, int64_t pixel, int64_t itemsize)


cdef extern from "upsample3d/pack.h" nogil:
    void pack_slabs(char *to, const strides_t *to_bytes, const char *source,
                    const strides_t *from_bytes, int64_t slabs, int64_t rows, int64_t cols,
                    int64_t size)
