/* SPDX-License-Identifier: Apache-2.0 */
/* Rows: weighted sums of them, rounding, moving, prefetching.
 *
 * element: what memory holds, float, double, f16 or bf16. acc_t: what sums are, float, or double for double.
 * Multiply and add round separately (the build forbids contraction), so every CPU level gives the same bits.
 */
#ifndef UPSAMPLE3D_ROWS_H
#define UPSAMPLE3D_ROWS_H

#include <fenv.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "job.h"
#include "vectors.h"

/* Calls work with an element of this dtype: here alone a number becomes a type. */
template <class acc_t, class function> INLINE void with_element(int64_t dtype, function work) {
    if constexpr (sizeof(acc_t) == sizeof(double)) {
        work(double());
    } else {
        switch (dtype) {
        case FLOAT16: work(f16()); break;
        case BFLOAT16: work(bf16()); break;
        default: work(float());
        }
    }
}

/* ---- Sums of rows: the one primitive of all three axes ---- */

/* V vectors of sum[x] = w[0]*row0[x] + w[1]*row1[x] + ..., rows `stride` bytes apart; onto: added to `sum`. No terms
 * give +0.0. */
template <int V, bool unit, class acc_t, class element, class out>
INLINE void sum_vectors(out *sum, const element *row, int64_t stride, int64_t terms, const acc_t *w, bool onto) {
    vec<acc_t> total[V] = {}, term[V];
    if (terms > 0) load_vectors<V, acc_t>(total, row);
    if (!unit && terms > 0) {
#pragma GCC unroll 4
        for (int v = 0; v < V; v++) total[v] *= w[0];
    }
    if constexpr (std::is_same_v<out, acc_t>) {
        if (onto) {
            load_sums<element, V>(term, sum);
#pragma GCC unroll 4
            for (int v = 0; v < V; v++) total[v] = term[v] + total[v];
        }
    }
#pragma GCC unroll 4
    for (int64_t t = 1; t < terms; t++) {
        row = at(row, stride);
        load_vectors<V, acc_t>(term, row);
#pragma GCC unroll 4
        for (int v = 0; v < V; v++) total[v] += unit ? term[v] : term[v] * w[t];
    }
    store_sums<element, V, acc_t>(sum, total);
}

/* Prefetches the same vectors of the last two rows `distance` bytes on: the sums before have read the other rows, and
 * the CPU's own prefetching stops at a page's end. */
template <int V, class acc_t, class element>
INLINE void prefetch_rows(const element *row, int64_t stride, int64_t terms, int64_t distance) {
    for (int64_t t = terms > 2 ? terms - 2 : 0; t < terms; t++)
        for (int64_t x = 0; x < V * LANES<acc_t>; x += CACHE_LINE / sizeof(element))
            __builtin_prefetch(at(row + x, t * stride + distance));
}

/* The sum of rows for x < n. Unless onto, the last vector overlaps the one before and writes the same again. */
template <bool unit, class acc_t, class element, class out>
INLINE void sum_run(out *sum, const element *row, int64_t stride, int64_t terms, const acc_t *w, int64_t n, bool onto,
                    int64_t distance = 0) {
    constexpr int V = LANES<acc_t>;
    int64_t x = 0;
    for (; x + 4 * V <= n; x += 4 * V) {
        if (distance) prefetch_rows<4, acc_t>(row + x, stride, terms, distance);
        sum_vectors<4, unit>(sum + x, row + x, stride, terms, w, onto);
    }
    for (; x + 2 * V <= n; x += 2 * V) sum_vectors<2, unit>(sum + x, row + x, stride, terms, w, onto);
    for (; x + V <= n; x += V) sum_vectors<1, unit>(sum + x, row + x, stride, terms, w, onto);
    if (x == n) return;
    if (n >= V && !onto) {
        sum_vectors<1, unit>(sum + n - V, row + n - V, stride, terms, w, onto);
        return;
    }
    vec<acc_t> total = onto ? load_some<acc_t>(sum + x, n - x) : vec<acc_t>{};
    for (int64_t t = 0; t < terms; t++) {
        vec<acc_t> term = load_some<acc_t>(at(row, t * stride) + x, n - x);
        if (!unit) term *= w[t];
        total = t > 0 || onto ? total + term : term;
    }
    store_some(sum + x, total, n - x);
}

/* Calls work with the number of terms, up to four as a compile-time constant. */
template <class function> INLINE void with_terms(int64_t terms, function work) {
    switch (terms) {
    case 0: work(std::integral_constant<int64_t, 0>()); break;
    case 1: work(std::integral_constant<int64_t, 1>()); break;
    case 2: work(std::integral_constant<int64_t, 2>()); break;
    case 3: work(std::integral_constant<int64_t, 3>()); break;
    case 4: work(std::integral_constant<int64_t, 4>()); break;
    default: work(terms);
    }
}

