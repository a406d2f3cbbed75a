//===- Occupancy.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Target/Occupancy.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace kbopt;

static Occupancy impossible(const llvm::Twine &reason) {
  Occupancy none;
  none.reason = reason.str();
  return none;
}

/// Each scheduler owns an equal share of the register file, and a warp lives on
/// one scheduler. The limit of one block counts its warps rounded up.
static unsigned blocksByRegisters(const ChipInfo &chip, unsigned registersPerThread,
                                  unsigned warpsPerBlock) {
  auto schedulers = static_cast<unsigned>(chip.schedulersPerSm);
  auto perWarp = static_cast<unsigned>(
      llvm::alignTo(registersPerThread * 32, static_cast<unsigned>(chip.registerAllocationUnit)));
  uint64_t warpsRounded =
      llvm::alignTo(warpsPerBlock, static_cast<unsigned>(chip.warpAllocationGranularity));
  if (perWarp * warpsRounded > chip.registersPerBlock)
    return 0;
  unsigned warpsPerScheduler = static_cast<unsigned>(chip.registersPerSm) / schedulers / perWarp;
  return warpsPerScheduler * schedulers / warpsPerBlock;
}

Occupancy kbopt::computeOccupancy(const ChipInfo &chip, const OccupancyRequest &request) {
  if (request.threadsPerBlock == 0)
    return impossible("a block has no threads");
  if (request.threadsPerBlock > chip.maxThreadsPerBlock)
    return impossible(llvm::Twine(request.threadsPerBlock) + " threads per block, " + chip.name +
                      " allows " + llvm::Twine(uint64_t(chip.maxThreadsPerBlock)));
  if (request.registersPerThread > chip.registersPerThread)
    return impossible(llvm::Twine(request.registersPerThread) + " registers per thread, " +
                      chip.name + " allows " + llvm::Twine(uint64_t(chip.registersPerThread)));
  if (request.sharedBytesPerBlock > chip.sharedBytesPerBlockOptIn)
    return impossible(llvm::Twine(request.sharedBytesPerBlock) +
                      " bytes of shared memory per block, " + chip.name + " allows " +
                      llvm::Twine(uint64_t(chip.sharedBytesPerBlockOptIn)));

  unsigned warps = llvm::divideCeil(request.threadsPerBlock, 32u);
  unsigned maxWarps = chip.maxWarpsPerSm();
  unsigned best = maxWarps / warps;
  OccupancyLimiter limiter = OccupancyLimiter::Threads;
  auto limit = [&](unsigned blocks, OccupancyLimiter by) {
    if (blocks < best) {
      best = blocks;
      limiter = by;
    }
  };
  limit(static_cast<unsigned>(chip.maxBlocksPerSm), OccupancyLimiter::Blocks);
  if (request.registersPerThread) {
    unsigned blocks = blocksByRegisters(chip, request.registersPerThread, warps);
    if (blocks == 0)
      return impossible(llvm::Twine(request.registersPerThread) + " registers for each of " +
                        llvm::Twine(request.threadsPerBlock) + " threads exceed the " +
                        llvm::Twine(uint64_t(chip.registersPerBlock)) + " registers of a block");
    limit(blocks, OccupancyLimiter::Registers);
  }
  uint64_t shared =
      llvm::alignTo(request.sharedBytesPerBlock + uint64_t(chip.sharedBytesReservedPerBlock),
                    uint64_t(chip.sharedAllocationBytes));
  if (shared)
    limit(static_cast<unsigned>(uint64_t(chip.sharedBytesPerSm) / shared),
          OccupancyLimiter::SharedMemory);

  Occupancy result;
  result.blocksPerSm = best;
  result.warpsPerSm = best * warps;
  result.fraction = double(result.warpsPerSm) / maxWarps;
  result.limiter = limiter;
  return result;
}

llvm::StringRef kbopt::limiterName(OccupancyLimiter limiter) {
  switch (limiter) {
  case OccupancyLimiter::Impossible:
    return "impossible";
  case OccupancyLimiter::Threads:
    return "threads";
  case OccupancyLimiter::Blocks:
    return "blocks";
  case OccupancyLimiter::Registers:
    return "registers";
  case OccupancyLimiter::SharedMemory:
    return "shared memory";
  }
  return "";
}
