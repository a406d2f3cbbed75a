//===- KeptRecording.h - Recordings of earlier runs -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what a recording depends on, and how one that an earlier run of kb-opt made is
// taken in the place of a run of the program.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PLAN_KEPTRECORDING_H
#define KBOPT_PLAN_KEPTRECORDING_H

#include "kb-opt/Plan/Recorder.h"
#include "kb-opt/Support/CompileCache.h"

namespace kbopt {

/// As `recordProgram`, or what an earlier run left in \p kept: of the same executable and image, by
/// content, with the same arguments, input, environment, folder and limits but for that of time, on
/// the same machine, as long as every file and folder that the program looked at is as it was.
/// \p machine names the device and its driver. Good recordings are kept for later runs, if it is
/// known what the program looked at. \p kept may be null: nothing is kept then.
///
/// The folder's files are shared with the cache: they must not be written to.
llvm::Expected<Recording> recordOrReuse(ProcessRunner &runner, const RecordRequest &request,
                                        CompileCache *kept, FileDigests &digests,
                                        llvm::StringRef machine);

} // namespace kbopt

#endif // KBOPT_PLAN_KEPTRECORDING_H
