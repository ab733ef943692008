/* SPDX-License-Identifier: Apache-2.0 */
/* The floor: the least that any kernel does, reading each source byte once and writing each result byte once. */
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

enum { LINE = 64, STEPS = 4096 }; /* source and result advance side by side, a step of each in turn */

static __m256i read_lines(const char *from, const char *end, __m256i seen) {
    for (; from < end; from += LINE) {
        seen = _mm256_xor_si256(seen, _mm256_loadu_si256((const __m256i *)from));
        seen = _mm256_xor_si256(seen, _mm256_loadu_si256((const __m256i *)(from + LINE / 2)));
    }
    return seen;
}

static void write_lines(char *to, char *end, __m256i x, int stream) {
    if (stream)
        for (; to < end; to += LINE) {
            _mm256_stream_si256((__m256i *)to, x);
            _mm256_stream_si256((__m256i *)(to + LINE / 2), x);
        }
    else
        for (; to < end; to += LINE) {
            _mm256_store_si256((__m256i *)to, x);
            _mm256_store_si256((__m256i *)(to + LINE / 2), x);
        }
}

static int64_t edge(int64_t lines, int64_t k, int64_t n) { return lines * k / n * LINE; }

/* Reads source_bytes and writes result_bytes, whole cache lines of them; the result must begin at one. */
void floor_pass(const char *source, int64_t source_bytes, char *result, int64_t result_bytes, int threads, int stream) {
    int64_t reads = source_bytes / LINE, writes = result_bytes / LINE;
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
    for (int t = 0; t < threads; t++) {
        int64_t steps = (reads + writes) * LINE / STEPS / threads + 1, parts = steps * threads;
        __m256i seen = _mm256_setzero_si256();
        for (int64_t k = t * steps; k < (t + 1) * steps; k++) {
            seen = read_lines(source + edge(reads, k, parts), source + edge(reads, k + 1, parts), seen);
            write_lines(result + edge(writes, k, parts), result + edge(writes, k + 1, parts), seen, stream);
        }
        _mm_sfence();
    }
}
