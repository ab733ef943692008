/* SPDX-License-Identifier: Apache-2.0 */
/* The W pass where it runs along the row: rows are turned into columns and back, or lanes are looked up.
 *
 * Both add the terms of a result in the same order as everywhere. Columns take any band; looking up takes bands whose
 * neighbouring results have neighbouring sources, and wins where a row of results is longer than its sources.
 */
#ifndef UPSAMPLE3D_WIDTH_H
#define UPSAMPLE3D_WIDTH_H

#include <stdint.h>

#include <utility>

#include "job.h"
#include "rows.h"
#include "vectors.h"

/* ---- Rows into columns and back, so that the W pass is a sum of rows too ---- */

/* columns[x][r] = rows[r][x] for x < n; rows beyond `count` repeat the last. Cost: log2 V shuffles per vector.
 * A vector is read of each row, and so many columns are written, even where n is less. */
template <class real>
static __attribute__((noinline)) void to_columns(real *columns, const real *rows, int64_t stride, int64_t count,
                                                 int64_t n) {
    constexpr int V = LANES<real>;
    for (int64_t x = 0; x < n; x += V) {
        if (x > n - V && n >= V) x = n - V; /* the last block overlaps */
        for (int r = 0; r < COLUMN<real>; r += V) {
            vec<real> m[V];
#pragma GCC unroll 16
            for (int i = 0; i < V; i++) m[i] = load(at(rows, (r + i < count ? r + i : count - 1) * stride) + x);
            transpose<1>(m);
#pragma GCC unroll 16
            for (int i = 0; i < V; i++) store(columns + (x + i) * COLUMN<real> + r, m[i]);
        }
    }
}

