/* SPDX-License-Identifier: Apache-2.0 */
/* Every function of the headers that the kernel calls, in both types of sums: something to compile, not to run. */
#include "upsample3d/job.h"
#include "upsample3d/magic.h"
#include "upsample3d/pack.h"
#include "upsample3d/rows.h"
#include "upsample3d/vectors.h"
#include "upsample3d/width.h"

template <class acc_t> void sums(const job_t *job, char *bytes, acc_t *acc, int64_t n) {
    sum_rows(acc, bytes, job->dtype, n, n, acc, n, n > 0, n);
    sum_band(bytes, job->dtype, n, acc, n, &job->h, 0, n, n);
    round_row(bytes, job->dtype, acc, n);
    to_columns(acc, acc, n, n, n);
    round_columns(bytes, job->dtype, n, acc, n, n);
}

int64_t everything(const job_t *job, char *bytes, float *floats, double *doubles, prefetch_t *prefetch, int64_t n) {
    fenv_t found = enter_default_mode();
    sums(job, bytes, floats, n);
    sums(job, bytes, doubles, n);
    table_pass(bytes, job->dtype, n, floats, n, n, n, &job->table, n, n, n);
    copy_row(bytes, bytes, n, n, job->w.lo, n, n, job->itemsize);
    table_copy(bytes, n, bytes, n, job->h.lo, n, job->itemsize, n, &job->table, n, n);
    pack_slabs(bytes, &job->source, bytes, &job->origin, n, n, n, job->itemsize);
    move_row(bytes, n, n, bytes, n, n, n, n, job->itemsize);
    clear_rows(bytes, n, n, n);
    stream_bytes(bytes, bytes, n);
    stream_end();
    prefetch_some(prefetch, n);
    restore_mode(found);
    return padded(n, job->itemsize) + vector_lanes + (int64_t)magic_quotient(magic_of((uint64_t)n, 64), (uint64_t)n);
}
