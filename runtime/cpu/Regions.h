//===- Regions.h - blocks of split kernels ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the memory of a split kernel's threads and the execution of its blocks.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_REGIONS_H
#define KBRT_REGIONS_H

#include "Machine.h"

namespace kbrt::regions {

/// Maps the memory that threads of a kernel share with themselves between regions; false with errno
/// set if there is none. Kept for later launches.
bool prepare(const SplitInfo &split);
/// Runs the block that `machine.block` describes to its end, threads in \p order, or in their
/// natural one if that is null.
void runBlock(const SplitInfo &split, const std::vector<uint32_t> *order);

} // namespace kbrt::regions
#endif
