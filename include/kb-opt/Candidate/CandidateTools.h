//===- CandidateTools.h - What candidates are made with ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the list of what the making of candidates shares with the rest of an invocation: the input
// file and its command, the parser, the passes, compilers and their limits, files, and the
// terminal.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CANDIDATE_CANDIDATETOOLS_H
#define KBOPT_CANDIDATE_CANDIDATETOOLS_H

#include "kb-opt/Rewrite/PassRegistry.h"
#include "kb-opt/Source/CodeEmission.h"
#include "kb-opt/Source/ParsedProgram.h"
#include "kb-opt/Support/FileDigests.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Progress.h"
#include "kb-opt/Support/Timings.h"

namespace kbopt {

/// The file that the user named. Both outlive it.
struct InputFile {
  const CompileCommand &command;
  const std::string &text;
};

/// Filled once per invocation; all that it refers to outlives it.
struct CandidateTools {
  InputFile input;
  const PassRegistry &passes;
  ProgramParser &parser;
  FileSystem &files;
  ProcessRunner &runner;
  Timings &timings;
  Progress &progress;
  FileDigests &digests;
  CompileCache *recordings; ///< what earlier runs recorded; null: nothing is kept
  CompileLimits limits;     ///< of the compilers that see candidates
  std::string replies;      ///< the folder of models' replies
  bool sandbox = true;      ///< walls around everything that runs
  bool hasOwnGpu = false;   ///< a GPU of this machine: hosts are recorded on it
  unsigned jobs = 0;        ///< the user's limit on threads; 0: none
  double budgetSeconds = 0; ///< of the whole command; 0: none
  /// What programs may promise at most; a step that promises less than that is refused.
  Promise weakest = Promise::LowerPrecision;
};

} // namespace kbopt

#endif // KBOPT_CANDIDATE_CANDIDATETOOLS_H
