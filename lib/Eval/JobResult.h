//===- JobResult.h - Results of kb-run as records ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reading of kb-run's results (docs/JobFormat.md) that all devices
// share: status, launches, findings, the bytes read back. What only a GPU tells
// is Cuda/GpuRecords.h's.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_JOBRESULT_H
#define KBOPT_LIB_EVAL_JOBRESULT_H

#include "kb-opt/Eval/Device.h"

namespace kbopt {

/// The status of a run that is the program's fault or no fault; nothing for "environment",
/// "usage", "internal" and what is unknown.
std::optional<RunStatus> parseRunStatus(llvm::StringRef status);

/// A whole result, without its outputs. False with a report in \p path if it is not
/// one of this version or has a status that is no run's.
bool readRunResult(const llvm::json::Value &value, RunResult &result, llvm::json::Path path);

/// Three numbers; what is missing stays.
void readDim(const llvm::json::Object &object, llvm::StringRef key, unsigned (&dim)[3]);

/// Cuts \p observables of a run in \p mode into the reads of the plan in \p planFolder.
llvm::Error cutOutputs(llvm::StringRef planFolder, RunMode mode, std::string observables,
                       RunResult &result);

} // namespace kbopt

#endif // KBOPT_LIB_EVAL_JOBRESULT_H
