//===- Diff.h - Unified diffs ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the comparison of two texts by line (Myers, "An O(ND) Difference
// Algorithm and Its Variations", 1986), its hunks and their unified form.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REPORT_DIFF_H
#define KBOPT_REPORT_DIFF_H

#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace kbopt {

/// A line of a hunk: ' ' is in both texts, '-' in the first, '+' in the second.
struct DiffLine {
  char kind = ' ';
  llvm::StringRef text; ///< with its newline, if it has one
};
/// Changes that lie near each other, with their context.
struct DiffHunk {
  unsigned beforeLines = 0, afterLines = 0; ///< lines of each text above the hunk
  std::vector<DiffLine> lines;
};

/// What turns \p before into \p after, which outlive the result, with \p context lines
/// around each change; empty if the texts are equal.
std::vector<DiffHunk> diffHunks(llvm::StringRef before, llvm::StringRef after,
                                unsigned context = 3);

/// The unified diff that turns \p before into \p after, with \p context lines
/// around each change and headers `--- a/path` and `+++ b/path`; empty if the
/// texts are equal. Both `patch -p1` and `git apply` accept it.
std::string unifiedDiff(llvm::StringRef before, llvm::StringRef after, llvm::StringRef path,
                        unsigned context = 3);

} // namespace kbopt

#endif // KBOPT_REPORT_DIFF_H
