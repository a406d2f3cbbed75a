//===- LaunchModel.h - The parts of one launch's model ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the intermediate figures between counts and metrics; private to
// CostModel.cpp (time) and Metrics.cpp (names).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_LAUNCHMODEL_H
#define KBOPT_LIB_EVAL_LAUNCHMODEL_H

#include "kb-opt/Eval/CostModel.h"
#include "kb-opt/Target/Occupancy.h"

namespace kbopt {

/// Loads that one warp issues before it waits for the first of them.
struct LoadRound {
  double perWarp = 0;  ///< how often a warp does so
  double service = 0;  ///< cycles of the L1 for the round's own wavefronts
  double missesL1 = 0; ///< share of the rounds that wait for L2 or DRAM
};

/// What a warp waits for memory in, all loads of one round together.
struct LoadSchedule {
  std::vector<LoadRound> global, shared;
  double unrolledIterations = 0; ///< per warp, whose loop test the machine code does not have
};
LoadSchedule scheduleLoads(const kbrt::KernelCounters &counters);

/// Cycles are SM cycles of the busiest SM, from the first block to the last.
struct LaunchModel {
  LaunchModel(const kbrt::KernelCounters &counters, const LaunchShape &shape,
              const KernelResources *resources, const ChipInfo &chip)
      : counters(counters), shape(shape), resources(resources), chip(chip) {}

  const kbrt::KernelCounters &counters;
  const LaunchShape &shape;
  const KernelResources *resources;
  const ChipInfo &chip;

  Occupancy occupancy;
  /// How many blocks of mean work the busiest SM has: ceil(blocks / SMs), and the longest block.
  double blocksOnBusiestSm = 0;
  double activeSms = 0;
  double waves = 0;
  double residentWarps = 0; ///< per SM, on average while the launch runs
  double instructionsPerWarp = 0;
  bool usesLocalMemory = false; ///< machine code keeps something in local memory

  // Work of each pipe on the busiest SM, in cycles.
  double issue = 0, fma = 0, alu = 0, xu = 0, fp64 = 0, half = 0, tensor = 0;
  double globalWavefronts = 0, sharedWavefronts = 0, lsu = 0;
  double storeDrain = 0; ///< what stores keep the L1 beyond their wavefronts
  // Chip-wide resources, in cycles.
  double dram = 0, l2 = 0, atomics = 0, blockStarts = 0;

  LoadSchedule schedule;
  // What one warp waits for when it is alone, in cycles.
  double globalLatency = 0, sharedLatency = 0, arithmeticLatency = 0, barrierLatency = 0,
         branchLatency = 0, blockLatency = 0;
  double warpLatency() const {
    return globalLatency + sharedLatency + arithmeticLatency + barrierLatency + branchLatency +
           blockLatency;
  }
  double waveCount = 1;   ///< whole waves that follow each other
  double l2MissShare = 0; ///< of the waits for what misses L1
  double latency = 0;     ///< of all waves
  /// Cycles when \p work cycles of the resources and the waiting take turns.
  double interleaved(double work) const;

  double cycles = 0;
  double seconds() const { return cycles / chip.clockHz(); }

  /// Per-SM work of the whole grid, as cycles of the busiest SM.
  double onBusiestSm(double total, double perClock) const;
};

/// Fills everything but `cycles` from counters and chip.
LaunchModel analyseLaunch(const kbrt::KernelCounters &counters, const LaunchShape &shape,
                          const KernelResources *resources, const ChipInfo &chip);

/// The metrics of \p model whose limiter is \p limiter.
std::map<std::string, double> launchMetrics(const LaunchModel &model, Limiter limiter,
                                            double floorUs);

} // namespace kbopt

#endif // KBOPT_LIB_EVAL_LAUNCHMODEL_H
