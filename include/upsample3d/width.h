/* SPDX-License-Identifier: Apache-2.0 */
/* The W pass along a row: rows turned into columns and back, or a table of first sources.
 *
 * Both add a result's terms in the same order as every other pass. Columns take any band. The table wants neighbouring
 * results with neighbouring sources, and is faster when the row grows.
 */
#ifndef UPSAMPLE3D_WIDTH_H
#define UPSAMPLE3D_WIDTH_H

#include <stdint.h>

#include <utility>

#include "job.h"
#include "rows.h"
#include "vectors.h"

/* ---- Rows into columns and back: the W pass is then a sum of rows too ---- */

/* columns[x][r] = rows[r][x] for x < n; rows beyond `count` repeat the last. Cost: log2 V shuffles per vector.
 * If n < V, a vector is still read of each row, and V columns are written. */
template <class acc_t>
static __attribute__((noinline)) void to_columns(acc_t *columns, const acc_t *rows, int64_t stride, int64_t count,
                                                 int64_t n) {
    constexpr int V = LANES<acc_t>;
    for (int64_t x = 0; x < n; x += V) {
        if (x > n - V && n >= V) x = n - V; /* the last block overlaps */
        for (int r = 0; r < COLUMN<acc_t>; r += V) {
            vec<acc_t> m[V];
#pragma GCC unroll 16
            for (int i = 0; i < V; i++) m[i] = load(at(rows, (r + i < count ? r + i : count - 1) * stride) + x);
            transpose<1>(m);
#pragma GCC unroll 16
            for (int i = 0; i < V; i++) store(columns + (x + i) * COLUMN<acc_t> + r, m[i]);
        }
    }
}

template <class element, class acc_t>
static __attribute__((noinline)) void from_columns(element *rows, int64_t stride, const acc_t *columns, int64_t count,
                                                   int64_t n) {
    constexpr int V = LANES<acc_t>;
    for (int64_t x = 0;; x += V) {
        if (x > n - V) x = n >= V ? n - V : 0;
        for (int r = 0; r < COLUMN<acc_t> && r < count; r += V) {
            vec<acc_t> m[V];
#pragma GCC unroll 16
            for (int i = 0; i < V; i++) m[i] = load(columns + (x + i) * COLUMN<acc_t> + r);
            transpose<1>(m);
#pragma GCC unroll 16
            for (int i = 0; i < V; i++)
                if (r + i < count) {
                    if (n >= V)
                        store(at(rows, (r + i) * stride) + x, m[i]);
                    else
                        store_some(at(rows, (r + i) * stride), m[i], n);
                }
        }
        if (x >= n - V) return;
    }
}

/* rows[r][x] = columns[x][r] rounded, for r < count, x < n. `columns` may be read up to a vector past its end. */
template <class acc_t>
static inline void round_columns(char *rows, int64_t dtype, int64_t stride, const acc_t *columns, int64_t count,
                                 int64_t n) {
    with_element<acc_t>(dtype,
                        [=](auto element) { from_columns((decltype(element) *)rows, stride, columns, count, n); });
}

/* ---- Sums by a table: sources are permuted in registers ---- */

/* The smallest first source of the V results from x on, and how far the largest lies above it. */
INLINE int64_t window_begin(const table_t *table, int64_t x) {
    return table->smallest ? table->smallest[x] : table->first[x];
}
INLINE int64_t window_span(const table_t *table, int64_t x) {
    return (table->largest ? table->largest[x] : table->first[x + LANES<float> - 1]) - window_begin(table, x);
}

/* G * V results of `count` rows: target[r][x] = sum over t < T of w[t][x] * rows[r][first[x] + t * step - origin].
 *
 * P terms share a window of sources: V of them if narrow, else 2 V. A window that would pass the row's end is moved
 * back. A missing term has weight 0: its source is masked to +0 and adds +0 * -0 = -0.0, which changes no sum. Cost: T
 * permutations for V results, and two instructions beside each.
 */
template <int T, int G, int P, bool narrow, class element>
INLINE void table_vectors(element *target, int64_t target_stride, const float *rows, int64_t stride, int64_t count,
                          int64_t width, const table_t *table, int64_t x, int64_t origin, int64_t n) {
    constexpr int V = LANES<float>;
    const float *from[G][T];
    ints index[G][T];
    lanes_on used[G][T];
    floats weight[G][T];
    int64_t last = width - (narrow ? V : 2 * V);
    if (last < 0) last = 0;
#pragma GCC unroll 2
    for (int g = 0; g < G; g++)
#pragma GCC unroll 6
        for (int t = 0; t < T; t++) {
            const int32_t *first = table->first + x + g * V;
            int64_t begin = window_begin(table, x + g * V) - origin + t / P * P * table->step;
            if (begin > last) begin = last;
            from[g][t] = rows + begin;
            index[g][t] = read<ints>(first) + (int32_t)(t * table->step - origin - begin);
            weight[g][t] = load(table->w + t * table->stride + x + g * V);
            used[g][t] = not_zero(weight[g][t]);
        }
    for (int64_t r = 0; r < count; r++) {
        floats sum[G], low, high;
#pragma GCC unroll 2
        for (int g = 0; g < G; g++)
#pragma GCC unroll 6
            for (int t = 0; t < T; t++) {
                if (t % P == 0) {
                    const float *row = at(from[g][t], r * stride);
                    low = load(row);
                    if (!narrow) high = load(row + V);
                }
                floats term = narrow ? permute(low, index[g][t]) : permute(low, high, index[g][t]);
                term = keep(used[g][t], term) * weight[g][t];
                sum[g] = t ? sum[g] + term : term;
            }
        if (n >= G * V)
            store_sums<float, G, float>(target, sum);
        else
            store_some(target, sum[0], n);
        target = at(target, target_stride);
    }
}

