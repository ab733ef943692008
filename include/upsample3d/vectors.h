/* SPDX-License-Identifier: Apache-2.0 */
/* What a vector is on this CPU level, and what 16 bits mean: load and widen, round and store. */
#ifndef UPSAMPLE3D_VECTORS_H
#define UPSAMPLE3D_VECTORS_H

#include <stdint.h>
#include <string.h>

#include <utility>

#include "job.h"

/* The only lines of the project that test for instructions. */
#if defined(__AVX512F__) && defined(__AVX512BW__)
#include <immintrin.h>
#define VECTOR_BYTES 64
#elif defined(__AVX2__) && defined(__F16C__)
#include <immintrin.h>
#define VECTOR_BYTES 32
#else
#ifdef __SSSE3__
#include <immintrin.h>
#endif
#define VECTOR_BYTES 16
#endif

#define INLINE static inline __attribute__((always_inline))

struct f16 {
    uint16_t bits;
};
struct bf16 {
    uint16_t bits;
};

typedef float floats __attribute__((vector_size(VECTOR_BYTES)));
typedef double doubles __attribute__((vector_size(VECTOR_BYTES)));
typedef uint32_t words __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t ints __attribute__((vector_size(VECTOR_BYTES)));
typedef uint16_t halves __attribute__((vector_size(VECTOR_BYTES / 2)));
typedef uint8_t bytes __attribute__((vector_size(VECTOR_BYTES)));
typedef uint8_t octets __attribute__((vector_size(16)));
typedef uint8_t quarters __attribute__((vector_size(VECTOR_BYTES / 4)));

template <class acc_t> struct vector_of;
template <> struct vector_of<float> {
    typedef floats type;
};
template <> struct vector_of<double> {
    typedef doubles type;
};
template <class acc_t> using vec = typename vector_of<acc_t>::type;
template <class acc_t> constexpr int LANES = VECTOR_BYTES / sizeof(acc_t);
template <class acc_t> constexpr int COLUMN = COLUMN_BYTES / sizeof(acc_t);

template <class to, class from> INLINE to same_bits(from x) {
    to y;
    static_assert(sizeof y == sizeof x, "same size");
    memcpy(&y, &x, sizeof y);
    return y;
}
template <class type> INLINE type read(const void *p) {
    type x;
    memcpy(&x, p, sizeof x);
    return x;
}

INLINE floats load(const float *p) { return read<floats>(p); }
INLINE doubles load(const double *p) { return read<doubles>(p); }
INLINE floats load(const bf16 *p) { return same_bits<floats>(__builtin_convertvector(read<halves>(p), words) << 16); }

INLINE words load_bits(const uint16_t *p) { return __builtin_convertvector(read<halves>(p), words); }
/* gcc 12 moves bytes to words and back one by one, unless in two steps or told the instruction. */
#if VECTOR_BYTES == 64
INLINE words load_bits(const uint8_t *p) { return (words)_mm512_maskz_cvtepu8_epi32(0xffff, read<__m128i>(p)); }
INLINE quarters narrowed(words x) { return (quarters)_mm512_maskz_cvtepi32_epi8(0xffff, (__m512i)x); }
#else
INLINE words load_bits(const uint8_t *p) {
    return __builtin_convertvector(__builtin_convertvector(read<quarters>(p), halves), words);
}
INLINE quarters narrowed(words x) { return __builtin_convertvector(__builtin_convertvector(x, halves), quarters); }
#endif
INLINE words load_bits(const uint32_t *p) { return read<words>(p); }
INLINE void store_bits(uint32_t *p, words x) { memcpy(p, &x, sizeof x); }
INLINE void store_bits(uint8_t *p, words x) {
    quarters low = narrowed(x);
    memcpy(p, &low, sizeof low);
}
INLINE void store_bits(uint16_t *p, words x) {
    halves low = __builtin_convertvector(x, halves);
    memcpy(p, &low, sizeof low);
}

