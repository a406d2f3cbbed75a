//===- Numbers.h - Text that differs in its numbers alone -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the comparison of pieces of text in which other numbers may stand: those that an earlier
// reply left open, and that tuning fills in anew.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_ASSISTED_NUMBERS_H
#define KBOPT_LIB_REWRITE_ASSISTED_NUMBERS_H

#include "kb-opt/Support/Digest.h"
#include "clang/Basic/LangOptions.h"
#include "llvm/ADT/StringRef.h"
#include <set>
#include <string>

namespace kbopt {

/// Whether \p text has one of \p numbers as an integer literal.
bool holdsNumber(llvm::StringRef text, const std::set<std::string> &numbers,
                 const clang::LangOptions &language);

/// Of the tokens of \p text with every integer literal as the same one, however they are spaced.
Digest digestWithoutNumbers(llvm::StringRef text, const clang::LangOptions &language);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_ASSISTED_NUMBERS_H
