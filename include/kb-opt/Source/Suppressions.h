//===- Suppressions.h - NOKBOPT comments ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the comments with which a user keeps kb-opt off a line:
//
//   x = y;  // NOKBOPT                     this line, every pass
//   x = y;  // NOKBOPT(unroll-loop, a-b)   this line, these passes
//   // NOKBOPTNEXTLINE(unroll-loop)        the next line
//   // NOKBOPTBEGIN … // NOKBOPTEND        the lines between, both included
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SOURCE_SUPPRESSIONS_H
#define KBOPT_SOURCE_SUPPRESSIONS_H

#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace kbopt {

/// A plain value.
class Suppressions {
public:
  /// Reads the comments of CUDA text (words in string literals do not count).
  static Suppressions parse(llvm::StringRef text);

  /// Whether \p pass must leave \p line (from 1) alone.
  bool covers(unsigned line, llvm::StringRef pass) const;
  /// Whether any line of [\p first, \p last] is covered.
  bool coversAny(unsigned first, unsigned last, llvm::StringRef pass) const;
  bool empty() const { return ranges.empty(); }

  /// A BEGIN without END (it then lasts to the end of the file), or an END
  /// without BEGIN.
  struct Problem {
    unsigned line;
    std::string message;
  };
  llvm::ArrayRef<Problem> problems() const { return faults; }

private:
  struct Range {
    unsigned first, last;
    std::vector<std::string> passes; ///< empty: every pass
  };
  std::vector<Range> ranges;
  std::vector<Problem> faults;
};

} // namespace kbopt

#endif // KBOPT_SOURCE_SUPPRESSIONS_H
