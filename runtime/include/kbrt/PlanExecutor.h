//===- PlanExecutor.h - run a plan on the CPU device ------------*- C++ -*-===//
//
// Owns the execution of a recorded plan with an image: buffers at their recorded
// addresses, uploads, launches, reads. Owns neither the plan's format (Plan.h)
// nor jobs and results as files (tools/kb-run).
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_PLANEXECUTOR_H
#define KBRT_PLANEXECUTOR_H

#include "kbrt/CpuRuntime.h"
#include "kbrt/Plan.h"

namespace kbrt {

struct PlanOptions {
  LaunchOptions launch;
  /// data.bin, as read or mapped; empty is allowed if the plan uploads nothing.
  std::string_view data;
  /// Fresh buffers hold this byte.
  uint8_t poison = 0xCB;
  /// The most device bytes that may be live at once.
  uint64_t deviceBytes = uint64_t(8) << 30;
  /// Replaces the payload of an upload step: step index and bytes (as many as the step has).
  std::vector<std::pair<uint32_t, std::string_view>> overrides;
  /// Stop at the first launch with findings of severity Error.
  bool stopAtFinding = false;
  /// Called after every step with its index; progress and crash reports.
  std::function<void(size_t step)> onStep;
  /// Receives each read's bytes in order, instead of collecting them.
  std::function<void(uint64_t observable, std::string_view bytes)> onRead;
};

/// One launch step's outcome.
struct PlanLaunch {
  size_t step = 0;
  std::string kernel;
  LaunchResult result;
};

/// Bytes of a `const` pointer argument's buffer that changed during the launch.
struct ConstInputChange {
  size_t step = 0;
  std::string kernel, parameter;
  uint32_t buffer = 0; ///< index into Plan::buffers
};

struct PlanResult {
  LaunchStatus status = LaunchStatus::Ok; ///< of the first launch that failed
  std::string message;                    ///< also for plans that cannot be executed (InvalidLaunch)
  std::vector<PlanLaunch> launches;
  std::string observables; ///< bytes of observables.bin, unless onRead took them
  std::vector<ConstInputChange> constChanges;
  std::vector<std::string> guardChanges; ///< one message per buffer whose guard zone changed
  uint64_t peakDeviceBytes = 0;
  double wallSeconds = 0;
};

/// Executes \p plan with the kernels of \p image from a fresh device memory. Stops at the first launch
/// that does not end as Ok. Buffers are freed afterwards and variables put back, so that it can be
/// called again.
PlanResult executePlan(const Plan &plan, Image &image, const PlanOptions &options);

} // namespace kbrt
#endif
