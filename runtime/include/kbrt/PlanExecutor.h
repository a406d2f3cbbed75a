//===- PlanExecutor.h - run a plan on the CPU device ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the execution of a recorded plan with an image: buffers at their recorded
// addresses, uploads, launches, reads. Owns neither the plan's format (Plan.h)
// nor jobs and results as files (tools/kb-run).
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_PLANEXECUTOR_H
#define KBRT_PLANEXECUTOR_H

#include "kbrt/CpuRuntime.h"
#include "kbrt/PlanWalk.h"

namespace kbrt {

struct PlanOptions {
  /// For every launch; its wallSeconds also bounds the whole plan.
  LaunchOptions launch;
  PlanInputs inputs;
  /// Fresh buffers hold this byte.
  uint8_t poison = 0xCB;
  /// The most device bytes that may be live at once.
  uint64_t deviceBytes = uint64_t(8) << 30;
  /// Stop at the first launch with findings of severity Error.
  bool stopAtFinding = false;
  /// Mode Oracle: rounding errors are not independent, as where all terms are equal.
  bool worstCaseErrors = false;
  /// Compare the buffers that a kernel takes by pointer to const before and after the launch.
  bool checkConstInputs = true;
};

/// One launch step's outcome.
struct PlanLaunch {
  size_t step = 0; ///< index into Plan::steps
  /// This launch and later ones like it that provably changed nothing and were left out
  /// (RepeatedLaunches.h).
  uint32_t repeats = 1;
  LaunchResult result;
};

struct PlanResult {
  LaunchStatus status = LaunchStatus::Ok; ///< of the first launch that failed
  /// Of that launch; InvalidLaunch and a message also for a plan that does not fit the image.
  std::string message;
  std::vector<PlanLaunch> launches;
  /// Of no launch: steps in no order (check images only).
  std::vector<Finding> findings;
  /// Why it is not known whether steps in no order use the same bytes; empty if it is.
  std::string orderUnknown;
  /// What observables.bin holds; short if the plan was not finished. Of an oracle image: an
  /// OracleElement for each floating-point number that is read, and nothing for other types.
  std::string observables;
  std::vector<std::string> notes;
  uint64_t peakDeviceBytes = 0;
  double wallSeconds = 0, processorSeconds = 0;
};

/// Executes \p plan with the kernels of \p image from a fresh device memory. Stops at the first
/// launch that does not end as Ok. Buffers are freed afterwards and variables put back, so that it
/// can be called again. Not reentrant.
PlanResult executePlan(const Plan &plan, Image &image, const PlanOptions &options);

} // namespace kbrt
#endif
