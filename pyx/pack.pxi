# SPDX-License-Identifier: Apache-2.0
"""A tile's sources where rows are not contiguous: made so, many slabs at a time."""

# The slabs of a tile that lie packed: first .. last.
cdef struct packed_t:
    int64_t first, last


cdef const char *pack_tile(const job_t *job, const char *source, char *scratch, tile_t tile,
                           packed_t *packed) noexcept nogil:
    """Packs the slabs of the tile's band, and of the next ones, if they are not packed yet.

    Returns where source[0, 0, 0] would lie beside them.
    """
    cdef char *to = scratch + job.scratch.packed
    cdef int64_t first = job.d.lo[tile.d], end = source_end(&job.d, tile.d + 1)
    cdef int64_t h_lo = job.h.lo[tile.h0]
    cdef int64_t w_lo = 0 if job.pick else job.w.lo[tile.w0]  # lanes are looked up from 0 on
    if tile.d == 0 or job.inner > 1:  # other rows or columns than before, or another plane
        packed[0] = packed_t(0, 0)
    if end > packed.last:
        packed[0] = packed_t(first, min(first + job.pack, source_end(&job.d, job.d.results)))
        source += first * job.origin.d + h_lo * job.origin.h + w_lo * job.origin.w
        pack_slabs(to, &job.source, source, &job.origin, packed.last - first,
                   source_end(&job.h, tile.h1) - h_lo, source_end(&job.w, tile.w1) - w_lo,
                   job.lanes * job.itemsize)
    return to - packed.first * job.source.d - h_lo * job.source.h - w_lo * job.source.w
