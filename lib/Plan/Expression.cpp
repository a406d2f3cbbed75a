//===- Expression.cpp - Integer expressions of a workload -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Plan/Expression.h"

#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/ExpressionTree.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace kbopt;
using llvm::StringRef;

namespace {

constexpr StringRef prefixes[] = {"-"}, sums[] = {"+", "-"}, products[] = {"*", "/", "%"};
constexpr llvm::ArrayRef<StringRef> ranks[] = {sums, products};
const ExpressionSyntax syntax{prefixes, ranks, "_"};
constexpr StringRef functions[] = {"min", "max", "ceildiv"};

/// Values of trees; `message` keeps the first complaint.
class Evaluator {
public:
  /// \p sizes null: only checks the text, and collects names.
  Evaluator(StringRef text, const SizeMap *sizes) : text(text), sizes(sizes) {}

  llvm::Expected<int64_t> run() {
    llvm::Expected<ExpressionTree> tree = parseExpressionTree(text, syntax);
    if (!tree)
      return tree.takeError();
    std::optional<int64_t> value = valueOf(*tree);
    if (!value)
      return llvm::make_error<UsageError>(message, "", ExitStatus::Diagnostics);
    return *value;
  }
  std::vector<std::string> names;

private:
  std::nullopt_t fail(const ExpressionTree &tree, const llvm::Twine &what) {
    if (message.empty())
      message = expressionProblem(text, tree.at, what);
    return std::nullopt;
  }

  std::optional<int64_t> valueOf(const ExpressionTree &tree) {
    switch (tree.kind) {
    case ExpressionTree::Kind::Number: {
      int64_t value;
      if (StringRef(tree.text).getAsInteger(10, value))
        return fail(tree, "'" + tree.text + "' is no decimal number of 64 bits");
      return value;
    }
    case ExpressionTree::Kind::Name:
      return sizeOf(tree);
    default:
      break;
    }
    bool isCall = tree.kind == ExpressionTree::Kind::Call;
    if (isCall && !llvm::is_contained(functions, tree.text))
      return fail(tree, "no function '" + tree.text + "' (there are " +
                            llvm::join(llvm::ArrayRef(functions), ", ") + ")");
    if (isCall && tree.operands.size() != 2)
      return fail(tree, tree.text + " takes two numbers, as in " + tree.text + "(a, b)");
    std::vector<int64_t> values;
    for (const ExpressionTree &operand : tree.operands) {
      std::optional<int64_t> value = valueOf(operand);
      if (!value)
        return std::nullopt;
      values.push_back(*value);
    }
    if (tree.kind == ExpressionTree::Kind::Prefix)
      values.insert(values.begin(), 0);
    return isCall ? call(tree, values[0], values[1])
                  : combine(tree, tree.text[0], values[0], values[1]);
  }

  std::optional<int64_t> sizeOf(const ExpressionTree &name) {
    if (!llvm::is_contained(names, name.text))
      names.push_back(name.text);
    if (!sizes)
      return 1;
    if (auto found = sizes->find(name.text); found != sizes->end())
      return found->second;
    std::vector<std::string> known;
    for (auto &[size, value] : *sizes)
      known.push_back(size);
    return fail(name, "no size '" + name.text + "'" +
                          (known.empty() ? "" : " (sizes: " + llvm::join(known, ", ") + ")"));
  }

  std::optional<int64_t> call(const ExpressionTree &tree, int64_t first, int64_t second) {
    if (tree.text == "min")
      return std::min(first, second);
    if (tree.text == "max")
      return std::max(first, second);
    std::optional<int64_t> quotient = combine(tree, '/', first, second);
    if (!quotient || !sizes)
      return quotient;
    bool inexact = first % second != 0, positive = (first < 0) == (second < 0);
    return *quotient + (inexact && positive);
  }

  std::optional<int64_t> combine(const ExpressionTree &tree, char op, int64_t left, int64_t right) {
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
        return fail(tree, "division by zero");
      overflow = left == INT64_MIN && right == -1;
      if (!overflow)
        result = op == '/' ? left / right : left % right;
    }
    if (overflow)
      return fail(tree, "the value does not fit into 64 bits");
    return result;
  }

  StringRef text;
  const SizeMap *sizes;
  std::string message;
};

} // namespace

llvm::Expected<int64_t> kbopt::evaluateExpression(StringRef text, const SizeMap &sizes) {
  return Evaluator(text, &sizes).run();
}

llvm::Expected<std::vector<std::string>> kbopt::namesInExpression(StringRef text) {
  Evaluator evaluator(text, nullptr);
  if (auto value = evaluator.run(); !value)
    return value.takeError();
  return std::move(evaluator.names);
}
