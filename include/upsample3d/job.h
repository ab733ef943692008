/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of the kernel: what a plan hands over. Numbers and pointers, no functions. */
#ifndef UPSAMPLE3D_JOB_H
#define UPSAMPLE3D_JOB_H

#include <stdint.h>

#include "magic.h"

/* Element types, as dtypes.py numbers them. BYTES is any other: it is moved, never summed. */
enum { FLOAT32 = 0, FLOAT16 = 1, BFLOAT16 = 2, FLOAT64 = 3, BYTES = 4 };

/* What a band does: SUM adds weighted sources, PICK copies one source per result and has none for the last few, SAME
 * copies source k to result k. */
enum { SUM = 0, PICK = 1, SAME = 2 };

/* How the W pass runs: rows lie ready (SAME), lanes are summed along the row, rows are turned into columns, or lanes
 * are looked up in a table. */
enum { W_NONE = 0, W_LANES = 1, W_COLUMNS = 2, W_LOOKUP = 3 };

/* Results that are turned into columns together: one cache line of reals. */
#define COLUMN_BYTES 64

/* One axis: result k = sum of w[start[k] + t] * source[lo[k] + t] over t < start[k + 1] - start[k], t ascending. */
typedef struct {
    int64_t results;
    const int64_t *lo;    /* [results], ascending */
    const int64_t *start; /* [results + 1] */
    const void *w;        /* in the accumulator's type; NULL: every weight is one */
    int64_t kind;         /* SUM, PICK or SAME */
    int64_t reached;      /* results from here on have no source; of interest to PICK */
} band_t;

/* A band of W as a rectangle: result x = sum over t of w[t * stride + x] * source[first[x] + t * step], t < terms.
 * Results and sources count elements of a row, lanes included. Weight 0: no such term. Readable up to a vector past the
 * end. */
typedef struct {
    int64_t terms, stride, step;
    const int32_t *first;
    const int32_t *least, *most; /* of a vector of first sources from x on; NULL without lanes: these ascend */
    const float *w;
    const uint8_t *byte; /* of every byte of a result row its place in the source row, modulo 256, as many as the row
                          * has bytes; NULL unless elements of 8 or 16 bits are picked, without lanes, into more
                          * results with sources than there are sources */
} lookup_t;

/* Bytes from one index to the next. In channels-last memory the lanes are the channels, and c is 0. */
typedef struct {
    int64_t n, c, d, h, w, lane;
} strides_t;

/* Where the parts of one thread's scratch begin, in bytes, each a multiple of 64. */
typedef struct {
    int64_t block;   /* the tile after D: source rows of reals */
    int64_t rows;    /* after H: up to a column's worth of rows of reals */
    int64_t columns; /* the same, turned */
    int64_t sums;    /* after W, still turned; or one row of reals */
    int64_t packed;  /* source elements, made contiguous */
    int64_t lines;   /* result rows of elements, on their way to strided memory */
    int64_t size;    /* of one thread's scratch */
} scratch_t;

typedef struct {
    int64_t dtype, itemsize;
    int64_t pick;                  /* every result is one source: elements are moved as bytes, not summed */
    int64_t copy_bytes, copy_unit; /* SCH_ID 0 between alike dense arrays: their size, and bytes per unit; else 0 */
    band_t d, h, w;
    lookup_t table;                 /* of w, for W_LOOKUP */
    int64_t planes, channels;       /* plane p is (n, c) = (p / channels, p % channels) */
    int64_t lanes;                  /* elements that go together along w: C in channels-last memory, else 1 */
    strides_t origin;               /* of the source array */
    strides_t source, result;       /* of what tiles read, the array or what of it was packed; of the result array */
    int64_t pack;                   /* slabs of a tile that are packed at a time, if rows are not contiguous; else 0 */
    int64_t source_row, result_row; /* whether a row's elements are contiguous */
    int64_t w_form;                 /* W_NONE, W_LANES, W_COLUMNS or W_LOOKUP */
    int64_t in_place;               /* whether source rows serve as the block: D has nothing to add */
    int64_t own_rows;               /* whether H writes rows of its own, though it may have nothing to add */
    int64_t ahead;                  /* bytes of new slabs that a tile asks for ahead, at most */
    int64_t row_ahead;              /* bytes that the sum of slabs asks for ahead of itself */
    int64_t group;                  /* result rows that are finished together */
    int64_t stream;                 /* whether results go past the cache */
    int64_t h_run, w_run;           /* results of a tile along h and w */
    int64_t h_runs, w_runs;
    int64_t h_piece, w_piece; /* sources summed at a time where one result's window is long; else 0 */
    int64_t inner;            /* planes that one unit walks: N*C, N, 1 for SCH_ID 1, 2, 3 */
    int64_t groups;           /* planes / inner: unit's group g walks planes g, g + groups, ... */
    int64_t units;            /* groups * h_runs * w_runs * d.results */
    int64_t stretch;          /* tiles (units times planes) before the first look at pending signals */
    magic_t by_d, by_w_runs, by_h_runs, by_channels;
    scratch_t scratch;
} job_t;

#endif
