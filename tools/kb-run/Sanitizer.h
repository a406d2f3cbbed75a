//===- Sanitizer.h - a job under compute-sanitizer ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns running kb-run itself under compute-sanitizer. What the tool prints is
// kbrt/SanitizerLog.h's.
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_SANITIZER_H
#define KBRUN_SANITIZER_H

#include "Job.h"
#include "kbrt/SanitizerLog.h"

namespace kbrun {

struct SanitizerReport {
  /// Why a tool did not do its work, one sentence for all; empty if all did.
  std::string degraded;
  std::vector<kbrt::SanitizerFinding> findings;
};

/// Executes the job's plan once under each of its tools, but for the periods that \p resting, of an
/// execution without them, need not be executed.
SanitizerReport runSanitizer(const Job &job,
                             const std::vector<kbrt::cuda::RestingRepetition> &resting);

} // namespace kbrun
#endif
