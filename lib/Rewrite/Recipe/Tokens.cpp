//===- Tokens.cpp - Kernels by their tokens alone ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "MatchFunctions.h"
#include "RenamedText.h"
#include "clang/Lex/Lexer.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

std::vector<TextToken> kbopt::tokensOf(StringRef text) {
  static const LangOptions language = [] {
    LangOptions options;
    options.CPlusPlus = options.CPlusPlus17 = options.CUDA = true;
    return options;
  }();
  const std::string terminated = text.str(); // the lexer wants a zero behind it
  Lexer lexer(SourceLocation(), language, terminated.data(), terminated.data(),
              terminated.data() + terminated.size());
  std::vector<TextToken> tokens;
  Token token;
  for (bool isLast = false; !isLast;) {
    isLast = lexer.LexFromRawLexer(token);
    if (token.is(tok::eof))
      break;
    const size_t end = size_t(lexer.getBufferLocation() - terminated.data());
    const size_t begin = end - token.getLength();
    tokens.push_back({text.substr(begin, token.getLength()), begin, token.is(tok::raw_identifier)});
  }
  return tokens;
}

static bool isKeyword(StringRef word) {
  static const llvm::StringRef keywords[] = {
      "auto",     "bool",    "break",    "case",   "char",       "const",      "constexpr",
      "continue", "default", "do",       "double", "else",       "extern",     "false",
      "float",    "for",     "if",       "inline", "int",        "long",       "return",
      "short",    "signed",  "sizeof",   "static", "struct",     "switch",     "true",
      "unsigned", "void",    "volatile", "while",  "__global__", "__shared__", "__device__"};
  return llvm::is_contained(keywords, word);
}

std::string kbopt::tokenCounts(StringRef text) {
  std::map<std::string, unsigned> counts;
  for (const TextToken &token : tokensOf(text)) {
    if (token.text == "(" || token.text == ")" || token.text == "{" || token.text == "}")
      continue;
    // An exchanged comparison turns around.
    const StringRef shown = token.text == ">" ? "<" : token.text == ">=" ? "<=" : token.text;
    ++counts[token.isName && !isKeyword(token.text) ? "name" : shown.str()];
  }
  std::string result;
  for (const auto &[word, count] : counts)
    result += word + " " + std::to_string(count) + "\n";
  return result;
}

StringRef kbopt::firstKernelIn(StringRef text) {
  std::optional<size_t> begin;
  unsigned depth = 0;
  for (const TextToken &token : tokensOf(text)) {
    if (!begin && token.text == "__global__")
      begin = token.offset;
    if (!begin)
      continue;
    depth += token.text == "{";
    if (token.text == ";" && depth == 0)
      begin.reset(); // a declaration
    if (token.text == "}" && --depth == 0)
      return text.slice(*begin, token.offset + 1);
  }
  return "";
}

std::string kbopt::renamed(StringRef text, const std::map<std::string, std::string> &names) {
  std::string result;
  size_t done = 0;
  StringRef before;
  for (const TextToken &token : tokensOf(text)) {
    const bool isMember = before == "." || before == "->" || before == "::";
    before = token.text;
    if (!token.isName || isMember)
      continue;
    auto found = names.find(token.text.str());
    if (found == names.end())
      continue;
    result += text.slice(done, token.offset);
    result += found->second;
    done = token.offset + token.text.size();
  }
  return result + text.drop_front(done).str();
}
