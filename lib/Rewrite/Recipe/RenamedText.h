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

/// A part of CUDA text; offsets are into the text that it was made of, which outlives it.
struct TextToken {
  llvm::StringRef text; ///< part of the given one
  size_t offset = 0;
  bool isName = false; ///< a name or a keyword
};
/// Without comments.
std::vector<TextToken> tokensOf(llvm::StringRef text);

/// The tokens of \p text joined by spaces: what two texts have in common that differ in spaces,
/// line ends and comments alone.
std::string tokenText(llvm::StringRef text);

/// Where \p part, tokens in a row, stands in \p text: offsets and lengths, in order, apart from
/// each other.
std::vector<std::pair<size_t, size_t>> findTokens(llvm::StringRef text, llvm::StringRef part);

/// \p text with \p replacement in every place of \p part.
std::string replaceTokens(llvm::StringRef text, llvm::StringRef part, llvm::StringRef replacement);

/// What is open of \p open, a text as recipes write it: of an assignment what stands on its right,
/// of another expression all.
llvm::StringRef openPart(llvm::StringRef open);

/// \p text with \p replacement for what is open of \p open.
std::string replaceOpen(llvm::StringRef text, llvm::StringRef open, llvm::StringRef replacement);

/// \p text with other texts in place of the names of \p names; members of objects keep theirs.
std::string renamed(llvm::StringRef text, const std::map<std::string, std::string> &names);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_RECIPE_RENAMEDTEXT_H