template <class element, class real>
static __attribute__((noinline)) void from_columns(element *rows, int64_t stride, const real *columns, int64_t count,
                                                   int64_t n) {
    constexpr int V = LANES<real>;
    for (int64_t x = 0;; x += V) {
        if (x > n - V) x = n >= V ? n - V : 0;
        for (int r = 0; r < COLUMN<real> && r < count; r += V) {
            vec<real> m[V];
#pragma GCC unroll 16
            for (int i = 0; i < V; i++) m[i] = load(columns + (x + i) * COLUMN<real> + r);
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
template <class real>
static inline void round_columns(char *rows, int64_t dtype, int64_t stride, const real *columns, int64_t count,
                                 int64_t n) {
    with_element<real>(dtype,
                       [=](auto element) { from_columns((decltype(element) *)rows, stride, columns, count, n); });
}

/* ---- Lanes looked up in registers ---- */

/* The first sources of V results: the smallest, and how far the largest lies above it. */
struct reach_t {
    int64_t least, span;
};
INLINE reach_t reach(const lookup_t *table, int64_t x) {
    int64_t least = table->least ? table->least[x] : table->first[x];
    return {least, (table->most ? table->most[x] : table->first[x + LANES<float> - 1]) - least};
}

/* G * V results of `count` rows: target[r][x] = sum over t < T of w[t][x] * rows[r][first[x] + t * step - origin].
 *
 * P terms at a time share a window of sources: V of them if narrow, else 2 V. Windows are drawn back where they would
 * pass the row's end. A result with fewer terms has weight 0 there, and what it looks up counts as +0 times -0: it adds
 * -0.0, which changes no sum. Cost: T permutations for V results, and two instructions beside each.
 */
template <int T, int G, int P, bool narrow, class element>
INLINE void look_up(element *target, int64_t target_stride, const float *rows, int64_t stride, int64_t count,
                    int64_t width, const lookup_t *table, int64_t x, int64_t origin, int64_t n) {
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
            int64_t begin = reach(table, x + g * V).least - origin + t / P * P * table->step;
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
                floats term = narrow ? lookup(low, index[g][t]) : lookup(low, high, index[g][t]);
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
static __attribute__((noinline)) void look_up_terms(element *target, int64_t target_stride, const float *rows,
                                                    int64_t stride, int64_t count, int64_t width, const lookup_t *table,
                                                    int64_t begin, int64_t origin, int64_t n) {
    constexpr int V = LANES<float>, PAIR = T > 1 ? 2 : 1;
    int64_t more = (T - 1) * table->step;
    for (int64_t x = 0; x < n;) {
        bool two = T <= 2 && x + 2 * V <= n;
        if (x > n - V && n >= V) x = n - V; /* the last ones overlap */
        int64_t span = reach(table, begin + x).span;
        bool narrow = span + more < V && (!two || reach(table, begin + x + V).span + more < V);
        if (narrow && two)
            look_up<T, T <= 2 ? 2 : 1, T, true>(target + x, target_stride, rows, stride, count, width, table, begin + x,
                                                origin, n);
        else if (narrow)
            look_up<T, 1, T, true>(target + x, target_stride, rows, stride, count, width, table, begin + x, origin, n);
        else if (T > 1 && span + table->step < 2 * V)
            look_up<T, 1, PAIR, false>(target + x, target_stride, rows, stride, count, width, table, begin + x, origin,
                                       n);
        else
            look_up<T, 1, 1, false>(target + x, target_stride, rows, stride, count, width, table, begin + x, origin, n);
        x += narrow && two ? 2 * V : V;
    }
}

/* rows' results begin .. begin + n of a table, rounded, for `count` rows of `width` sources, rows[0][0] being source
 * `origin`. Where width < 2 V, so much must be readable behind the last row. */
static inline void look_up_rows(char *target, int64_t dtype, int64_t target_stride, const float *rows, int64_t stride,
                                int64_t count, int64_t width, const lookup_t *table, int64_t begin, int64_t origin,
                                int64_t n) {
    with_element<float>(dtype, [=](auto element) {
        auto *to = (decltype(element) *)target;
        switch (table->terms) {
        case 1: look_up_terms<1>(to, target_stride, rows, stride, count, width, table, begin, origin, n); break;
        case 2: look_up_terms<2>(to, target_stride, rows, stride, count, width, table, begin, origin, n); break;
        case 3: look_up_terms<3>(to, target_stride, rows, stride, count, width, table, begin, origin, n); break;
        case 4: look_up_terms<4>(to, target_stride, rows, stride, count, width, table, begin, origin, n); break;
        case 5: look_up_terms<5>(to, target_stride, rows, stride, count, width, table, begin, origin, n); break;
        default: look_up_terms<6>(to, target_stride, rows, stride, count, width, table, begin, origin, n);
        }
    });
}

/* to[x] = row[lo[x] - lo[0]], x < n, each of `lanes` elements: a row of sources `width` long, picked from. */
template <int size> INLINE void pick_elements(char *to, const char *row, int64_t row_w, const int64_t *lo, int64_t n) {
    for (int64_t x = 0; x < n; x++) memcpy(to + x * size, row + (lo[x] - lo[0]) * row_w, size);
}
static inline void pick_row(char *to, const char *row, int64_t row_w, int64_t row_lane, const int64_t *lo, int64_t n,
                            int64_t lanes, int64_t itemsize) {
    if (lanes > 1 && row_lane != itemsize) {
        for (int64_t x = 0; x < n; x++)
            move_row(to + x * lanes * itemsize, 0, itemsize, row + (lo[x] - lo[0]) * row_w, 0, row_lane, 1, lanes,
                     itemsize);
        return;
    }
    switch (lanes * itemsize) {
    case 1: pick_elements<1>(to, row, row_w, lo, n); break;
    case 2: pick_elements<2>(to, row, row_w, lo, n); break;
    case 4: pick_elements<4>(to, row, row_w, lo, n); break;
    case 8: pick_elements<8>(to, row, row_w, lo, n); break;
    case 16: pick_elements<16>(to, row, row_w, lo, n); break;
    case 32: pick_elements<32>(to, row, row_w, lo, n); break;
    case 64: pick_elements<64>(to, row, row_w, lo, n); break;
    default:
        for (int64_t x = 0; x < n; x++, to += lanes * itemsize)
            memcpy(to, row + (lo[x] - lo[0]) * row_w, lanes * itemsize);
    }
}

template <bool narrow, class bits>
INLINE void look_up_bits(bits *to, int64_t to_stride, const bits *rows, int64_t stride, const int64_t *row,
                         int64_t count, int64_t width, const lookup_t *table, int64_t x, int64_t n) {
    constexpr int V = LANES<float>;
    int64_t begin = reach(table, x).least, last = width - (narrow ? V : 2 * V);
    if (begin > last) begin = last > 0 ? last : 0;
    ints index = read<ints>(table->first + x) - (int32_t)begin;
    for (int64_t r = 0; r < count; r++, to = at(to, to_stride)) {
        const bits *from = at(rows, row[r] * stride) + begin;
        floats low = same_bits<floats>(load_bits(from));
        words picked =
            same_bits<words>(narrow ? lookup(low, index) : lookup(low, same_bits<floats>(load_bits(from + V)), index));
        if (n >= V) {
            store_bits(to, picked);
        } else {
            bits some[V];
            store_bits(some, picked);
            copy_some<V / 2>(to, some, n);
        }
    }
}

/* How a vector of result bytes is picked: a vector of source bytes from byte `begin` on, its words put where every 16
 * bytes of results find theirs in 16, and the bytes of each 16 in order. */
struct shuffle_t {
    int64_t begin;
    ints word;
    bytes byte;
};

/* Finds it for a vector of results from x on, all of them in the row, of elements of `size` bytes; false where their
 * sources lie too far apart. */
template <int size> INLINE bool find_shuffle(shuffle_t *how, const lookup_t *table, int64_t x, int64_t width) {
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
INLINE void look_up_bytes(bits *to, int64_t to_stride, const bits *rows, int64_t stride, const int64_t *row,
                          int64_t count, const shuffle_t *how) {
    for (int64_t r = 0; r < count; r++, to = at(to, to_stride)) {
        floats window = read<floats>(at(rows, row[r] * stride + how->begin));
        if (VECTOR_BYTES > 16) window = lookup(window, how->word);
        bytes picked = shuffle(same_bits<bytes>(window), how->byte);
        memcpy(to, &picked, sizeof picked);
    }
}

template <class bits>
static __attribute__((noinline)) void pick_bits(bits *to, int64_t to_stride, const bits *rows, int64_t stride,
                                                const int64_t *row, int64_t count, int64_t width, const lookup_t *table,
                                                int64_t begin, int64_t n) {
    constexpr int V = LANES<float>, MANY = VECTOR_BYTES / sizeof(bits);
    for (int64_t x = 0; x < n;) {
        shuffle_t how;
        int64_t some = x < n - MANY ? x : n - MANY; /* the last ones overlap */
        if (table->byte && some >= 0 && find_shuffle<sizeof(bits)>(&how, table, begin + some, width)) {
            look_up_bytes(to + some, to_stride, rows, stride, row, count, &how);
            x = some + MANY;
            continue;
        }
        if (x > n - V && n >= V) x = n - V;
        if (reach(table, begin + x).span < V)
            look_up_bits<true>(to + x, to_stride, rows, stride, row, count, width, table, begin + x, n);
        else
            look_up_bits<false>(to + x, to_stride, rows, stride, row, count, width, table, begin + x, n);
        x += V;
    }
}

/* to[r][x] = rows[row[r]][first[begin + x]], r < count, x < n, elements of 8, 16 or 32 bits, through a table. Where
 * rows are shorter than 2 V elements or a vector of bytes, so much must be readable. */
static inline void pick_lanes(char *to, int64_t to_stride, const char *rows, int64_t stride, const int64_t *row,
                              int64_t count, int64_t itemsize, int64_t width, const lookup_t *table, int64_t begin,
                              int64_t n) {
    if (itemsize == 1)
        pick_bits((uint8_t *)to, to_stride, (const uint8_t *)rows, stride, row, count, width, table, begin, n);
    else if (itemsize == 2)
        pick_bits((uint16_t *)to, to_stride, (const uint16_t *)rows, stride, row, count, width, table, begin, n);
    else
        pick_bits((uint32_t *)to, to_stride, (const uint32_t *)rows, stride, row, count, width, table, begin, n);
}

#endif
