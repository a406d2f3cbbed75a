//===- Tokens.cpp - Kernels by their tokens alone ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "MatchFunctions.h"
#include "RenamedText.h"
#include "kb-opt/Rewrite/Recipe.h"
#include "clang/Lex/Lexer.h"
#include <set>

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

std::string kbopt::tokenText(StringRef text) {
  std::string result;
  for (const TextToken &token : tokensOf(text))
    result += (result.empty() ? "" : " ") + token.text.str();
  return result;
}

std::vector<std::pair<size_t, size_t>> kbopt::findTokens(StringRef text, StringRef part) {
  const std::vector<TextToken> all = tokensOf(text), wanted = tokensOf(part);
  std::vector<std::pair<size_t, size_t>> found;
  for (size_t i = 0; !wanted.empty() && i + wanted.size() <= all.size(); ++i) {
    const bool isMember = i && (all[i - 1].text == "." || all[i - 1].text == "->");
    if (isMember || !std::equal(wanted.begin(), wanted.end(), all.begin() + i,
                                [](const auto &a, const auto &b) { return a.text == b.text; }))
      continue;
    const TextToken &last = all[i + wanted.size() - 1];
    found.emplace_back(all[i].offset, last.offset + last.text.size() - all[i].offset);
    i += wanted.size() - 1;
  }
  return found;
}

std::string kbopt::replaceTokens(StringRef text, StringRef part, StringRef replacement) {
  std::string result;
  size_t done = 0;
  for (auto [offset, length] : findTokens(text, part)) {
    result += text.slice(done, offset);
    result += replacement;
    done = offset + length;
  }
  return result + text.drop_front(done).str();
}

StringRef kbopt::openPart(StringRef open) {
  for (const TextToken &token : tokensOf(open))
    if (token.text == "=")
      return open.drop_front(token.offset + 1).ltrim();
  return open;
}

std::string kbopt::replaceOpen(StringRef text, StringRef open, StringRef replacement) {
  const StringRef kept = open.drop_back(openPart(open).size());
  return replaceTokens(text, open, (kept + replacement).str());
}

//===-- What kernels are told apart by -------------------------------------===//

static bool isKeyword(StringRef word) {
  static const llvm::StringRef keywords[] = {
      "auto", "bool",     "break",  "case",  "char",      "continue", "default",
      "do",   "double",   "else",   "false", "float",     "for",      "if",
      "int",  "long",     "return", "short", "sizeof",    "struct",   "switch",
      "true", "unsigned", "void",   "while", "__shared__"};
  return llvm::is_contained(keywords, word);
}

/// Whether no expression without lambdas holds \p token.
static bool isStatement(StringRef token) {
  return token == ";" || token == "for" || token == "if" || token == "while" || token == "do" ||
         token == "else" || token == "return" || token == "__shared__";
}

TokenCounts kbopt::tokenCounts(StringRef function) {
  TokenCounts counts;
  for (const TextToken &token : tokensOf(function.substr(function.find('{')))) {
    // Parentheses may be written or not, and qualifiers change nothing that a body does.
    if (token.text == "(" || token.text == ")" || token.text == "{" || token.text == "}" ||
        token.text == "const" || token.text == "constexpr")
      continue;
    // An exchanged comparison turns around.
    const StringRef shown = token.text == ">" ? "<" : token.text == ">=" ? "<=" : token.text;
    ++counts[token.isName && !isKeyword(token.text) ? "name" : shown.str()];
  }
  return counts;
}

TokenCounts kbopt::tokenCounts(StringRef function, llvm::ArrayRef<StringRef> open) {
  std::string rest = function.str();
  for (StringRef part : open)
    rest = replaceOpen(rest, part, "");
  return tokenCounts(rest);
}

bool kbopt::mayStandFor(const TokenCounts &pattern, bool isOpen, const TokenCounts &function) {
  if (!isOpen)
    return pattern == function;
  auto countIn = [](const TokenCounts &counts, StringRef token) {
    auto found = counts.find(token.str());
    return found == counts.end() ? 0 : found->second;
  };
  for (const auto &[token, count] : pattern)
    if (countIn(function, token) < count)
      return false;
  for (const auto &[token, count] : function)
    if (isStatement(token) && countIn(pattern, token) != count)
      return false;
  return true;
}

static std::vector<StringRef> kernelsIn(StringRef text) {
  std::vector<StringRef> kernels;
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
    if (token.text == "}" && --depth == 0) {
      kernels.push_back(text.slice(*begin, token.offset + 1));
      begin.reset();
    }
  }
  return kernels;
}

/// The name of \p kernel: what stands before its list of parameters.
static StringRef nameOf(StringRef kernel) {
  StringRef name, last;
  unsigned depth = 0;
  for (const TextToken &token : tokensOf(kernel)) {
    if (token.text == "{")
      break;
    if (token.text == "(" && depth++ == 0)
      name = last;
    depth -= token.text == ")";
    last = token.text;
  }
  return name;
}

/// The launches of kernel \p name in \p tokens, each with the two tokens before it, which tell
/// whether it is under a condition.
static std::string launchesIn(llvm::ArrayRef<TextToken> tokens, StringRef name) {
  constexpr size_t before = 2;
  std::string text;
  for (size_t i = before; i + 1 < tokens.size(); ++i)
    if (tokens[i].text == name && tokens[i + 1].text == "<<<")
      for (size_t at = i - before; at < tokens.size() && (at < i || tokens[at].text != ";"); ++at)
        text += tokens[at].text.str() + " ";
  return text;
}

StringRef kbopt::changedKernelIn(StringRef before, StringRef after) {
  std::vector<StringRef> kernels = kernelsIn(before);
  if (kernels.size() == 1)
    return kernels.front();
  std::set<std::string> kept;
  for (StringRef kernel : kernelsIn(after))
    kept.insert(tokenText(kernel));
  for (StringRef kernel : kernels)
    if (!kept.count(tokenText(kernel)))
      return kernel;
  const std::vector<TextToken> old = tokensOf(before), now = tokensOf(after);
  for (StringRef kernel : kernels)
    if (launchesIn(old, nameOf(kernel)) != launchesIn(now, nameOf(kernel)))
      return kernel;
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
