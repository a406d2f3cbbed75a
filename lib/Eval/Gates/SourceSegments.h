//===- SourceSegments.h - What of a source is executed as one ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the cut of a text into the pieces that an execution takes as a whole: statements,
// conditions, arms of an operator that decides.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_GATES_SOURCESEGMENTS_H
#define KBOPT_LIB_EVAL_GATES_SOURCESEGMENTS_H

#include "kbrt/Coverage.h"
#include "llvm/ADT/StringRef.h"
#include <vector>

namespace kbopt {

/// Of the C++ text \p text. The head of a `for` is one piece.
class SourceSegments {
public:
  explicit SourceSegments(llvm::StringRef text);

  /// The piece that \p position is in: places of one piece are executed together.
  unsigned at(const kbrt::SourcePosition &position) const;

private:
  std::vector<size_t> lines; ///< where they begin
  std::vector<size_t> ends;  ///< of the pieces
};

} // namespace kbopt

#endif // KBOPT_LIB_EVAL_GATES_SOURCESEGMENTS_H
