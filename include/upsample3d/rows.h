/* SPDX-License-Identifier: Apache-2.0 */
/* What a row is: sum rows with weights, round and store, move, pick.
 *
 * Elements are what memory holds: float, double, f16, bf16. Reals are what is summed: float, or double for double.
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

/* Calls work with an element of this dtype: the one place where a number becomes a type. */
template <class real, class function> INLINE void with_element(int64_t dtype, function work) {
    if constexpr (sizeof(real) == sizeof(double)) {
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

/* V vectors of sum[x] = w[0]*row0[x] + w[1]*row1[x] + ..., rows `stride` bytes apart, continuing `sum` when onto; +0.0
 * without terms. */
template <int V, bool unit, class real, class element, class out>
INLINE void sum_vectors(out *sum, const element *row, int64_t stride, int64_t terms, const real *w, bool onto) {
    vec<real> total[V] = {}, term[V];
    if (terms > 0) load_vectors<V, real>(total, row);
    if (!unit && terms > 0) {
#pragma GCC unroll 4
        for (int v = 0; v < V; v++) total[v] *= w[0];
    }
    if constexpr (std::is_same_v<out, real>) {
        if (onto) {
            load_sums<element, V>(term, sum);
#pragma GCC unroll 4
            for (int v = 0; v < V; v++) total[v] = term[v] + total[v];
        }
    }
#pragma GCC unroll 4
    for (int64_t t = 1; t < terms; t++) {
        row = at(row, stride);
        load_vectors<V, real>(term, row);
#pragma GCC unroll 4
        for (int v = 0; v < V; v++) total[v] += unit ? term[v] : term[v] * w[t];
    }
    store_sums<element, V, real>(sum, total);
}

/* Asks for the same vectors of the last two rows `ahead` bytes further on: no sum before has read these, and what the
 * CPU prefetches by itself ends with a page. */
template <int V, class real, class element>
INLINE void ask_ahead(const element *row, int64_t stride, int64_t terms, int64_t ahead) {
    for (int64_t t = terms > 2 ? terms - 2 : 0; t < terms; t++)
        for (int64_t x = 0; x < V * LANES<real>; x += CACHE_LINE / sizeof(element))
            __builtin_prefetch(at(row + x, t * stride + ahead));
}

/* n of them. The end is an overlapping vector where that is possible: what it writes twice is the same. */
template <bool unit, class real, class element, class out>
INLINE void sum_run(out *sum, const element *row, int64_t stride, int64_t terms, const real *w, int64_t n, bool onto,
                    int64_t ahead = 0) {
    constexpr int V = LANES<real>;
    int64_t x = 0;
    for (; x + 4 * V <= n; x += 4 * V) {
        if (ahead) ask_ahead<4, real>(row + x, stride, terms, ahead);
        sum_vectors<4, unit>(sum + x, row + x, stride, terms, w, onto);
    }
    for (; x + 2 * V <= n; x += 2 * V) sum_vectors<2, unit>(sum + x, row + x, stride, terms, w, onto);
    for (; x + V <= n; x += V) sum_vectors<1, unit>(sum + x, row + x, stride, terms, w, onto);
    if (x == n) return;
    if (n >= V && !onto) {
        sum_vectors<1, unit>(sum + n - V, row + n - V, stride, terms, w, onto);
        return;
    }
    vec<real> total = onto ? load_some<real>(sum + x, n - x) : vec<real>{};
    for (int64_t t = 0; t < terms; t++) {
        vec<real> term = load_some<real>(at(row, t * stride) + x, n - x);
        if (!unit) term *= w[t];
        total = t > 0 || onto ? total + term : term;
    }
    store_some(sum + x, total, n - x);
}

/* Calls work with the number of terms, up to four as a constant of the compiler's. */
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

/* More than so many streams of DRAM at once are slower than a sum that is kept in the cache and continued. */
constexpr int64_t STREAMS = 4;

template <bool unit, class real, class element>
static __attribute__((noinline)) void sum_streams(real *sum, const element *row, int64_t stride, int64_t terms,
                                                  const real *w, int64_t n, bool onto, int64_t ahead) {
    for (; terms > STREAMS; terms -= STREAMS, onto = true) {
        sum_run<unit>(sum, row, stride, STREAMS, w, n, onto, ahead);
        row = at(row, STREAMS * stride);
        if (!unit) w += STREAMS;
    }
    with_terms(terms, [=](auto count) { sum_run<unit>(sum, row, stride, count, w, n, onto, ahead); });
}

/* sum[x] (+)= w[0]*row0[x] + w[1]*row1[x] + ... for x < n: n elements of `terms` rows that lie `stride` bytes apart.
 * ahead: how many bytes ahead new ones are asked for, or 0. */
template <class real>
static inline void sum_rows(real *sum, const char *row, int64_t dtype, int64_t stride, int64_t terms, const real *w,
                            int64_t n, bool onto, int64_t ahead) {
    with_element<real>(dtype, [=](auto element) {
        auto *elements = (const decltype(element) *)row;
        if (w)
            sum_streams<false>(sum, elements, stride, terms, w, n, onto, ahead);
        else
            sum_streams<true>(sum, elements, stride, terms, w, n, onto, ahead);
    });
}

/* Calls work with a row's length: as a constant of the compiler's, if it is the vectors that a loop takes at once. */
template <class real, class function> INLINE void with_length(int64_t n, function work) {
    constexpr int V = LANES<real>;
    switch (n) {
    case V: work(std::integral_constant<int64_t, V>()); break;
    case 2 * V: work(std::integral_constant<int64_t, 2 * V>()); break;
    case 4 * V: work(std::integral_constant<int64_t, 4 * V>()); break;
    default: work(n);
    }
}

/* Results first .. last of a band; neighbours of as many terms each are summed together, so that their loop has no
 * branches for them. */
template <bool unit, class real, class out, class length>
static __attribute__((noinline)) void sum_results(out *sums, int64_t sums_stride, const real *rows, int64_t stride,
                                                  const band_t *band, int64_t first, int64_t last, length n) {
    const int64_t *lo = band->lo, *start = band->start;
    rows = at(rows, -lo[first] * stride);
    for (int64_t k = first, end; k < last; k = end) {
        int64_t terms = start[k + 1] - start[k];
        for (end = k + 1; end < last && start[end + 1] - start[end] == terms;) end++;
        with_terms(terms, [=](auto count) __attribute__((always_inline)) {
            const real *w = unit ? nullptr : (const real *)band->w + start[k];
            out *sum = at(sums, (k - first) * sums_stride);
            for (int64_t j = k; j < end; j++, sum = at(sum, sums_stride), w += unit ? 0 : count)
                sum_run<unit>(sum, at(rows, lo[j] * stride), stride, count, w, n, false);
        });
    }
}

/* The same, each a row of n elements; rows[0] is source lo[first]. Strides in bytes. */
template <class real>
static inline void sum_band(char *sums, int64_t dtype, int64_t sums_stride, const real *rows, int64_t stride,
                            const band_t *band, int64_t first, int64_t last, int64_t n) {
    with_element<real>(dtype, [=](auto element) {
        auto *elements = (decltype(element) *)sums;
        with_length<real>(n, [=](auto length) {
            if (band->w)
                sum_results<false>(elements, sums_stride, rows, stride, band, first, last, length);
            else
                sum_results<true>(elements, sums_stride, rows, stride, band, first, last, length);
        });
    });
}

/* How many reals of a row are summed in scratch, where what is beyond its end does not matter: a vector at least. */
static const int64_t vector_lanes = LANES<float>;
static inline int64_t padded(int64_t n, int64_t realsize) {
    return n * realsize < VECTOR_BYTES ? VECTOR_BYTES / realsize : n;
}

/* ---- One row, rounded ---- */

template <class element, class real>
static __attribute__((noinline)) void round_elements(element *row, const real *sum, int64_t n) {
    constexpr int V = LANES<real>;
    int64_t x = 0;
    for (; x + V <= n; x += V) store(row + x, load(sum + x));
    if (x < n) store_some(row + x, load_some<real>(sum + x, n - x), n - x);
}

/* row[x] = sum[x] rounded, for x < n. */
template <class real> static inline void round_row(char *row, int64_t dtype, const real *sum, int64_t n) {
    with_element<real>(dtype, [=](auto element) { round_elements((decltype(element) *)row, sum, n); });
}

/* ---- Bytes from here to there ---- */

template <int size>
INLINE void move_elements(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t n) {
    for (int64_t x = 0; x < n; x++) memcpy(to + x * to_stride, from + x * from_stride, size);
}

/* memcpy, but without a call for a few bytes: two copies that overlap, or 16 bytes at a time. */
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

/* Also with the strides that compilers know to make vectors of: a row from its end, and every other element. */
template <int size>
INLINE void move_sized(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t n) {
    if (to_stride == size && from_stride == -size)
        move_elements<size>(to, size, from, -size, n);
    else if (to_stride == size && from_stride == 2 * size)
        move_elements<size>(to, size, from, 2 * size, n);
    else
        move_elements<size>(to, to_stride, from, from_stride, n);
}

/* n elements of `size` bytes between any strides. */
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

/* A row of w x lanes elements between any strides; the inner loop runs along the smaller stride of the result. */
static inline void move_row(char *to, int64_t to_w, int64_t to_lane, const char *from, int64_t from_w,
                            int64_t from_lane, int64_t w, int64_t lanes, int64_t itemsize) {
    bool w_inside = lanes == 1 || (to_w < 0 ? -to_w : to_w) < (to_lane < 0 ? -to_lane : to_lane);
    int64_t n = w_inside ? w : lanes, rest = w_inside ? lanes : w;
    int64_t to_n = w_inside ? to_w : to_lane, to_rest = w_inside ? to_lane : to_w;
    int64_t from_n = w_inside ? from_w : from_lane, from_rest = w_inside ? from_lane : from_w;
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

/* n bytes from the cache to memory that will not be read soon: whole cache lines go past the cache. */
static inline void stream_bytes(char *to, const char *from, int64_t n) {
    int64_t head = -(intptr_t)to & (CACHE_LINE - 1);
    if (head > n) head = n;
    memcpy(to, from, head);
    int64_t x = head;
    for (; x + CACHE_LINE <= n; x += CACHE_LINE) stream_line(to + x, from + x);
    memcpy(to + x, from + x, n - x);
}

/* Source bytes that will be read soon: `runs` of them, each `bytes` long, `stride` apart, asked for little by little.
 */
typedef struct {
    const char *run;
    int64_t done, bytes, runs, stride;
    int64_t step; /* bytes for each result row that is finished meanwhile */
} ahead_t;

/* Asks for what belongs to `rows` more result rows, so that the memory is busy while sums in the cache are at work. */
static inline void read_ahead(ahead_t *ahead, int64_t rows) {
    for (int64_t left = rows * ahead->step; left > 0 && ahead->runs > 0;) {
        int64_t end = ahead->done + left < ahead->bytes ? ahead->done + left : ahead->bytes;
        left -= end - ahead->done;
        for (; ahead->done < end; ahead->done += CACHE_LINE) __builtin_prefetch(ahead->run + ahead->done);
        if (end == ahead->bytes) {
            ahead->run += ahead->stride;
            ahead->runs--;
            ahead->done = 0;
        }
    }
}

/* ---- The floating-point mode a worker computes in: nearest even, no flush to zero ---- */

static inline fenv_t enter_default_mode(void) {
    fenv_t found;
    fegetenv(&found);
    fesetenv(FE_DFL_ENV);
    return found;
}
static inline void restore_mode(fenv_t found) { fesetenv(&found); }

#endif
