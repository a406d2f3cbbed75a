//===- RenamedText.h - CUDA text with other names ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what is done to CUDA text by its tokens alone. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_RECIPE_RENAMEDTEXT_H
#define KBOPT_LIB_REWRITE_RECIPE_RENAMEDTEXT_H

#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>
#include <vector>

namespace kbopt {

struct TextToken {
  llvm::StringRef text; ///< part of the given one
  size_t offset = 0;
  bool isName = false; ///< a name or a keyword
};
/// Without comments.
std::vector<TextToken> tokensOf(llvm::StringRef text);

/// \p text with other texts in place of the names of \p names; members of objects keep theirs.
std::string renamed(llvm::StringRef text, const std::map<std::string, std::string> &names);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_RECIPE_RENAMEDTEXT_H