template <int T, class element>
static __attribute__((noinline)) void table_terms(element *target, int64_t target_stride, const float *rows,
                                                  int64_t stride, int64_t count, int64_t width, const table_t *table,
                                                  int64_t begin, int64_t origin, int64_t n) {
    constexpr int V = LANES<float>, PAIR = T > 1 ? 2 : 1;
    int64_t more = (T - 1) * table->step;
    for (int64_t x = 0; x < n;) {
        bool two = T <= 2 && x + 2 * V <= n;
        if (x > n - V && n >= V) x = n - V; /* the last vector overlaps */
        int64_t span = window_span(table, begin + x);
        bool narrow = span + more < V && (!two || window_span(table, begin + x + V) + more < V);
        if (narrow && two)
            table_vectors<T, T <= 2 ? 2 : 1, T, true>(target + x, target_stride, rows, stride, count, width, table,
                                                      begin + x, origin, n);
        else if (narrow)
            table_vectors<T, 1, T, true>(target + x, target_stride, rows, stride, count, width, table, begin + x,
                                         origin, n);
        else if (T > 1 && span + table->step < 2 * V)
            table_vectors<T, 1, PAIR, false>(target + x, target_stride, rows, stride, count, width, table, begin + x,
                                             origin, n);
        else
            table_vectors<T, 1, 1, false>(target + x, target_stride, rows, stride, count, width, table, begin + x,
                                          origin, n);
        x += narrow && two ? 2 * V : V;
    }
}

/* target[r][x] = result begin + x of rows[r], rounded, for r < count, x < n. Rows have `width` sources, rows[0][0] is
 * source `origin`. If width < 2 V, so much must be readable behind the last row. */
static inline void table_pass(char *target, int64_t dtype, int64_t target_stride, const float *rows, int64_t stride,
                              int64_t count, int64_t width, const table_t *table, int64_t begin, int64_t origin,
                              int64_t n) {
    with_element<float>(dtype, [=](auto element) {
        auto *to = (decltype(element) *)target;
        switch (table->terms) {
        case 1: table_terms<1>(to, target_stride, rows, stride, count, width, table, begin, origin, n); break;
        case 2: table_terms<2>(to, target_stride, rows, stride, count, width, table, begin, origin, n); break;
        case 3: table_terms<3>(to, target_stride, rows, stride, count, width, table, begin, origin, n); break;
        case 4: table_terms<4>(to, target_stride, rows, stride, count, width, table, begin, origin, n); break;
        case 5: table_terms<5>(to, target_stride, rows, stride, count, width, table, begin, origin, n); break;
        default: table_terms<6>(to, target_stride, rows, stride, count, width, table, begin, origin, n);
        }
    });
}

/* ---- Copies along a row ---- */

/* to[x] = row[lo[x] - lo[0]], x < n, whole pixels. */
template <int size> INLINE void copy_pixels(char *to, const char *row, int64_t row_w, const int64_t *lo, int64_t n) {
    for (int64_t x = 0; x < n; x++) memcpy(to + x * size, row + (lo[x] - lo[0]) * row_w, size);
}
static inline void copy_row(char *to, const char *row, int64_t row_w, int64_t row_element, const int64_t *lo, int64_t n,
                            int64_t pixel, int64_t itemsize) {
    if (pixel > 1 && row_element != itemsize) {
        for (int64_t x = 0; x < n; x++)
            move_row(to + x * pixel * itemsize, 0, itemsize, row + (lo[x] - lo[0]) * row_w, 0, row_element, 1, pixel,
                     itemsize);
        return;
    }
    switch (pixel * itemsize) {
    case 1: copy_pixels<1>(to, row, row_w, lo, n); break;
    case 2: copy_pixels<2>(to, row, row_w, lo, n); break;
    case 4: copy_pixels<4>(to, row, row_w, lo, n); break;
    case 8: copy_pixels<8>(to, row, row_w, lo, n); break;
    case 16: copy_pixels<16>(to, row, row_w, lo, n); break;
    case 32: copy_pixels<32>(to, row, row_w, lo, n); break;
    case 64: copy_pixels<64>(to, row, row_w, lo, n); break;
    default:
        for (int64_t x = 0; x < n; x++, to += pixel * itemsize)
            memcpy(to, row + (lo[x] - lo[0]) * row_w, pixel * itemsize);
    }
}

