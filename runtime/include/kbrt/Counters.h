//===- Counters.h - what the CPU device counts ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The schema of count mode. All numbers are scaled to the whole grid from the
// sampled blocks unless a comment says otherwise. Owns no counting.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_COUNTERS_H
#define KBRT_COUNTERS_H

#include "kbrt/ImageInfo.h"
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace kbrt {

/// Constants of the counting rules, those of every chip since Volta.
inline constexpr unsigned warpLanes = 32, sectorBytes = 32, lineBytes = 128, sharedBanks = 32,
                          bankBytes = 4;

const char *toString(AccessKind kind);
const char *toString(MemorySpace space);

/// Requests of one kind to one space. A request is one instruction of one warp.
struct AccessCounters {
  double requests = 0;
  double lanes = 0;          ///< active lanes, summed over requests
  double bytesRequested = 0; ///< lanes × element bytes
  double bytesUsed = 0;    ///< distinct bytes per request, summed (what the sectors are needed for)
  double sectors = 0;      ///< distinct 32-byte sectors per request, summed (global)
  double idealSectors = 0; ///< sectors if the distinct bytes were packed and aligned
  double l1HitSectors = 0; ///< of these, found in the simulated L1 (global loads)
  double lineWavefronts = 0;   ///< distinct 128-byte lines per pass of a request, summed (global)
  double sharedWavefronts = 0; ///< passes over the banks (shared)
  double idealSharedWavefronts = 0;
  /// Of atomics, lanes that wait for each other, summed over requests: those at the fullest address
  /// where floats are added, else one.
  double atomicSerialisation = 0;

  double bankConflicts() const { return sharedWavefronts - idealSharedWavefronts; }
  /// 0 to 1, or 1 when nothing moved.
  double bytesPerSectorFraction() const {
    return sectors > 0 ? bytesUsed / (sectors * sectorBytes) : 1;
  }
  double sectorsPerRequest() const { return requests > 0 ? sectors / requests : 0; }
  void add(const AccessCounters &other, double factor = 1);
};

/// One access site (one load, store or atomic of the source).
struct SiteCounters {
  uint32_t site = 0;
  AccessKind kind = AccessKind::Load;
  MemorySpace space = MemorySpace::Global;
  unsigned elementBytes = 0;
  std::string file, array;
  unsigned line = 0, column = 0;
  AccessCounters access;
  unsigned loadGroup = 0; ///< loads with one number can wait together; 0: unknown
  bool isAlone = false;   ///< loads of several iterations cannot
};

/// One source line.
struct LineCounters {
  std::string file;
  unsigned line = 0;
  double warpInstructions = 0, threadInstructions = 0;
  double branches = 0, divergentBranches = 0;
  double globalRequests = 0, globalSectors = 0, idealGlobalSectors = 0;
  double sharedWavefronts = 0, idealSharedWavefronts = 0;
  void add(const LineCounters &other, double factor);
};

/// Estimated traffic below the SM. Reads and writes in bytes.
struct TrafficCounters {
  double l1LoadSectors = 0;    ///< global load sectors that looked up L1
  double l1LoadHitSectors = 0; ///< of those, found in the per-block L1 simulation
  double l2ReadBytes = 0;      ///< L1 misses × 32
  double l2WriteBytes = 0;     ///< stores write through
  double l2AtomicBytes = 0;
  double uniqueReadBytes =
      0; ///< distinct sectors read by the launch × 32, extrapolated (see uniqueIsExact)
  double uniqueWrittenBytes = 0;
  /// Of the lanes that update global memory by atomics, in all blocks: those at the line that most
  /// of them update.
  double atomicLineShare = 0;
  bool uniqueIsExact = false; ///< all blocks were sampled
  double dramReadBytes = 0;   ///< estimate: between uniqueReadBytes and l2ReadBytes
  double dramWriteBytes = 0;
};

/// All counters of one launch.
struct KernelCounters {
  std::string kernel;
  uint64_t blocks = 0, sampledBlocks = 0; ///< counts, not scaled
  unsigned threadsPerBlock = 0;
  /// Standard error of what is scaled from the sampled blocks, over the value: global sectors or
  /// shared wavefronts, whichever is less certain. 0 where all blocks are counted.
  float sampleError = 0;
  uint64_t staticSharedBytes = 0, dynamicSharedBytes = 0; ///< per block

  double warps = 0;
  double warpInstructions = 0;   ///< issued, one per warp and instruction
  double threadInstructions = 0; ///< the same counted per active lane
  std::array<double, opCount>
      warpInstructionsByOp{}; ///< indexed by Op; TensorFlops is no instruction
  std::array<double, opCount> threadInstructionsByOp{};
  double branches = 0, divergentBranches = 0; ///< warp level
  double blockBarriers = 0, warpBarriers = 0, shuffles = 0, votes = 0;
  /// Flops: an FMA counts two. By thread.
  double integerOperations = 0, fp16Operations = 0, fp32Operations = 0, fp64Operations = 0,
         tensorOperations = 0;
  /// Work of the longest sampled warp in a block over the mean warp, averaged over blocks (1 is
  /// balanced).
  double warpImbalance = 1;
  /// Instructions of the longest block over the mean block, of all blocks.
  double blockImbalance = 1;

  AccessCounters globalLoad, globalStore, globalAtomic, sharedLoad, sharedStore, sharedAtomic,
      localLoad, localStore, constantLoad;
  TrafficCounters traffic;

  std::vector<SiteCounters> sites; ///< sites that executed, in order of site number
  std::vector<LineCounters> lines; ///< in order of file and line

  /// Adds what is summed over blocks: operations, instructions, accesses, traffic below L1.
  void add(const KernelCounters &other, double factor);
  double activeLanesPerInstruction() const {
    return warpInstructions > 0 ? threadInstructions / warpInstructions : 0;
  }
};

/// The JSON object described in docs/JobFormat.md under `counters`.
std::string toJson(const KernelCounters &counters, int indent = -1);

} // namespace kbrt
#endif