INLINE void store(float *p, floats x) { memcpy(p, &x, sizeof x); }
INLINE void store(double *p, doubles x) { memcpy(p, &x, sizeof x); }
/* The upper halves are bf16, to nearest even. A NaN here came from bf16 or from arithmetic: its low half is zero, so
 * the carry cannot reach it. */
INLINE words rounded(floats x) {
    words bits = same_bits<words>(x);
    return bits + 0x7fff + ((bits >> 16) & 1);
}
INLINE void store(bf16 *p, floats x) {
    halves upper = __builtin_convertvector(rounded(x) >> 16, halves);
    memcpy(p, &upper, sizeof upper);
}

#if VECTOR_BYTES == 64
/* Masked forms with every lane on: gcc 12 warns about the undefined vector inside the plain ones. */
INLINE floats load(const f16 *p) { return (floats)_mm512_maskz_cvtph_ps(0xffff, read<__m256i>(p)); }
INLINE void store(f16 *p, floats x) {
    __m256i rounded = _mm512_maskz_cvtps_ph(0xffff, (__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    memcpy(p, &rounded, sizeof rounded);
}
#elif VECTOR_BYTES == 32
INLINE floats load(const f16 *p) { return (floats)_mm256_cvtph_ps(read<__m128i>(p)); }
INLINE void store(f16 *p, floats x) {
    __m128i rounded = _mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    memcpy(p, &rounded, sizeof rounded);
}
#else
/* The exponent is moved by a multiplication, which also makes subnormals normal; inf and NaN get all exponent bits. */
INLINE floats load(const f16 *p) {
    words bits = __builtin_convertvector(read<halves>(p), words);
    words magnitude = bits & 0x7fff;
    floats scaled = same_bits<floats>(magnitude << 13) * 0x1p112f;
    words special = (words)(magnitude > 0x7bff) & 0x7f800000;
    return same_bits<floats>(same_bits<words>(scaled) | special | ((bits & 0x8000) << 16));
}
/* To nearest even: by an integer carry for normal halves, by adding 0.5 (whose last bit is the smallest half) below. */
INLINE void store(f16 *p, floats x) {
    words bits = same_bits<words>(x);
    words magnitude = bits & 0x7fffffff;
    words normal = (magnitude + 0xfff + ((magnitude >> 13) & 1) - (112u << 23)) >> 13;
    words small = same_bits<words>(same_bits<floats>(magnitude) + 0.5f) - 0x3f000000;
    words half = magnitude < 0x38800000 ? small : normal;
    half = magnitude >= 0x477ff000 ? words{} + 0x7c00 : half;
    half = magnitude > 0x7f800000 ? words{} + 0x7e00 : half;
    halves rounded = __builtin_convertvector(half | ((bits >> 16) & 0x8000), halves);
    memcpy(p, &rounded, sizeof rounded);
}
#endif

/* ---- V vectors at once. A shift and a mask split a register of bf16 into even and odd lanes, cheaper than widening
 * each half; sums keep that order until they are stored. ---- */

template <class element> constexpr bool SPLIT = false;
template <> inline constexpr bool SPLIT<bf16> = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

/* Lanes `first`, first + step, ... of a and b in one. */
template <int first, int step, class vector, int... lane>
INLINE vector every(vector a, vector b, std::integer_sequence<int, lane...>) {
    return __builtin_shufflevector(a, b, (first + step * lane)...);
}
/* Lanes first, V + first, first + 1, V + first + 1, ... */
template <int first, class vector, int... lane>
INLINE vector interleave(vector a, vector b, std::integer_sequence<int, lane...>) {
    return __builtin_shufflevector(a, b, (first + lane / 2 + lane % 2 * int(sizeof...(lane)))...);
}
template <int V, class acc_t, class element> INLINE void load_vectors(vec<acc_t> *x, const element *p) {
    constexpr int L = LANES<acc_t>;
    if constexpr (SPLIT<element> && V % 2 == 0) {
#pragma GCC unroll 4
        for (int v = 0; v < V; v += 2) {
            words two = read<words>(p + v * L);
            x[v] = same_bits<floats>(two << 16);
            x[v + 1] = same_bits<floats>(two & 0xffff0000);
        }
    } else {
#pragma GCC unroll 4
        for (int v = 0; v < V; v++) x[v] = load(p + v * L);
    }
}
INLINE void store_two(bf16 *p, floats a, floats b) {
    typedef uint16_t shorts __attribute__((vector_size(VECTOR_BYTES)));
    constexpr auto lanes = std::make_integer_sequence<int, 2 * LANES<float>>();
    shorts upper = every<1, 2>(same_bits<shorts>(rounded(a)), same_bits<shorts>(rounded(b)), lanes);
    memcpy(p, &upper, sizeof upper);
}
/* Sums in the lane order of vectors loaded as this element. */
template <class element, int V, class acc_t> INLINE void load_sums(vec<acc_t> *x, const acc_t *p) {
    constexpr int L = LANES<acc_t>;
    constexpr auto lanes = std::make_integer_sequence<int, L>();
#pragma GCC unroll 4
    for (int v = 0; v < V; v++) x[v] = load(p + v * L);
    if constexpr (SPLIT<element> && V % 2 == 0) {
#pragma GCC unroll 4
        for (int v = 0; v < V; v += 2) {
            vec<acc_t> even = every<0, 2>(x[v], x[v + 1], lanes);
            x[v + 1] = every<1, 2>(x[v], x[v + 1], lanes);
            x[v] = even;
        }
    }
}
template <class element, int V, class acc_t, class out> INLINE void store_sums(out *p, const vec<acc_t> *x) {
    constexpr int L = LANES<acc_t>;
    constexpr auto lanes = std::make_integer_sequence<int, L>();
#pragma GCC unroll 4
    for (int v = 0; v < V; v++) {
        if constexpr (SPLIT<element> && V % 2 == 0)
            store(p + v * L, v % 2 ? interleave<L / 2>(x[v - 1], x[v], lanes) : interleave<0>(x[v], x[v + 1], lanes));
        else if constexpr (SPLIT<out> && V % 2 == 0) {
            if (v % 2 == 0) store_two(p + v * L, x[v], x[v + 1]);
        } else
            store(p + v * L, x[v]);
    }
}

/* ---- V x V lanes transposed ---- */

/* Swaps the off-diagonal quarters of every 2s x 2s block: done for s = 1, 2, 4, ... this transposes. */
template <int s, class vector, int... lane>
INLINE void swap_quarters(vector &a, vector &b, std::integer_sequence<int, lane...>) {
    constexpr int V = sizeof...(lane);
    vector upper = __builtin_shufflevector(a, b, ((lane & s) ? V + lane - s : lane)...);
    vector lower = __builtin_shufflevector(a, b, ((lane & s) ? V + lane : lane + s)...);
    a = upper;
    b = lower;
}
template <int s, class vector> INLINE void transpose(vector *m) {
    constexpr int V = sizeof(vector) / sizeof(m[0][0]);
    if constexpr (s < V) {
#pragma GCC unroll 16
        for (int i = 0; i < V; i++)
            if (!(i & s)) swap_quarters<s>(m[i], m[i + s], std::make_integer_sequence<int, V>());
        transpose<2 * s>(m);
    }
}

/* ---- Permuting: lane i is lane index[i] of a, or of a and then b; indices beyond them give any lane ---- */

#if VECTOR_BYTES == 64
typedef __mmask16 lanes_on;
INLINE lanes_on not_zero(floats x) { return _mm512_cmp_ps_mask((__m512)x, _mm512_setzero_ps(), _CMP_NEQ_UQ); }
INLINE floats keep(lanes_on on, floats x) { return (floats)_mm512_maskz_mov_ps(on, (__m512)x); }
INLINE floats permute(floats a, ints index) {
    return (floats)_mm512_maskz_permutexvar_ps(0xffff, (__m512i)index, (__m512)a); /* gcc 12 warns of the plain form */
}
INLINE floats permute(floats a, floats b, ints index) {
    return (floats)_mm512_permutex2var_ps((__m512)a, (__m512i)index, (__m512)b);
}
#else
typedef words lanes_on;
INLINE lanes_on not_zero(floats x) { return (words)((same_bits<words>(x) << 1) != 0); }
INLINE floats keep(lanes_on on, floats x) { return same_bits<floats>(same_bits<words>(x) & on); }
#if VECTOR_BYTES == 32
INLINE floats permute(floats a, ints index) { return (floats)_mm256_permutevar8x32_ps((__m256)a, (__m256i)index); }
INLINE floats permute(floats a, floats b, ints index) {
    return (floats)_mm256_blendv_ps((__m256)permute(a, index), (__m256)permute(b, index), (__m256)(index << 28));
}
#else
INLINE floats permute(floats a, floats b, ints index) {
    float both[2 * LANES<float>];
    store(both, a);
    store(both + LANES<float>, b);
    index &= 2 * LANES<float> - 1;
    return floats{both[index[0]], both[index[1]], both[index[2]], both[index[3]]};
}
INLINE floats permute(floats a, ints index) { return permute(a, a, index); }
#endif
#endif

/* Permutes the bytes within every 16 of a register: indices 0 to 15. */
#if VECTOR_BYTES == 64
INLINE bytes shuffle(bytes x, bytes index) { return (bytes)_mm512_shuffle_epi8((__m512i)x, (__m512i)index); }
#elif VECTOR_BYTES == 32
INLINE bytes shuffle(bytes x, bytes index) { return (bytes)_mm256_shuffle_epi8((__m256i)x, (__m256i)index); }
#elif defined(__SSSE3__)
INLINE bytes shuffle(bytes x, bytes index) { return (bytes)_mm_shuffle_epi8((__m128i)x, (__m128i)index); }
#else
INLINE bytes shuffle(bytes x, bytes index) {
    bytes y;
    for (int i = 0; i < VECTOR_BYTES; i++) y[i] = x[index[i]];
    return y;
}
#endif

/* ---- Streaming: a cache line is stored past the cache, if the level has such a store ---- */

#define CACHE_LINE 64
#if VECTOR_BYTES == 64
INLINE void stream_line(char *to, const char *from) { _mm512_stream_si512((__m512i *)to, read<__m512i>(from)); }
INLINE void stream_end(void) { _mm_sfence(); } /* makes the lines visible to other threads */
#elif VECTOR_BYTES == 32
INLINE void stream_line(char *to, const char *from) {
    _mm256_stream_si256((__m256i *)to, read<__m256i>(from));
    _mm256_stream_si256((__m256i *)to + 1, read<__m256i>(from + 32));
}
INLINE void stream_end(void) { _mm_sfence(); }
#else
INLINE void stream_line(char *to, const char *from) { memcpy(to, from, CACHE_LINE); }
INLINE void stream_end(void) {}
#endif

/* ---- One vector, or its first n elements ---- */

/* n < 2 * power elements, power after power: copies of constant length. */
template <int power, class element> INLINE void copy_some(element *to, const element *from, int64_t n) {
    if constexpr (power > 0) {
        bool there = n & power;
        if (there) memcpy(to, from, power * sizeof(element));
        copy_some<power / 2>(to + there * power, from + there * power, n);
    }
}
template <class acc_t, class element> INLINE vec<acc_t> load_some(const element *p, int64_t n) {
    element some[LANES<acc_t>] = {};
    copy_some<LANES<acc_t> / 2>(some, p, n);
    return load(some);
}
template <class element, class vector> INLINE void store_some(element *p, vector x, int64_t n) {
    constexpr int V = VECTOR_BYTES / sizeof x[0];
    element some[V];
    store(some, x);
    copy_some<V / 2>(p, some, n);
}
template <class element> INLINE const element *at(const element *p, int64_t bytes) {
    return (const element *)((const char *)p + bytes);
}
template <class element> INLINE element *at(element *p, int64_t bytes) { return (element *)((char *)p + bytes); }

#endif
