//===- CostModel.h - From counts to a modelled time -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the arithmetic that turns the CPU device's counts and a chip's facts
// into a time with its limiter, the roofline floor, and the metrics that the
// rules for states read. Nothing here was measured on the chip: every time is
// "modelled" and must be shown as such. The terms and their sources are
// explained in docs/CostModel.md.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_EVAL_COSTMODEL_H
#define KBOPT_EVAL_COSTMODEL_H

#include "kb-opt/Eval/Device.h"
#include "kb-opt/Target/ChipInfo.h"
#include <map>

namespace kbopt {

/// What a launch waits for, one at a time. The pipes are NVIDIA's: fma (fp32
/// arithmetic), alu (integer, logic, conversions), xu (special functions), lsu.
enum class Limiter {
  Dram,
  L2,
  L1Wavefronts,
  SharedWavefronts,
  Issue,
  Fma,
  Alu,
  Xu,
  Fp64,
  Half,
  Tensor,
  Atomics,
  BlockStarts,
  Latency
};
llvm::StringRef toString(Limiter limiter); ///< "dram", "l1 wavefronts", …

/// Time that one resource alone would need for a launch, in µs.
struct CostTerm {
  Limiter limiter = Limiter::Dram;
  double us = 0;
};

struct ModelledLaunch {
  std::string kernel;   ///< mangled
  double us = 0;        ///< modelled execution time, without the launch
  unsigned repeats = 1; ///< launches that this one stands for
  Limiter limiter = Limiter::Dram;
  std::vector<CostTerm> terms; ///< longest first
  /// max(mandatory bytes / bandwidth, mandatory operations / rate): no rewrite
  /// that reads and writes the same data can be faster on this chip.
  double floorUs = 0;
  double waves = 0;             ///< grid / blocks resident on the chip
  double occupancy = 0;         ///< resident warps / chip's maximum, 0 to 1
  std::string occupancyLimiter; ///< "registers", "shared memory", …
  bool registersKnown = false;  ///< without nvcc occupancy leaves registers out
  /// By CUPTI name (EVALUATION.md), modelled; plus kbopt__* names for facts that
  /// have none (docs/CostModel.md).
  std::map<std::string, double> metrics;
};

struct ModelledPlan {
  std::string chip;
  double us = 0;      ///< launches with their overhead
  double floorUs = 0; ///< the same of the roofline floors
  std::vector<ModelledLaunch> launches;
  /// Per launch, as in kernelMetrics, over all launches.
  std::map<std::string, double> metrics;
  Limiter limiter = Limiter::Dram; ///< of the longest kernel
  std::string longestKernel;       ///< mangled; most time over all its launches
};

/// Shape of one launch.
struct LaunchShape {
  uint64_t blocks = 1;
  unsigned threadsPerBlock = 1;
  uint64_t dynamicSharedBytes = 0;
};

/// \p resources may be null (no nvcc): registers then do not limit occupancy and
/// spills are unknown.
ModelledLaunch modelLaunch(const kbrt::KernelCounters &counters, const LaunchShape &shape,
                           const KernelResources *resources, const ChipInfo &chip);

/// The share of a modelled time by which another one must be less before the chip can be expected
/// to agree: docs/CostModel.md, "What the model can tell".
inline constexpr double modelResolution = 0.05;

/// Options of a count-mode run for this chip: traffic depends on its caches.
RunOptions countOptions(const ChipInfo &chip);

/// Every launch of a count-mode run that has counters. Launches without are an
/// error (`ToolError`): a time that leaves some out would be wrong.
llvm::Expected<ModelledPlan> modelPlan(const RunResult &run, const DeviceCode &code,
                                       const ChipInfo &chip);

/// Metrics of one launch, or of several that are alike.
struct WeightedMetrics {
  const std::map<std::string, double> *metrics;
  double us = 0; ///< of one of them
  unsigned repeats = 1;
};
/// Per launch: the mean of times and sums, and the mean weighted by time of
/// everything else.
std::map<std::string, double> meanMetrics(llvm::ArrayRef<WeightedMetrics> launches);

/// Metrics of one kernel per launch: the mean of times and sums, and the mean
/// weighted by time of everything else. What states are computed from.
std::map<std::string, double> kernelMetrics(const ModelledPlan &plan, llvm::StringRef kernel);

llvm::json::Value toJSON(const ModelledPlan &plan);

} // namespace kbopt

#endif // KBOPT_EVAL_COSTMODEL_H
