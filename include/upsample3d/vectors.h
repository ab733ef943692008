/* SPDX-License-Identifier: Apache-2.0 */
/* What a vector is on this CPU level, and what 16 bits mean: load and widen, round and store. */
#ifndef UPSAMPLE3D_VECTORS_H
#define UPSAMPLE3D_VECTORS_H

#include <stdint.h>
#include <string.h>

#include "job.h"

/* The only lines of the project that ask which instructions there are. */
#if defined(__AVX512F__) && defined(__AVX512BW__)
#include <immintrin.h>
#define VECTOR_BYTES 64
#elif defined(__AVX2__) && defined(__F16C__)
#include <immintrin.h>
#define VECTOR_BYTES 32
#else
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
typedef uint16_t halves __attribute__((vector_size(VECTOR_BYTES / 2)));

template <class real> struct vector_of;
template <> struct vector_of<float> {
    typedef floats type;
};
template <> struct vector_of<double> {
    typedef doubles type;
};
template <class real> using vec = typename vector_of<real>::type;
template <class real> constexpr int LANES = VECTOR_BYTES / sizeof(real);
template <class real> constexpr int COLUMN = COLUMN_BYTES / sizeof(real);

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

INLINE void store(float *p, floats x) { memcpy(p, &x, sizeof x); }
INLINE void store(double *p, doubles x) { memcpy(p, &x, sizeof x); }
/* To nearest even. A NaN here came from bf16 or from arithmetic: its low half is zero, so the carry cannot reach it. */
INLINE void store(bf16 *p, floats x) {
    words bits = same_bits<words>(x);
    bits += 0x7fff + ((bits >> 16) & 1);
    halves rounded = __builtin_convertvector(bits >> 16, halves);
    memcpy(p, &rounded, sizeof rounded);
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

/* ---- A cache line past the cache, where there is such a store ---- */

#define CACHE_LINE 64
#if VECTOR_BYTES == 64
INLINE void stream_line(char *to, const char *from) { _mm512_stream_si512((__m512i *)to, read<__m512i>(from)); }
INLINE void stream_end(void) { _mm_sfence(); } /* makes it visible to the threads that are met next */
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

template <class real, class element> INLINE vec<real> load_some(const element *p, int64_t n) {
    element some[LANES<real>] = {};
    memcpy(some, p, n * sizeof(element));
    return load(some);
}
template <class element, class vector> INLINE void store_some(element *p, vector x, int64_t n) {
    element some[VECTOR_BYTES / sizeof x[0]];
    store(some, x);
    memcpy(p, some, n * sizeof(element));
}
template <class element> INLINE const element *at(const element *p, int64_t bytes) {
    return (const element *)((const char *)p + bytes);
}
template <class element> INLINE element *at(element *p, int64_t bytes) { return (element *)((char *)p + bytes); }

#endif
