//===- Tokens.h - The tokens of a piece of text -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns reading text as the compiler reads it: line splices, comments, strings and
// digraphs are what they are to clang's lexer. Macros are not expanded.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_ASSISTED_TOKENS_H
#define KBOPT_LIB_REWRITE_ASSISTED_TOKENS_H

#include "clang/Basic/LangOptions.h"
#include "clang/Basic/TokenKinds.h"
#include "llvm/ADT/StringRef.h"
#include <set>
#include <string>
#include <vector>

namespace kbopt {

/// In raw mode keywords are identifiers.
struct RawToken {
  clang::tok::TokenKind kind;
  unsigned offset, length;
  bool startsLine;
  std::string spelling; ///< without line splices

  bool isWord() const { return kind == clang::tok::raw_identifier; }
};

/// All tokens of \p text, comments among them. What does not end, a comment or a string, is of the
/// kind `unknown`.
std::vector<RawToken> tokensOf(llvm::StringRef text, const clang::LangOptions &language);

/// The identifiers and keywords of \p text.
std::set<std::string> wordsOf(llvm::StringRef text, const clang::LangOptions &language);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_ASSISTED_TOKENS_H
