//===- CaseSpace.h - Room for a program's test cases ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the test cases of a program take of disk and memory beside its recording,
// and the refusal of a program for which there is not that much.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CANDIDATE_CASESPACE_H
#define KBOPT_CANDIDATE_CASESPACE_H

#include "kbrt/Plan.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace kbopt {

struct CaseSpace {
  uint64_t diskBytes = 0, memoryBytes = 0;
};

/// What a search needs for the recording \p folder of \p plan, at least: a file for each case with
/// other inputs, and the results of original and candidate in memory.
CaseSpace spaceForCases(const kbrt::Plan &plan, llvm::StringRef folder);

/// What there is for files in \p folder, and in memory.
CaseSpace spaceLeft(llvm::StringRef folder);

/// "3.0 GiB in '/tmp' and 2.1 GiB of memory".
std::string describe(const CaseSpace &space, llvm::StringRef folder);

/// An error if there is not as much \p left as is \p needed for \p program, with the figures.
/// \p inMemory: files in \p folder take memory.
llvm::Error checkSpace(CaseSpace needed, const CaseSpace &left, llvm::StringRef folder,
                       bool inMemory, llvm::StringRef program);

} // namespace kbopt

#endif // KBOPT_CANDIDATE_CASESPACE_H