template <bool narrow, class bits>
INLINE void copy_permuted(bits *to, int64_t to_stride, const bits *rows, int64_t stride, const int64_t *row,
                          int64_t count, int64_t width, const table_t *table, int64_t x, int64_t n) {
    constexpr int V = LANES<float>;
    int64_t begin = window_begin(table, x), last = width - (narrow ? V : 2 * V);
    if (begin > last) begin = last > 0 ? last : 0;
    ints index = read<ints>(table->first + x) - (int32_t)begin;
    for (int64_t r = 0; r < count; r++, to = at(to, to_stride)) {
        const bits *from = at(rows, row[r] * stride) + begin;
        floats low = same_bits<floats>(load_bits(from));
        words copied = same_bits<words>(narrow ? permute(low, index)
                                               : permute(low, same_bits<floats>(load_bits(from + V)), index));
        if (n >= V) {
            store_bits(to, copied);
        } else {
            bits some[V];
            store_bits(some, copied);
            copy_some<V / 2>(to, some, n);
        }
    }
}

/* How to make a vector of result bytes: load a vector of source bytes from `begin` on, permute its words so that every
 * 16 bytes hold the sources of the 16 result bytes there, then permute the bytes of each 16. */
struct shuffle_t {
    int64_t begin;
    ints word;
    bytes byte;
};

/* Finds the shuffle of a vector of results from x on, all in the row, of `size`-byte elements; false if their sources
 * lie too far apart. */
template <int size> INLINE bool find_shuffle(shuffle_t *how, const table_t *table, int64_t x, int64_t width) {
    constexpr int RUN = 16 / size;
    const uint8_t *place = table->byte + x * size;
    int64_t begin = table->first[x] * (int64_t)size, last = width * size - VECTOR_BYTES;
    if (begin > last) begin = last > 0 ? last : 0;
    int32_t word[VECTOR_BYTES / 4];
    uint32_t origin[VECTOR_BYTES / 4];
    bool found = true;
#pragma GCC unroll 4
    for (int i = 0; i < VECTOR_BYTES / 16; i++, x += RUN) {
        int64_t from = (table->first[x] * (int64_t)size - begin) & ~3;
        if (from > VECTOR_BYTES - 16) from = VECTOR_BYTES - 16;
        found &= (table->first[x + RUN - 1] + 1) * (int64_t)size <= begin + from + 16;
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            word[4 * i + k] = (int32_t)from / 4 + k;
            origin[4 * i + k] = (uint8_t)(begin + from) * 0x01010101u;
        }
    }
    how->begin = begin;
    how->word = read<ints>(word);
    how->byte = read<bytes>(place) - read<bytes>(origin);
    return found;
}

template <class bits>
INLINE void copy_shuffled(bits *to, int64_t to_stride, const bits *rows, int64_t stride, const int64_t *row,
                          int64_t count, const shuffle_t *how) {
    for (int64_t r = 0; r < count; r++, to = at(to, to_stride)) {
        floats window = read<floats>(at(rows, row[r] * stride + how->begin));
        if (VECTOR_BYTES > 16) window = permute(window, how->word);
        bytes copied = shuffle(same_bits<bytes>(window), how->byte);
        memcpy(to, &copied, sizeof copied);
    }
}

template <class bits>
static __attribute__((noinline)) void table_copy_rows(bits *to, int64_t to_stride, const bits *rows, int64_t stride,
                                                      const int64_t *row, int64_t count, int64_t width,
                                                      const table_t *table, int64_t begin, int64_t n) {
    constexpr int V = LANES<float>, MANY = VECTOR_BYTES / sizeof(bits);
    for (int64_t x = 0; x < n;) {
        shuffle_t how;
        int64_t some = x < n - MANY ? x : n - MANY; /* the last vector overlaps */
        if (table->byte && some >= 0 && find_shuffle<sizeof(bits)>(&how, table, begin + some, width)) {
            copy_shuffled(to + some, to_stride, rows, stride, row, count, &how);
            x = some + MANY;
            continue;
        }
        if (x > n - V && n >= V) x = n - V;
        if (window_span(table, begin + x) < V)
            copy_permuted<true>(to + x, to_stride, rows, stride, row, count, width, table, begin + x, n);
        else
            copy_permuted<false>(to + x, to_stride, rows, stride, row, count, width, table, begin + x, n);
        x += V;
    }
}

/* to[r][x] = rows[row[r]][first[begin + x]] for r < count, x < n, elements of 1, 2 or 4 bytes. If a row is shorter
 * than 2 V elements or a vector of bytes, so much must be readable. */
static inline void table_copy(char *to, int64_t to_stride, const char *rows, int64_t stride, const int64_t *row,
                              int64_t count, int64_t itemsize, int64_t width, const table_t *table, int64_t begin,
                              int64_t n) {
    if (itemsize == 1)
        table_copy_rows((uint8_t *)to, to_stride, (const uint8_t *)rows, stride, row, count, width, table, begin, n);
    else if (itemsize == 2)
        table_copy_rows((uint16_t *)to, to_stride, (const uint16_t *)rows, stride, row, count, width, table, begin, n);
    else
        table_copy_rows((uint32_t *)to, to_stride, (const uint32_t *)rows, stride, row, count, width, table, begin, n);
}

#endif
