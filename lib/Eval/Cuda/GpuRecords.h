//===- GpuRecords.h - What only a GPU tells, from JSON ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reading of the parts of a result that a CUDA device makes
// (docs/JobFormat.md). A field that is missing where figures would follow from
// it is an error, never a zero.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_CUDA_GPURECORDS_H
#define KBOPT_LIB_EVAL_CUDA_GPURECORDS_H

#include "kb-opt/Eval/GpuDevice.h"

namespace kbopt {

/// Facts of the object `device`.
bool fromJSON(const llvm::json::Value &value, GpuFacts &facts, llvm::json::Path path);
/// The whole result of a job with `timing`, which ended well.
bool readTiming(const llvm::json::Object &result, TimingReport &report, llvm::json::Path path);
/// The whole result of a job with `profile`.
bool readProfile(const llvm::json::Object &result, GpuProfile &profile, llvm::json::Path path);
bool readAudit(const llvm::json::Object &result, ExecutionAudit &audit, llvm::json::Path path);
bool readSanitizer(const llvm::json::Object &result, SanitizerReport &report,
                   llvm::json::Path path);

} // namespace kbopt

#endif // KBOPT_LIB_EVAL_CUDA_GPURECORDS_H
