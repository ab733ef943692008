/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of the kernel: what a plan hands over. Numbers and pointers, no functions. */
#ifndef UPSAMPLE3D_JOB_H
#define UPSAMPLE3D_JOB_H

#include <stdint.h>

#include "magic.h"

/* Element types, as dtypes.py numbers them. BYTES is any other: it is copied, never summed. */
enum { FLOAT32 = 0, FLOAT16 = 1, BFLOAT16 = 2, FLOAT64 = 3, BYTES = 4 };

/* What a band does: SUM adds weighted sources; COPY copies one source per result, none to the last few; IDENTITY copies
 * source k to result k. */
enum { SUM = 0, COPY = 1, IDENTITY = 2 };

/* How the W pass runs: not at all (IDENTITY), pixel by pixel, over rows turned into columns, or by a table of first
 * sources. */
enum { W_NONE = 0, W_PIXELS = 1, W_COLUMNS = 2, W_TABLE = 3 };

/* Rows turned into columns together: their accumulators fill one cache line. */
#define COLUMN_BYTES 64

/* One axis: result k = sum of w[start[k] + t] * source[lo[k] + t] over t < start[k + 1] - start[k], t ascending. */
typedef struct {
    int64_t results;
    const int64_t *lo;    /* [results], ascending */
    const int64_t *start; /* [results + 1] */
    const void *w;        /* in the accumulator's type; NULL: every weight is one */
    int64_t kind;         /* SUM, COPY or IDENTITY */
    int64_t covered;      /* results from here on have no source; read for COPY only */
} band_t;

/* A band of W as a rectangle: result x = sum over t of w[t * stride + x] * source[first[x] + t * step], t < terms.
 * x and sources count a row's elements, step is the pixel. Weight 0: no such term. Readable a vector past the end. */
typedef struct {
    int64_t terms, stride, step;
    const int32_t *first;
    const int32_t *smallest, *largest; /* of first[x ..] within a vector; NULL if the pixel is 1: first ascends */
    const float *w;
    const uint8_t *byte; /* Result byte k is source byte byte[k] (mod 256). Set only when 1- or 2-byte elements are
                          * copied, one per pixel, and the row grows; else NULL. */
} table_t;

/* Bytes from one index to the next; element: within a pixel. In channels-last memory a pixel is all C, and c is 0. */
typedef struct {
    int64_t n, c, d, h, w, element;
} strides_t;

/* Where the parts of one thread's scratch begin, in bytes, each a multiple of 64. */
typedef struct {
    int64_t block;   /* accumulators after D: the tile's source rows */
    int64_t rows;    /* accumulators after H: rows_together rows */
    int64_t columns; /* the same, turned */
    int64_t sums;    /* accumulators after W, still turned; or one row of them */
    int64_t packed;  /* source elements, made contiguous */
    int64_t lines;   /* finished result rows, before they are streamed or scattered */
    int64_t size;    /* of one thread's scratch */
} scratch_t;

typedef struct {
    int64_t dtype, itemsize;
    int64_t copy;                  /* every result is one source: bytes are copied, not summed */
    int64_t copy_bytes, copy_unit; /* SCH_ID 0 between alike dense arrays: their size, and bytes per unit; else 0 */
    band_t d, h, w;
    table_t table;                  /* of w, for W_TABLE */
    int64_t planes, channels;       /* plane p is (n, c) = (p / channels, p % channels) */
    int64_t pixel;                  /* elements per index of w: C in channels-last memory, else 1 */
    strides_t origin;               /* of the source array */
    strides_t source, result;       /* of what tiles read (the array, or its packed part); of the result array */
    int64_t pack;                   /* slabs packed at a time if rows are not contiguous; else 0 */
    int64_t source_row, result_row; /* whether a row's elements are contiguous */
    int64_t w_form;                 /* W_NONE, W_PIXELS, W_COLUMNS or W_TABLE */
    int64_t skip_d;                 /* D adds nothing: source rows serve as the block */
    int64_t h_writes;               /* H writes rows: it sums, or chooses rows that are read together */
    int64_t pad_row;                /* rows go to scratch before W: strided, or shorter than what W reads at once */
    int64_t prefetch_bytes;         /* new slabs' bytes that a tile prefetches at most */
    int64_t prefetch_distance;      /* bytes that the sum of slabs prefetches ahead of itself */
    int64_t rows_together;          /* result rows finished together */
    int64_t stream;                 /* whether results bypass the cache */
    int64_t tile_h, tile_w;         /* results of a tile along h and w */
    int64_t tiles_h, tiles_w;       /* tiles of a plane along h and w */
    int64_t h_split, w_split;       /* sources summed at a time if one result's window is too long; else 0 */
    int64_t inner;                  /* planes per unit: N*C, N, 1 for SCH_ID 1, 2, 3 */
    int64_t groups;                 /* planes / inner: a unit of group g takes planes g, g + groups, ... */
    int64_t units;                  /* groups * tiles_h * tiles_w * d.results */
    int64_t chunk;                  /* tiles (units times planes) before the first poll of signals */
    magic_t by_d, by_tiles_w, by_tiles_h, by_channels;
    scratch_t scratch;
} job_t;

#endif
