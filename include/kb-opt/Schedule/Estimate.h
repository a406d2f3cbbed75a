//===- Estimate.h - What a schedule should take -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the modelled time of a nest with a schedule, from its expressions alone: nothing is
// compiled or run, so that all schedules of a kernel can be put in order before the first of them
// is tried.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SCHEDULE_ESTIMATE_H
#define KBOPT_SCHEDULE_ESTIMATE_H

#include "kb-opt/Schedule/Sketch.h"

namespace kbopt {

struct LaunchEstimate {
  double us = 0;       ///< of one launch, modelled
  std::string limiter; ///< what takes most of it, as docs/Scheduling.md lists them
};

/// What one launch of \p nest with \p schedule takes on \p chip. Nothing if the sizes do not tell,
/// or the sketch's time depends on data (`scatter`).
std::optional<LaunchEstimate> estimateLaunch(kb::NestOp nest, const Schedule &schedule,
                                             const LaunchSizes &sizes, const ChipInfo &chip);

} // namespace kbopt

#endif // KBOPT_SCHEDULE_ESTIMATE_H
