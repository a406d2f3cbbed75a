//===- Expression.cpp - A recursive-descent evaluator -----------------------===//
#include "kb-opt/Plan/Expression.h"

#include "kb-opt/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace kbopt;

namespace {

/// sum := product (('+' | '-') product)*;  product := unary (('*' | '/' | '%') unary)*
/// unary := '-' unary | atom;  atom := number | name | call | '(' sum ')'
class Evaluator {
public:
  /// \p sizes null: only collect names.
  Evaluator(llvm::StringRef text, const SizeMap *sizes) : text(text), sizes(sizes) {}

  llvm::Expected<int64_t> run() {
    std::optional<int64_t> value = sum();
    skipSpace();
    if (value && at < text.size())
      value = fail(llvm::Twine("unexpected '") + text.substr(at, 1) + "'");
    if (!value)
      return llvm::make_error<UsageError>(message, "", ExitStatus::Diagnostics);
    return *value;
  }
  std::vector<std::string> names;

private:
  std::nullopt_t fail(const llvm::Twine &what) { return failAt(std::min(at, text.size()), what); }
  std::nullopt_t failAt(size_t where, const llvm::Twine &what) {
    if (message.empty())
      message = ("expression '" + text + "', column " + llvm::Twine(where + 1) + ": " + what).str();
    return std::nullopt;
  }
  void skipSpace() {
    while (at < text.size() && llvm::isSpace(text[at]))
      ++at;
  }
  bool take(char c) {
    skipSpace();
    if (at == text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  /// The next character if it is one of \p all, consumed; else 0.
  char takeOneOf(llvm::StringRef all) {
    skipSpace();
    return at < text.size() && all.contains(text[at]) ? text[at++] : 0;
  }

  std::optional<int64_t> sum() {
    std::optional<int64_t> left = product();
    while (left) {
      size_t where = at;
      char op = takeOneOf("+-");
      if (!op)
        break;
      std::optional<int64_t> right = product();
      left = right ? combine(op, *left, *right, where) : std::nullopt;
    }
    return left;
  }

  std::optional<int64_t> product() {
    std::optional<int64_t> left = unary();
    while (left) {
      char op = takeOneOf("*/%");
      if (!op)
        break;
      size_t where = at - 1;
      std::optional<int64_t> right = unary();
      left = right ? combine(op, *left, *right, where) : std::nullopt;
    }
    return left;
  }

  std::optional<int64_t> unary() {
    skipSpace();
    size_t where = at;
    // Deep nesting must not overflow the stack.
    if (++depth > 200)
      return fail("nested too deeply");
    std::optional<int64_t> value;
    if (take('-')) {
      value = unary();
      if (value)
        value = combine('-', 0, *value, where);
    } else {
      value = atom();
    }
    --depth;
    return value;
  }

  std::optional<int64_t> atom() {
    skipSpace();
    if (take('(')) {
      std::optional<int64_t> value = sum();
      if (value && !take(')'))
        return fail("expected ')'");
      return value;
    }
    llvm::StringRef rest = text.drop_front(std::min(at, text.size()));
    llvm::StringRef word = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (word.empty())
      return rest.empty() ? fail("expected a number or a name")
                          : fail("unexpected '" + rest.substr(0, 1) + "'");
    size_t where = at;
    at += word.size();
    if (llvm::isDigit(word[0])) {
      int64_t value;
      if (word.getAsInteger(10, value))
        return failAt(where, "'" + word + "' is no decimal number of 64 bits");
      return value;
    }
    if (take('('))
      return call(word, where);
    return name(word, where);
  }

  std::optional<int64_t> name(llvm::StringRef word, size_t where) {
    if (!llvm::is_contained(names, word))
      names.push_back(word.str());
    if (!sizes)
      return 1;
    auto found = sizes->find(word.str());
    if (found != sizes->end())
      return found->second;
    std::vector<std::string> known;
    for (auto &[size, value] : *sizes)
      known.push_back(size);
    return failAt(where, "no size '" + word + "'" +
                             (known.empty() ? "" : " (sizes: " + llvm::join(known, ", ") + ")"));
  }

  std::optional<int64_t> call(llvm::StringRef word, size_t where) {
    if (word != "min" && word != "max" && word != "ceildiv")
      return failAt(where, "no function '" + word + "' (there are min, max, ceildiv)");
    std::optional<int64_t> first = sum();
    if (!first)
      return std::nullopt;
    if (!take(','))
      return fail("expected ',' in " + word + "(a, b)");
    std::optional<int64_t> second = sum();
    if (!second)
      return std::nullopt;
    if (!take(')'))
      return fail("expected ')'");
    if (word == "min")
      return std::min(*first, *second);
    if (word == "max")
      return std::max(*first, *second);
    std::optional<int64_t> quotient = combine('/', *first, *second, where);
    if (!quotient || !sizes)
      return quotient;
    bool inexact = *first % *second != 0, positive = (*first < 0) == (*second < 0);
    return *quotient + (inexact && positive);
  }

  std::optional<int64_t> combine(char op, int64_t left, int64_t right, size_t where) {
    if (!sizes)
      return 1;
    int64_t result = 0;
    bool overflow = false;
    switch (op) {
    case '+':
      overflow = __builtin_add_overflow(left, right, &result);
      break;
    case '-':
      overflow = __builtin_sub_overflow(left, right, &result);
      break;
    case '*':
      overflow = __builtin_mul_overflow(left, right, &result);
      break;
    default:
      if (right == 0)
        return failAt(where, "division by zero");
      overflow = left == INT64_MIN && right == -1;
      if (!overflow)
        result = op == '/' ? left / right : left % right;
    }
    if (overflow)
      return failAt(where, "the value does not fit into 64 bits");
    return result;
  }

  llvm::StringRef text;
  const SizeMap *sizes;
  size_t at = 0;
  unsigned depth = 0;
  std::string message;
};

} // namespace

llvm::Expected<int64_t> kbopt::evaluateExpression(llvm::StringRef text, const SizeMap &sizes) {
  return Evaluator(text, &sizes).run();
}

llvm::Expected<std::vector<std::string>> kbopt::namesInExpression(llvm::StringRef text) {
  Evaluator evaluator(text, nullptr);
  if (auto value = evaluator.run(); !value)
    return value.takeError();
  return std::move(evaluator.names);
}
