//===- LockEntries.h - From a rewrite to its lock entry and back -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what an entry of kbopt.lock says of a program, and the answer to whether
// it still holds. Nothing here judges, searches or asks a model.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_DRIVER_LOCKENTRIES_H
#define KBOPT_LIB_DRIVER_LOCKENTRIES_H

#include "Context.h"
#include "Session.h"
#include "kb-opt/Core/Step.h"
#include "kb-opt/Lock/LockFile.h"

namespace kbopt {

/// The lock that the options name, or the one that belongs to the input.
std::string lockPath(const Context &context);

/// The nearest lock above the current folder or, with \p databaseFolder, above the sources of that
/// build.
std::string lockOfBuild(llvm::StringRef databaseFolder);

/// What is known without a judge of \p steps, which make \p rewritten of the input under \p
/// promise.
llvm::Expected<LockEntry> describeRewrite(Context &context, llvm::ArrayRef<Step> steps,
                                          llvm::StringRef rewritten, Promise promise);

/// Adds what the judge found: \p gates, the cases, the machine code of \p rewritten.
llvm::Error addProof(LockEntry &entry, Session &session, llvm::ArrayRef<GateRecord> gates,
                     const ProgramArtefacts &rewritten);

/// Takes what a GPU measured into \p entry.
void addTime(LockEntry &entry, const TimingReport &timing);

/// The folder of the replies that a lock's pipelines carry out.
std::string repliesBeside(llvm::StringRef lock);

/// An entry against the program as it is now.
struct LockState {
  bool isFresh = false;
  std::string reason; ///< why not: lower case, names the user's object
  std::string text;   ///< the rewritten program, where fresh
  std::string lines;  ///< the same with #line directives to the original
};

/// Replays \p entry on the input, which is open. Errors are those of a program that does not parse.
llvm::Expected<LockState> replayEntry(Context &context, const LockEntry &entry);
/// Replays those of \p lock's entries that fit the input's flags; the reason is that of the
/// nearest.
llvm::Expected<LockState> replayLocked(Context &context, const LockFile &lock,
                                       llvm::StringRef name);

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_LOCKENTRIES_H
