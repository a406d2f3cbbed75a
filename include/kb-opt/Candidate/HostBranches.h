//===- HostBranches.h - Branches that a candidate's host adds ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns which branches of a program's host code another program does not have, and the text that
// notes, when it runs, which of them are taken. Runs nothing.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CANDIDATE_HOSTBRANCHES_H
#define KBOPT_CANDIDATE_HOSTBRANCHES_H

#include "kb-opt/Source/ParsedProgram.h"
#include <set>

namespace kbopt {

/// A condition, or the labels of a `switch`, in host code.
struct HostBranch {
  unsigned line = 0;
  std::string text;                      ///< the condition or label
  std::optional<unsigned> taken, passed; ///< what is noted where it holds, and where it does not
  std::optional<unsigned> group;         ///< of labels: those with the same number share a `switch`
  /// It chooses between values and calls nothing: what follows from a value shows in the calls.
  bool isPlain = false;
  /// Whole numbers that nothing but the program's own text gives, and whether memory of different
  /// allocations overlaps or is aligned, decide it: it goes the same way in every run of a program
  /// that asks nothing of where it runs.
  bool isDecided = false;
};

/// Text that is put in front of the byte at an offset.
using Insertions = std::vector<std::pair<unsigned, std::string>>;

struct NotedHost {
  /// The program, which calls the recorder's `kbrecordChose` and `kbrecordTaken`; on the same
  /// lines.
  std::string text;
  std::vector<HostBranch> branches;
  /// Conditions that a macro writes, which cannot be noted: the line and the macro's name.
  std::vector<std::string> hidden;
  std::vector<std::string> seeds; ///< the tokens of lines that seed generators of random numbers
};

/// Of the host code in the main file of \p program. Left out is what \p original's text has as
/// well, what a constant decides, and conditions on errors of CUDA or null pointers behind which
/// the program ends. Seeds are as in `noteSeeds`.
NotedHost noteBranches(const ParsedProgram &program, llvm::StringRef original);

/// Where \p program seeds generators of random numbers, the C++ library's or its own, its text
/// calls the recorder's `kbrecordSeed`; on the same lines.
NotedHost noteSeeds(const ParsedProgram &program);

/// Those of \p host that were reached and of which one side was never seen, for a message ("line
/// 12: 'n % 4 == 0' is never false"). \p taken: the numbers that runs noted which count; \p called:
/// of runs of which the calls alone count as well. \p isClosed: the program asks nothing of where
/// it runs, and what is decided is left out.
std::vector<std::string> sidesNotSeen(const NotedHost &host, const std::set<unsigned> &taken,
                                      const std::set<unsigned> &called, bool isClosed = false);

} // namespace kbopt

#endif // KBOPT_CANDIDATE_HOSTBRANCHES_H
