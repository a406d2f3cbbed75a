//===- Modes.h - The things kb-opt does -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the list of modes; each lies in a file of its own and returns the exit
// status, or an error for Main.cpp to report.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_DRIVER_MODES_H
#define KBOPT_LIB_DRIVER_MODES_H

#include "Context.h"
#include "kb-opt/Core/Remark.h"
#include "kb-opt/Support/Error.h"

namespace kbopt {

/// -passes=PIPELINE: deterministic, no search.
llvm::Expected<ExitStatus> runReplay(Context &context);
/// --emit=anchors: the program as a coder is shown it, for an answer by hand.
llvm::Expected<ExitStatus> emitAnchors(Context &context);
/// --reply: keeps an answer as a reply and replays the pipeline that names it.
llvm::Expected<ExitStatus> applyAnswer(Context &context);
/// -passes=auto.
llvm::Expected<ExitStatus> runAuto(Context &context);
/// --emit=kb-ir.
llvm::Expected<ExitStatus> emitKbIr(Context &context);
/// --emit=kb-nest: the raised form of every kernel, or the reason why it has none; with -passes=
/// after the pipeline, with the schedules that it set.
llvm::Expected<ExitStatus> emitKbNest(Context &context);
/// --emit=schedules: the schedules of every kernel, most promising first, with what the launch in
/// sight should take.
llvm::Expected<ExitStatus> emitSchedules(Context &context);
/// --emit=plan: plan.json of the program's own run.
llvm::Expected<ExitStatus> emitPlan(Context &context);
/// --emit=launch-map: whether the plans that the launch map of each file of --judge derives are
/// those that its host makes. The status is Diagnostics if one is not.
llvm::Expected<ExitStatus> emitLaunchMap(Context &context);
/// --emit=job: a folder with the program's own run and its machine code, for kb-run
/// on a machine with a GPU.
llvm::Expected<ExitStatus> emitJob(Context &context);
/// --emit=workload: a skeleton for what can be called.
llvm::Expected<ExitStatus> emitWorkload(Context &context);

/// --judge: the gates on a file of the user's. The status is Success if it is correct and
/// Diagnostics if not.
llvm::Expected<ExitStatus> runJudge(Context &context);
/// `kb-opt verify OLD NEW…`: --judge of each of the new ones, with all of kb-opt's options that go
/// with it.
int runVerifyCommand(llvm::ArrayRef<const char *> arguments);
/// --analyze: the findings, and their forms for other tools.
llvm::Expected<ExitStatus> runAnalyze(Context &context);
/// Of the program that --target names the file whose kernels take the most time; says what those of
/// each file take.
llvm::Expected<std::string> inputOfTarget(const Options &options);
/// --profile: where the time of the program as it is goes.
llvm::Expected<ExitStatus> runProfile(Context &context);

/// Fails if a result would go to a file that is read, or to that of another result.
llvm::Error checkFilesDiffer(const Options &options);
/// Fails if a file that the options name cannot be written; better now than at
/// the end of a search.
llvm::Error checkOutputs(const Context &context);
/// What turns the input into \p text, for `patch -p1` in the current folder; in the root folder
/// where the input is not below the current one, which is said.
std::string patchText(Context &context, llvm::StringRef text);
/// Writes \p bytes to -o, or to stdout.
llvm::Error writeResult(Context &context, llvm::StringRef bytes);
/// Writes \p rewritten as --emit, -o and --fix ask, with the line ends of the input.
llvm::Error writeProgram(Context &context, llvm::StringRef rewritten);
/// Prints \p remarks; where many passes missed, the first miss of each pass and how many more there
/// were.
void showRemarks(Context &context, llvm::ArrayRef<Remark> remarks);
/// Writes --depfile: what the result of this run depends on.
llvm::Error writeDependencies(Context &context);
/// Writes --remarks-file.
llvm::Error writeRemarks(Context &context, llvm::ArrayRef<Remark> remarks);

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_MODES_H
