//===- SpeedRecord.h - A program's time by kernel ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the record of what a program's time goes to, as the cost model or a GPU's counters say, and
// its codec.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CANDIDATE_SPEEDRECORD_H
#define KBOPT_CANDIDATE_SPEEDRECORD_H

#include "kb-opt/Knowledge/MetricExpression.h"
#include "llvm/Support/JSON.h"

namespace kbopt {

/// All launches of one kernel.
struct KernelSpeed {
  double us = 0;
  MetricMap metrics = {};              ///< per launch
  std::vector<std::string> lines = {}; ///< the hottest ones, a sentence each
  uint64_t launches = 0;               ///< that `us` is of; 0: unknown
};

struct SpeedRecord {
  /// Of the whole program as the cost model says; nothing where no model made the record, or where
  /// the program does not run to its end on the CPU device.
  std::optional<double> us = {};
  double floorUs = 0;        ///< likewise
  double seconds = 0;        ///< that counting took
  std::string longest = {};  ///< the kernel that takes most time
  std::string degraded = {}; ///< why there are no counters of the GPU, where they were asked for
  std::map<std::string, KernelSpeed> kernels = {}; ///< by mangled name

  /// The kernel of that mangled name, or null.
  const KernelSpeed *find(llvm::StringRef kernel) const;
};

llvm::json::Value toJSON(const SpeedRecord &record);
bool fromJSON(const llvm::json::Value &value, SpeedRecord &record, llvm::json::Path path);

llvm::json::Object metricsJson(const MetricMap &metrics);
/// The metrics in \p object; what is no number is NaN.
MetricMap metricsFrom(const llvm::json::Object &object);

} // namespace kbopt

#endif // KBOPT_CANDIDATE_SPEEDRECORD_H
