//===- ReadHash.h - what a plan reads, told by hashes ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the two hashes of reads: one of a whole iteration, which tells whether it
// read what another one did, and the digest of one read's bytes, wherever and
// whenever they are read. Both are computed where the bytes lie.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_CUDA_READHASH_H
#define KBRT_CUDA_READHASH_H

#include "HelperKernels.h"
#include "kbrt/CudaPlan.h"

namespace kbrt::cuda {

/// Queues the hash of what a read step finds in \p region at \p from, into \p slot.
void addReadHash(HelperKernels &helpers, const Plan &plan, uint64_t from, const Region &region,
                 unsigned slot);

/// The share of read step \p step, with that hash of its bytes, in the hash of the iteration.
uint64_t shareOfRead(uint64_t hash, size_t step);

/// Queues the hash of the bytes of \p region at \p from, row by row, into \p slot; the same for the
/// same bytes in regions of any shape.
void addContentHash(HelperKernels &helpers, const Plan &plan, uint64_t from, const Region &region,
                    uint64_t salt, unsigned slot);

/// As RunResult::contents has it.
std::string contentDigest(uint64_t first, uint64_t second, uint64_t bytes);

} // namespace kbrt::cuda

#endif // KBRT_CUDA_READHASH_H
