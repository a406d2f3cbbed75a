//===- Diff.h - Unified diffs ------------------------------------*- C++ -*-===//
//
// Owns the comparison of two texts by line (Myers, "An O(ND) Difference
// Algorithm and Its Variations", 1986) and its unified form.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REPORT_DIFF_H
#define KBOPT_REPORT_DIFF_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace kbopt {

/// The unified diff that turns \p before into \p after, with \p context lines
/// around each change and headers `--- a/path` and `+++ b/path`; empty if the
/// texts are equal. Both `patch -p1` and `git apply` accept it.
std::string unifiedDiff(llvm::StringRef before, llvm::StringRef after, llvm::StringRef path,
                        unsigned context = 3);

} // namespace kbopt

#endif // KBOPT_REPORT_DIFF_H
