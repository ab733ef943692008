/* SPDX-License-Identifier: Apache-2.0 */
/* Unsigned division by a constant as multiply, add and shift: exact for every value of its width.
 *
 *   x / d = (x + high_W(x * m)) >> s,   s = ceil(log2 d),   m = floor(2^W * (2^s - d) / d) + 1
 *
 * In English: m / 2^W is just above 2^s / d - 1, so x * (1 + m / 2^W) / 2^s is just above x / d, by too little to reach
 * the next integer while x < 2^W. The sum needs W + 1 bits and is formed in the next wider type; the device forms it
 * in W bits, which fails from about 1.25 * 2^31. Cost: one multiply, one add, one shift.
 */
#ifndef UPSAMPLE3D_MAGIC_H
#define UPSAMPLE3D_MAGIC_H

#include <stdint.h>

typedef unsigned __int128 uint128_t;

typedef struct {
    uint64_t multiplier;
    uint32_t shift;
    uint32_t width; /* 32 or 64 */
} magic_t;

/* The magic of a divisor in 1 .. 2^width - 1. */
static inline magic_t magic_of(uint64_t divisor, uint32_t width) {
    magic_t magic = {0, 0, width};
    while (magic.shift < width && ((uint128_t)1 << magic.shift) < divisor) magic.shift++;
    uint128_t excess = ((uint128_t)1 << magic.shift) - divisor;
    magic.multiplier = (uint64_t)((excess << width) / divisor) + 1;
    return magic;
}

/* x / divisor. A 32-bit magic takes x < 2^32 only. */
static inline uint64_t magic_quotient(magic_t magic, uint64_t x) {
    if (magic.width == 32) return (x + ((x * magic.multiplier) >> 32)) >> magic.shift;
    uint128_t high = ((uint128_t)x * magic.multiplier) >> 64;
    return (uint64_t)((x + high) >> magic.shift);
}

#endif
