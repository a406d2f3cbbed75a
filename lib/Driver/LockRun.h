//===- LockRun.h - --lock ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LIB_DRIVER_LOCKRUN_H
#define KBOPT_LIB_DRIVER_LOCKRUN_H

#include "Session.h"
#include "kb-opt/Candidate/ProgramEnvironment.h"
#include "kb-opt/Pipeline/Pipeline.h"
#include "kb-opt/Policy/Search.h"

namespace kbopt {

/// Judges what a pipeline made of the input and keeps it in the lock if every gate accepts it. The
/// status is Diagnostics if one does not; the lock stays as it is then.
llvm::Expected<ExitStatus> lockReplayed(Context &context, const PipelineResult &result);

/// Keeps the winner of a search in the lock. A winner that was not confirmed is not kept; the user
/// is told.
llvm::Error lockWinner(Session &session, ProgramEnvironment &environment,
                       const SearchResult &result);

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_LOCKRUN_H
