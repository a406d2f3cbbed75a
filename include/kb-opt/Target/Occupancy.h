//===- Occupancy.h - How many blocks fit on an SM ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_TARGET_OCCUPANCY_H
#define KBOPT_TARGET_OCCUPANCY_H

#include "kb-opt/Target/ChipInfo.h"

namespace kbopt {

struct OccupancyRequest {
  unsigned threadsPerBlock = 0;
  unsigned registersPerThread = 0;  ///< 0: unknown, registers do not limit
  uint64_t sharedBytesPerBlock = 0; ///< static and dynamic together
};

enum class OccupancyLimiter {
  Impossible, ///< not even one block fits; `reason` says why
  Threads,    ///< threads (warps) per SM
  Blocks,     ///< block slots per SM
  Registers,
  SharedMemory,
};

struct Occupancy {
  unsigned blocksPerSm = 0;
  unsigned warpsPerSm = 0;
  double fraction = 0; ///< warpsPerSm over the chip's maximum
  OccupancyLimiter limiter = OccupancyLimiter::Impossible;
  std::string reason; ///< only for Impossible
};

/// CUDA's occupancy rules: registers are handed out per warp in units of
/// `registerAllocationUnit`, warps per block rounded to
/// `warpAllocationGranularity` and partitioned over the schedulers, shared
/// memory in units of `sharedAllocationBytes` plus the system's share.
/// (CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability"; cuda_occupancy.h of the toolkit states the rounding.)
Occupancy computeOccupancy(const ChipInfo &chip, const OccupancyRequest &request);

/// "registers", "shared memory", …
llvm::StringRef limiterName(OccupancyLimiter limiter);

} // namespace kbopt

#endif // KBOPT_TARGET_OCCUPANCY_H
