//===- Numbers.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Numbers.h"
#include "Tokens.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;
using llvm::StringRef;

static bool isInteger(const RawToken &token) {
  return token.kind == clang::tok::numeric_constant &&
         StringRef(token.spelling).find_first_not_of("0123456789") == StringRef::npos;
}

bool kbopt::holdsNumber(StringRef text, const std::set<std::string> &numbers,
                        const clang::LangOptions &language) {
  return !numbers.empty() && llvm::any_of(tokensOf(text, language), [&](const RawToken &token) {
    return isInteger(token) && numbers.count(token.spelling);
  });
}

Digest kbopt::digestWithoutNumbers(StringRef text, const clang::LangOptions &language) {
  DigestBuilder digest;
  for (const RawToken &token : tokensOf(text, language))
    digest.add(isInteger(token) ? "0" : token.spelling);
  return digest.finish();
}
