//===- MeasuredSpeed.h - From a GPU's figures to a node's -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the arithmetic between a GPU's records and what a search knows of a
// program: the accept rule, kernels' shares of the time, metrics for the states.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CANDIDATE_MEASUREDSPEED_H
#define KBOPT_CANDIDATE_MEASUREDSPEED_H

#include "kb-opt/Candidate/SpeedRecord.h"
#include "kb-opt/Eval/GpuDevice.h"

namespace kbopt {

/// The time of a program that was measured against an original of \p originalUs. Only
/// what is `faster` by the accept rule gains; what is not proven counts as no gain,
/// and what looks slower is slower. Runs at other times see another clock, so that it
/// is the ratio that counts, not the candidate's own median.
double acceptedUs(const TimingSeries &cold, double originalUs);

/// Kernels of \p profile with their times and metrics, the longest one, and `degraded`. Launches
/// without counters take the time of those like them.
SpeedRecord countersOf(const GpuProfile &profile);

/// Whether \p metric is a fact that no counter gives and no time is in: waves,
/// occupancy, floor (docs/CostModel.md).
bool isStaticMetric(llvm::StringRef metric);

/// \p measured (of countersOf) with \p modelled's facts that no counter gives
/// (`kbopt__` names: waves, occupancy, floor). Kernels' times are shares of \p programUs.
/// Where the profile is degraded all metrics are the modelled ones.
SpeedRecord measuredSpeed(SpeedRecord measured, const SpeedRecord &modelled, double programUs);

} // namespace kbopt

#endif // KBOPT_CANDIDATE_MEASUREDSPEED_H
