//===- RecordedPlan.h - A recording with its data ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how the files of a recording are opened by code that reads both its steps and its data.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PLAN_RECORDEDPLAN_H
#define KBOPT_PLAN_RECORDEDPLAN_H

#include "kbrt/Plan.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace kbopt {

/// plan.json and data.bin of a recording; a plan without uploads has no data. The data is
/// mapped, not read: it may be larger than one likes to hold.
struct RecordedPlan {
  kbrt::Plan plan;
  std::shared_ptr<llvm::MemoryBuffer> file;
  llvm::StringRef data() const { return file ? file->getBuffer() : llvm::StringRef(); }
};
llvm::Expected<RecordedPlan> readRecordedPlan(llvm::StringRef folder);

/// Whether the hosts of two recordings, in folders \p one and \p other, handed over the same steps
/// and data. What they printed is no work.
llvm::Expected<bool> isSameWork(const std::string &one, const std::string &other);

} // namespace kbopt

#endif // KBOPT_PLAN_RECORDEDPLAN_H