/* Rows summed at once: more streams of DRAM are slower than continuing a sum in the cache. */
constexpr int64_t STREAMS = 4;

template <bool unit, class acc_t, class element>
static __attribute__((noinline)) void sum_streams(acc_t *sum, const element *row, int64_t stride, int64_t terms,
                                                  const acc_t *w, int64_t n, bool onto, int64_t distance) {
    for (; terms > STREAMS; terms -= STREAMS, onto = true) {
        sum_run<unit>(sum, row, stride, STREAMS, w, n, onto, distance);
        row = at(row, STREAMS * stride);
        if (!unit) w += STREAMS;
    }
    with_terms(terms, [=](auto count) { sum_run<unit>(sum, row, stride, count, w, n, onto, distance); });
}

/* sum[x] (+)= w[0]*row0[x] + w[1]*row1[x] + ... for x < n, over `terms` rows `stride` bytes apart.
 * distance: bytes to prefetch ahead, or 0. */
template <class acc_t>
static inline void sum_rows(acc_t *sum, const char *row, int64_t dtype, int64_t stride, int64_t terms, const acc_t *w,
                            int64_t n, bool onto, int64_t distance) {
    with_element<acc_t>(dtype, [=](auto element) {
        auto *elements = (const decltype(element) *)row;
        if (w)
            sum_streams<false>(sum, elements, stride, terms, w, n, onto, distance);
        else
            sum_streams<true>(sum, elements, stride, terms, w, n, onto, distance);
    });
}

/* Calls work with a row's length, as a compile-time constant if it is 1, 2 or 4 vectors. */
template <class acc_t, class function> INLINE void with_length(int64_t n, function work) {
    constexpr int V = LANES<acc_t>;
    switch (n) {
    case V: work(std::integral_constant<int64_t, V>()); break;
    case 2 * V: work(std::integral_constant<int64_t, 2 * V>()); break;
    case 4 * V: work(std::integral_constant<int64_t, 4 * V>()); break;
    default: work(n);
    }
}

/* Results first .. last of a band. Neighbours with equally many terms share a loop, which then needs no branches. */
template <bool unit, class acc_t, class out, class length>
static __attribute__((noinline)) void sum_results(out *sums, int64_t sums_stride, const acc_t *rows, int64_t stride,
                                                  const band_t *band, int64_t first, int64_t last, length n) {
    const int64_t *lo = band->lo, *start = band->start;
    rows = at(rows, -lo[first] * stride);
    for (int64_t k = first, end; k < last; k = end) {
        int64_t terms = start[k + 1] - start[k];
        for (end = k + 1; end < last && start[end + 1] - start[end] == terms;) end++;
        with_terms(terms, [=](auto count) __attribute__((always_inline)) {
            const acc_t *w = unit ? nullptr : (const acc_t *)band->w + start[k];
            out *sum = at(sums, (k - first) * sums_stride);
            for (int64_t j = k; j < end; j++, sum = at(sum, sums_stride), w += unit ? 0 : count)
                sum_run<unit>(sum, at(rows, lo[j] * stride), stride, count, w, n, false);
        });
    }
}

/* sums[k] = the band's result first + k, a row of n elements; rows[0] is source lo[first]. Strides in bytes. */
template <class acc_t>
static inline void sum_band(char *sums, int64_t dtype, int64_t sums_stride, const acc_t *rows, int64_t stride,
                            const band_t *band, int64_t first, int64_t last, int64_t n) {
    with_element<acc_t>(dtype, [=](auto element) {
        auto *elements = (decltype(element) *)sums;
        with_length<acc_t>(n, [=](auto length) {
            if (band->w)
                sum_results<false>(elements, sums_stride, rows, stride, band, first, last, length);
            else
                sum_results<true>(elements, sums_stride, rows, stride, band, first, last, length);
        });
    });
}

static const int64_t vector_lanes = LANES<float>;
/* A row's length in scratch, whose padding may hold anything: at least a vector. */
static inline int64_t padded(int64_t n, int64_t acc_size) {
    return n * acc_size < VECTOR_BYTES ? VECTOR_BYTES / acc_size : n;
}

/* ---- One row, rounded ---- */

template <class element, class acc_t>
static __attribute__((noinline)) void round_elements(element *row, const acc_t *sum, int64_t n) {
    constexpr int V = LANES<acc_t>;
    int64_t x = 0;
    for (; x + V <= n; x += V) store(row + x, load(sum + x));
    if (x < n) store_some(row + x, load_some<acc_t>(sum + x, n - x), n - x);
}

/* row[x] = sum[x] rounded, for x < n. */
template <class acc_t> static inline void round_row(char *row, int64_t dtype, const acc_t *sum, int64_t n) {
    with_element<acc_t>(dtype, [=](auto element) { round_elements((decltype(element) *)row, sum, n); });
}

/* ---- Moving bytes ---- */

