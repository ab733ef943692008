# SPDX-License-Identifier: Apache-2.0
"""Packing a tile's sources: strided rows become contiguous, many slabs at a time."""

# The packed slabs of a tile: first .. last.
cdef struct packed_t:
    int64_t first, last


cdef const char *pack_tile(const job_t *job, const char *source, char *scratch, tile_t tile,
                           packed_t *packed) noexcept nogil:
    """Packs the slabs of the tile's band, and of the next ones, unless they are packed already.

    Returns the address that source[0, 0, 0] would have beside them.
    """
    cdef char *to = scratch + job.scratch.packed
    cdef int64_t first = job.d.lo[tile.d], end = source_end(&job.d, tile.d + 1)
    cdef int64_t h_lo = job.h.lo[tile.h0]
    cdef int64_t w_lo = 0 if job.copy else job.w.lo[tile.w0]  # a table counts from source 0
    if tile.d == 0 or job.inner > 1:  # new rows, columns or plane
        packed[0] = packed_t(0, 0)
    if end > packed.last:
        packed[0] = packed_t(first, min(first + job.pack, source_end(&job.d, job.d.results)))
        source += first * job.origin.d + h_lo * job.origin.h + w_lo * job.origin.w
        pack_slabs(to, &job.source, source, &job.origin, packed.last - first,
                   source_end(&job.h, tile.h1) - h_lo, source_end(&job.w, tile.w1) - w_lo,
                   job.pixel * job.itemsize)
    return to - packed.first * job.source.d - h_lo * job.source.h - w_lo * job.source.w
