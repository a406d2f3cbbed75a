//===- Context.h - What one invocation works with ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the things that every mode of kb-opt needs: the compile command, the
// program's text, its workload, where files go, and the terminal.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_DRIVER_CONTEXT_H
#define KBOPT_LIB_DRIVER_CONTEXT_H

#include "kb-opt/Candidate/CandidateTools.h"
#include "kb-opt/Driver/Options.h"
#include "kb-opt/Plan/Workload.h"
#include "kb-opt/Rewrite/PassRegistry.h"
#include "kb-opt/Source/CodeEmission.h"
#include "kb-opt/Source/ParsedProgram.h"
#include "kb-opt/Support/Clock.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Progress.h"
#include "kb-opt/Support/Timings.h"
#include "llvm/Support/Chrono.h"

namespace kbopt {

struct PipelineOptions;

/// Made once per invocation; outlives everything that refers to it.
struct Context {
  Options options;
  ModelSettings model;                   ///< of `options`
  PassRegistry passes = builtinPasses(); ///< with those of --pass-dir
  CompileCommand command;
  std::string text; ///< the input file
  /// How the build's tests run the programs that the input is part of.
  std::vector<ProgramRun> tests;
  std::optional<TemporaryDirectory> received; ///< where a program from stdin lies
  FileSystem &files = realFileSystem();
  Timings timings; ///< shown by --time-passes
  TimedProcessRunner timedRunner{realProcessRunner(), timings};
  ProcessRunner &runner = timedRunner;
  Clock &clock = realClock();
  /// What is written later than this may be read before or after; times of files are those of the
  /// kernel's last tick.
  const llvm::sys::TimePoint<> start =
      std::chrono::system_clock::now() - std::chrono::milliseconds(20);
  bool hasCache = true; ///< the user's cache folder can be written; set by `openInput`
  ProgramParser parser; ///< keeps preambles between parses
  std::unique_ptr<CompileCache> compiles;   ///< made by `openInput`
  std::unique_ptr<CompileCache> recordings; ///< likewise
  FileDigests digests;                      ///< of large files that several ask for
  Progress &progress;
  llvm::raw_fd_ostream &out; ///< results
  llvm::raw_ostream &err;    ///< everything else

  explicit Context(Progress &progress, llvm::raw_fd_ostream &out, llvm::raw_ostream &err)
      : progress(progress), out(out), err(err) {}
};

/// Finds the toolkit and the compile command, reads the input, and makes sure
/// that there is a place for the results.
llvm::Error openInput(Context &context);

/// Finds the program of the build that the input is part of, unless the workload calls one of the
/// input's functions: from then on the command compiles and links all of it.
llvm::Error openTarget(Context &context);
/// The chip that the options name, or the default one.
llvm::StringRef modelledChip(const Options &options);

/// Where models' replies are kept.
std::string repliesFolder(const Context &context);

/// Limits of the compilers that see candidates, and where their compiles are kept; walls around
/// them unless the user does without.
CompileLimits compileLimits(const Context &context);

/// What candidates are made with; after `openInput`.
CandidateTools candidateTools(Context &context);

/// The workload that the user gave, wrote into the source, or that a `main`
/// implies. An error if there is none of them, or if it contradicts the
/// signature of what it calls. \p signature receives that of an entry or kernel.
llvm::Expected<Workload> openWorkload(const Context &context, const ParsedProgram &program,
                                      Signature &signature);

/// How pipelines run on the input without a search: sizes are those of the workload, if there is
/// one. After `openInput`.
llvm::Expected<PipelineOptions> pipelineOptions(Context &context);

/// The signature of the function or kernel \p name in \p program, if there is one.
std::optional<Signature> findSignature(const ParsedProgram &program, llvm::StringRef name);

/// The signatures that a workload may name: entry functions that launch
/// kernels, then the kernels; in source order.
std::vector<Signature> possibleEntries(const ParsedProgram &program);

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_CONTEXT_H
