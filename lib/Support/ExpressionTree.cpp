//===- ExpressionTree.cpp - A recursive-descent parser ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Support/ExpressionTree.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using llvm::StringRef;

namespace {

using Kind = ExpressionTree::Kind;

/// Recursive descent; `message` keeps the first complaint, behind which nothing more is read.
class Parser {
public:
  Parser(StringRef text, const ExpressionSyntax &syntax) : text(text), syntax(syntax) {}

  ExpressionTree parse() {
    ExpressionTree tree = infix(0);
    skipSpace();
    if (at != text.size())
      fail(at, "unexpected '" + text.substr(at, 1) + "'");
    return tree;
  }
  std::string message;

private:
  void fail(size_t where, const llvm::Twine &what) {
    if (message.empty())
      message = expressionProblem(text, where, what);
    at = text.size();
  }
  void skipSpace() {
    while (at < text.size() && llvm::isSpace(text[at]))
      ++at;
  }
  bool take(StringRef token) {
    skipSpace();
    if (!text.substr(at).starts_with(token))
      return false;
    at += token.size();
    return true;
  }
  /// The first of \p tokens that stands here, consumed; else empty.
  StringRef takeOneOf(llvm::ArrayRef<StringRef> tokens) {
    for (StringRef token : tokens)
      if (take(token))
        return token;
    return "";
  }

  ExpressionTree infix(size_t rank) {
    if (rank == syntax.ranks.size())
      return prefix();
    ExpressionTree left = infix(rank + 1);
    for (StringRef token; !(token = takeOneOf(syntax.ranks[rank])).empty();) {
      const size_t where = at - token.size();
      ExpressionTree right = infix(rank + 1);
      ExpressionTree both{Kind::Infix, token.str(), where};
      both.operands.push_back(std::move(left));
      both.operands.push_back(std::move(right));
      left = std::move(both);
    }
    return left;
  }

  ExpressionTree prefix() {
    constexpr unsigned deepest = 100; // far from what the stack holds
    if (++depth > deepest)
      fail(at, "nested too deeply");
    ExpressionTree tree;
    if (StringRef token = takeOneOf(syntax.prefixes); !token.empty()) {
      tree = {Kind::Prefix, token.str(), at - token.size()};
      tree.operands.push_back(prefix());
    } else {
      tree = primary();
    }
    --depth;
    return tree;
  }

  ExpressionTree primary() {
    if (take("(")) {
      ExpressionTree inside = infix(0);
      close();
      return inside;
    }
    skipSpace();
    const StringRef word = text.substr(at).take_while(
        [&](char c) { return llvm::isAlnum(c) || syntax.inWords.contains(c); });
    ExpressionTree tree{!word.empty() && llvm::isDigit(word[0]) ? Kind::Number : Kind::Name,
                        word.str(), at};
    if (word.empty())
      fail(at, at == text.size() ? "expected a number or a name"
                                 : "unexpected '" + text.substr(at, 1) + "'");
    at += word.size();
    if (tree.kind == Kind::Name && !word.empty() && take("(")) {
      tree.kind = Kind::Call;
      do
        tree.operands.push_back(infix(0));
      while (take(","));
      close();
    }
    return tree;
  }

  void close() {
    if (!take(")"))
      fail(at, "expected ')'");
  }

  StringRef text;
  const ExpressionSyntax &syntax;
  size_t at = 0;
  unsigned depth = 0;
};

} // namespace

std::string kbopt::expressionProblem(StringRef text, size_t at, const llvm::Twine &what) {
  return ("expression '" + text + "', column " + llvm::Twine(at + 1) + ": " + what).str();
}

llvm::Expected<ExpressionTree> kbopt::parseExpressionTree(StringRef text,
                                                          const ExpressionSyntax &syntax) {
  Parser parser(text, syntax);
  ExpressionTree tree = parser.parse();
  if (!parser.message.empty())
    return llvm::make_error<UsageError>(parser.message, "", ExitStatus::Diagnostics);
  return tree;
}
