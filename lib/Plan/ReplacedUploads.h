//===- ReplacedUploads.h - Other bytes for what a host uploads --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns which bytes take the place of those that a running program uploads, where its inputs are to
// be others: what it computes on its way from results is left alone.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_PLAN_REPLACEDUPLOADS_H
#define KBOPT_LIB_PLAN_REPLACEDUPLOADS_H

#include "kb-opt/Plan/PlanTransform.h"
#include "kb-opt/Plan/RecordedPlan.h"
#include "kb-opt/Plan/Recorder.h"
#include <set>

namespace kbopt {

class ReplacedUploads {
public:
  /// Takes the uploads before the first read of `recorded`, and what `varied` has in their places.
  llvm::Error read(const UploadReplacement &replacement);
  /// What takes the place of \p bytes, which a program uploads, as a piece of a recorded upload or
  /// as several of them; nothing where they stay. \p hasRead: the program may have computed them
  /// from results.
  std::optional<std::string> take(llvm::StringRef bytes, bool hasRead);
  /// Whether `take` did not know what was no result.
  bool hasUnknown() const { return isUnknown; }

private:
  /// Where recorded uploads have \p bytes in the middle: what follows the piece before, or the only
  /// place or beginning; an empty list where there are several.
  std::optional<std::vector<KnownPiece>> findPart(llvm::StringRef bytes) const;

  RecordedPlan recorded, varied; ///< hold the bytes
  std::vector<llvm::StringRef> before, after;
  std::set<llvm::StringRef> uniform; ///< all bytes equal: these stay, as cleared memory does
  KnownPiece last;                   ///< that was taken
  bool hasLater = false;             ///< the recording has uploads behind its first read
  bool isUnknown = false;
};

} // namespace kbopt

#endif // KBOPT_LIB_PLAN_REPLACEDUPLOADS_H