template <int size>
INLINE void move_elements(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t n) {
    for (int64_t x = 0; x < n; x++) memcpy(to + x * to_stride, from + x * from_stride, size);
}

/* memcpy without a call for few bytes: two overlapping copies, or 16 bytes at a time. */
INLINE void copy_bytes(char *to, const char *from, int64_t n) {
    if (n > 128 || n < 2) {
        memcpy(to, from, n);
    } else if (n >= 16) {
        for (int64_t x = 0; x < n - 16; x += 16) memcpy(to + x, from + x, 16);
        memcpy(to + n - 16, from + n - 16, 16);
    } else if (n >= 8) {
        memcpy(to, from, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        memcpy(to, from, 4);
        memcpy(to + n - 4, from + n - 4, 4);
    } else {
        memcpy(to, from, 2);
        memcpy(to + n - 2, from + n - 2, 2);
    }
}

/* move_elements, with the strides that compilers vectorize as constants: reversed rows, every other element. */
template <int size>
INLINE void move_sized(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t n) {
    if (to_stride == size && from_stride == -size)
        move_elements<size>(to, size, from, -size, n);
    else if (to_stride == size && from_stride == 2 * size)
        move_elements<size>(to, size, from, 2 * size, n);
    else
        move_elements<size>(to, to_stride, from, from_stride, n);
}

/* Moves n elements of `size` bytes between any strides. */
static inline void move_any(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t n,
                            int64_t size) {
    switch (size) {
    case 1: move_sized<1>(to, to_stride, from, from_stride, n); break;
    case 2: move_sized<2>(to, to_stride, from, from_stride, n); break;
    case 4: move_sized<4>(to, to_stride, from, from_stride, n); break;
    case 8: move_sized<8>(to, to_stride, from, from_stride, n); break;
    case 16: move_sized<16>(to, to_stride, from, from_stride, n); break;
    default:
        for (int64_t x = 0; x < n; x++) copy_bytes(to + x * to_stride, from + x * from_stride, size);
    }
}

/* Moves a row of w x pixel elements between any strides; the inner loop runs along the result's smaller stride. */
static inline void move_row(char *to, int64_t to_w, int64_t to_element, const char *from, int64_t from_w,
                            int64_t from_element, int64_t w, int64_t pixel, int64_t itemsize) {
    bool w_inside = pixel == 1 || (to_w < 0 ? -to_w : to_w) < (to_element < 0 ? -to_element : to_element);
    int64_t n = w_inside ? w : pixel, rest = w_inside ? pixel : w;
    int64_t to_n = w_inside ? to_w : to_element, to_rest = w_inside ? to_element : to_w;
    int64_t from_n = w_inside ? from_w : from_element, from_rest = w_inside ? from_element : from_w;
    for (int64_t i = 0; i < rest; i++, to += to_rest, from += from_rest) {
        if (to_n == itemsize && from_n == itemsize)
            copy_bytes(to, from, n * itemsize);
        else
            move_any(to, to_n, from, from_n, n, itemsize);
    }
}

/* `count` rows of zeros. */
static inline void clear_rows(char *row, int64_t stride, int64_t bytes, int64_t count) {
    for (; count > 0; count--, row += stride) memset(row, 0, bytes);
}

/* Copies n bytes that will not be read soon: whole cache lines bypass the cache. */
static inline void stream_bytes(char *to, const char *from, int64_t n) {
    int64_t head = -(intptr_t)to & (CACHE_LINE - 1);
    if (head > n) head = n;
    memcpy(to, from, head);
    int64_t x = head;
    for (; x + CACHE_LINE <= n; x += CACHE_LINE) stream_line(to + x, from + x);
    memcpy(to + x, from + x, n - x);
}

/* Source bytes to prefetch little by little: `runs` of `bytes` each, `stride` apart. */
typedef struct {
    const char *run;
    int64_t done, bytes, runs, stride;
    int64_t step; /* bytes per result row finished meanwhile */
} prefetch_t;

/* Prefetches the bytes that belong to `rows` more result rows, to keep memory busy while sums run in the cache. */
static inline void prefetch_some(prefetch_t *next, int64_t rows) {
    for (int64_t left = rows * next->step; left > 0 && next->runs > 0;) {
        int64_t end = next->done + left < next->bytes ? next->done + left : next->bytes;
        left -= end - next->done;
        for (; next->done < end; next->done += CACHE_LINE) __builtin_prefetch(next->run + next->done);
        if (end == next->bytes) {
            next->run += next->stride;
            next->runs--;
            next->done = 0;
        }
    }
}

/* ---- The floating-point mode of all threads: nearest even, no flush to zero ---- */

static inline fenv_t enter_default_mode(void) {
    fenv_t found;
    fegetenv(&found);
    fesetenv(FE_DFL_ENV);
    return found;
}
static inline void restore_mode(fenv_t found) { fesetenv(&found); }

#endif
