//===- TextConstants.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Candidate/TextConstants.h"
#include "clang/Basic/LangOptions.h"
#include "clang/Lex/Lexer.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <variant>

using namespace kbopt;

namespace {

using Literal = std::variant<std::monostate, int64_t, double>;

/// The value of the token \p spelling, a number of C++; nothing if it is none that a buffer's
/// element can have.
Literal valueOf(llvm::StringRef spelling) {
  std::string digits = spelling.lower();
  llvm::erase(digits, '\'');
  llvm::StringRef text = digits;
  const bool isHex = text.starts_with("0x");
  const bool isFloat = text.contains('.') || (isHex ? text.contains('p') : text.contains('e'));
  if (isFloat) {
    double value = 0;
    if (text.rtrim("fl").getAsDouble(value) || !std::isfinite(value))
      return {};
    return value;
  }
  uint64_t value = 0;
  if (text.rtrim("uzl").getAsInteger(0, value))
    return {};
  return static_cast<int64_t>(value);
}

/// The value of two integers with the operator \p kind between them.
std::optional<int64_t> folded(int64_t left, clang::tok::TokenKind kind, int64_t right) {
  int64_t product = 0;
  switch (kind) {
  case clang::tok::star:
    return __builtin_mul_overflow(left, right, &product) ? std::nullopt : std::optional(product);
  case clang::tok::lessless:
    return left < 0 || right < 0 || right > 62 || left > (INT64_MAX >> right)
               ? std::nullopt
               : std::optional(left << right);
  case clang::tok::slash:
    return right == 0 ? std::nullopt : std::optional(left / right);
  default:
    return std::nullopt;
  }
}

} // namespace

ProgramConstants kbopt::textConstants(llvm::StringRef text) {
  clang::LangOptions language;
  language.CPlusPlus = language.CPlusPlus11 = language.CPlusPlus14 = language.CPlusPlus17 = true;
  const std::string copy = text.str(); // the lexer wants a zero at the end
  clang::Lexer lexer(clang::SourceLocation(), language, copy.data(), copy.data(),
                     copy.data() + copy.size());
  ProgramConstants constants;
  clang::Token token;
  Literal before;                                      // of the last literal …
  clang::tok::TokenKind between = clang::tok::unknown; // … and what follows it
  for (bool isEnd = false; !isEnd;) {
    isEnd = lexer.LexFromRawLexer(token);
    if (token.isNot(clang::tok::numeric_constant)) {
      if (between == clang::tok::unknown)
        between = token.getKind();
      else
        before = {};
      continue;
    }
    const Literal value = valueOf(
        {copy.data() + lexer.getCurrentBufferOffset() - token.getLength(), token.getLength()});
    if (const double *number = std::get_if<double>(&value))
      constants.numbers.insert(*number);
    if (const int64_t *number = std::get_if<int64_t>(&value)) {
      constants.integers.insert(*number);
      if (const int64_t *left = std::get_if<int64_t>(&before))
        if (std::optional<int64_t> both = folded(*left, between, *number))
          constants.integers.insert(*both);
    }
    before = value;
    between = clang::tok::unknown;
  }
  return constants;
}
