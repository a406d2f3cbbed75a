//===- NewCode.h - What stands in the anchors of a reply --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the walk over the declarations and statements that a reply brought in.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_ASSISTED_NEWCODE_H
#define KBOPT_LIB_REWRITE_ASSISTED_NEWCODE_H

#include "kb-opt/Rewrite/Assisted/EditRules.h"
#include <set>

namespace kbopt {

struct NewCode {
  struct Piece {
    std::string id;
    unsigned begin = 0, end = 0; ///< in the text after
  };
  std::vector<Piece> pieces;
  /// Identifiers of the texts that were replaced: what they called may be called again.
  std::set<std::string> oldWords;
  /// Identifiers of everything else: what new declarations may not take.
  std::set<std::string> untouchedWords;
  std::vector<llvm::StringRef> allow;
};

/// The rules from `declaration` on.
std::optional<Refusal> checkNewCode(const ParsedProgram &program, const NewCode &code);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_ASSISTED_NEWCODE_H
