//===- Closure.h - What a proof about a kernel depends on -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the digest that decides whether a proven rewrite still fits the source:
// the tokens of kernels, of the functions that launch them, and of everything
// that these use. Comments, white space and the rest of the file do not count.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LOCK_CLOSURE_H
#define KBOPT_LOCK_CLOSURE_H

#include "kb-opt/Source/ParsedProgram.h"
#include "llvm/ADT/ArrayRef.h"

namespace kbopt {

/// Where a closure begins and what it leaves out, by USR: it is the same for a program and for its
/// rewrite.
struct ClosureRoots {
  std::vector<std::string> roots;  ///< the kernels and the functions that launch them
  std::vector<std::string> others; ///< other kernels of the original: they count by name
};

/// The roots for \p kernels (names as in the source; empty: all) in \p original.
ClosureRoots closureRoots(const ParsedProgram &original, llvm::ArrayRef<std::string> kernels);

/// Names the tokens of everything that \p roots reach in \p program: functions, types, variables
/// and macros, of the file and of the user's headers. Headers of the toolkit and of the system
/// count by name alone.
Digest closureDigest(const ParsedProgram &program, const ClosureRoots &roots);

} // namespace kbopt

#endif // KBOPT_LOCK_CLOSURE_H
