//===- HostText.cpp - Kernel expressions at a launch -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "HostText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace kbopt;
using llvm::StringRef;

static bool isWord(char c) { return llvm::isAlnum(c) || c == '_'; }

/// Calls \p visit for each name and gives it the text since the one before.
static void scan(StringRef text,
                 llvm::function_ref<void(StringRef between, StringRef name)> visit) {
  size_t kept = 0;
  for (size_t at = 0; at < text.size();) {
    if (!isWord(text[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < text.size() && isWord(text[end]))
      ++end;
    StringRef word = text.slice(at, end), before = text.take_front(at).rtrim();
    bool isMember = before.ends_with("->") || (before.ends_with(".") && !before.ends_with("..")) ||
                    before.ends_with("::");
    if (word == "gridDim" || word == "blockDim")
      if (text.substr(end).starts_with(".") && end + 1 < text.size())
        word = text.slice(at, end += 2);
    if (!isMember && !llvm::isDigit(word[0])) {
      visit(text.slice(kept, at), word);
      kept = end;
    }
    at = end;
  }
  visit(text.substr(kept), "");
}

std::vector<StringRef> kbopt::namesIn(StringRef text) {
  std::vector<StringRef> names;
  scan(text, [&](StringRef, StringRef name) {
    if (!name.empty())
      names.push_back(name);
  });
  return names;
}

std::string
kbopt::replaceNames(StringRef text,
                    llvm::function_ref<std::optional<std::string>(StringRef)> replacement) {
  std::string result;
  scan(text, [&](StringRef between, StringRef name) {
    result += between;
    if (name.empty())
      return;
    std::optional<std::string> other = replacement(name);
    result += other ? *other : name.str();
  });
  return result;
}

std::string kbopt::asOperand(StringRef text) {
  text = text.trim();
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    bool isPart = isWord(c) || c == '.' || c == ':' || c == ')' || c == ']' || c == '(' ||
                  c == '[' || (c == '-' && text.substr(at).starts_with("->")) ||
                  (c == '>' && at && text[at - 1] == '-');
    // A cast such as (int)n has its closing parenthesis before a word.
    bool isCast = c == ')' && at + 1 < text.size() && (isWord(text[at + 1]) || text[at + 1] == '(');
    if (depth == 0 && (!isPart || isCast))
      return ("(" + text + ")").str();
  }
  return text.str();
}

namespace {

/// A recursive-descent reader of integer expressions.
class Evaluator {
public:
  Evaluator(StringRef text, llvm::function_ref<std::optional<int64_t>(StringRef)> valueOf)
      : rest(text), valueOf(valueOf) {}

  std::optional<int64_t> run() {
    int64_t value = binary(0);
    skipSpace();
    return failed || !rest.empty() ? std::nullopt : std::optional<int64_t>(value);
  }

private:
  struct Operator {
    StringRef text;
    unsigned level;
  };
  /// Longer ones first.
  static constexpr std::pair<llvm::StringLiteral, unsigned> operators[] = {
      {"||", 1}, {"&&", 2}, {"==", 4}, {"!=", 4}, {"<=", 5}, {">=", 5}, {"<", 5},
      {">", 5},  {"+", 7},  {"-", 7},  {"*", 8},  {"/", 8},  {"%", 8}};

  void skipSpace() { rest = rest.ltrim(); }
  bool take(StringRef token) {
    skipSpace();
    return rest.consume_front(token);
  }
  int64_t fail() {
    failed = true;
    return 0;
  }

  int64_t binary(unsigned level) {
    int64_t left = unary();
    for (;;) {
      skipSpace();
      const auto *found =
          llvm::find_if(operators, [&](const auto &each) { return rest.starts_with(each.first); });
      if (failed || found == std::end(operators) || found->second <= level)
        return left;
      rest = rest.drop_front(found->first.size());
      left = combine(found->first, left, binary(found->second));
    }
  }

  int64_t combine(StringRef op, int64_t a, int64_t b) {
    int64_t result = 0;
    if (op == "+")
      return llvm::AddOverflow(a, b, result) ? fail() : result;
    if (op == "-")
      return llvm::SubOverflow(a, b, result) ? fail() : result;
    if (op == "*")
      return llvm::MulOverflow(a, b, result) ? fail() : result;
    if (op == "/" || op == "%")
      return b == 0 || b == -1 ? fail() : op == "/" ? a / b : a % b;
    if (op == "||" || op == "&&")
      return op == "||" ? a || b : a && b;
    if (op == "==" || op == "!=")
      return op == "==" ? a == b : a != b;
    if (op == "<=" || op == ">=")
      return op == "<=" ? a <= b : a >= b;
    return op == "<" ? a < b : a > b;
  }

  /// Whether a cast to a wide enough integer stands next.
  bool takeCast() {
    for (StringRef cast : {"(long long)", "(int64_t)", "(size_t)", "(long)", "(int)", "(unsigned)"})
      if (take(cast))
        return true;
    return false;
  }

  int64_t unary() {
    if (take("-"))
      return combine("-", 0, unary());
    if (take("!"))
      return !unary();
    if (takeCast())
      return unary();
    if (take("(")) {
      int64_t value = binary(0);
      return take(")") ? value : fail();
    }
    skipSpace();
    size_t length = 0;
    while (length < rest.size() && isWord(rest[length]))
      ++length;
    StringRef word = rest.take_front(length);
    if (word == "gridDim" || word == "blockDim")
      word = rest.take_front(length += 2);
    rest = rest.drop_front(length);
    if (word.empty() || rest.ltrim().starts_with("(") || rest.starts_with("."))
      return fail();
    if (llvm::isDigit(word[0])) {
      int64_t number = 0;
      return word.rtrim("uUlL").getAsInteger(0, number) ? fail() : number;
    }
    std::optional<int64_t> value = valueOf(word);
    return value ? *value : fail();
  }

  StringRef rest;
  llvm::function_ref<std::optional<int64_t>(StringRef)> valueOf;
  bool failed = false;
};

} // namespace

std::optional<int64_t>
kbopt::evaluate(StringRef text, llvm::function_ref<std::optional<int64_t>(StringRef)> valueOf) {
  return Evaluator(text, valueOf).run();
}
