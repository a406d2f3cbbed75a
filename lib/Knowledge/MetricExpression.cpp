//===- MetricExpression.cpp -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Knowledge/MetricExpression.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/ExpressionTree.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace kbopt;
using llvm::StringRef;

namespace {

using Node = ExpressionTree;
using Kind = Node::Kind;

constexpr StringRef prefixes[] = {"!", "-"}, disjunctions[] = {"||"}, conjunctions[] = {"&&"},
                    comparisons[] = {"<=", ">=", "==", "!=", "<", ">"}, sums[] = {"+", "-"},
                    products[] = {"*", "/"};
constexpr llvm::ArrayRef<StringRef> ranks[] = {disjunctions, conjunctions, comparisons, sums,
                                               products};
const ExpressionSyntax syntax{prefixes, ranks, "_."};
constexpr StringRef functions[] = {"min", "max", "sum", "default", "known"};

/// What makes no sense in \p node of \p text; empty if all does.
std::string problemIn(StringRef text, const Node &node) {
  double number;
  if (node.kind == Kind::Number && StringRef(node.text).getAsDouble(number))
    return expressionProblem(text, node.at, "'" + node.text + "' is no number");
  if (node.kind == Kind::Call && !llvm::is_contained(functions, node.text))
    return expressionProblem(text, node.at,
                             "no function '" + node.text + "' (there are " +
                                 llvm::join(llvm::ArrayRef(functions), ", ") + ")");
  for (const Node &operand : node.operands)
    if (std::string problem = problemIn(text, operand); !problem.empty())
      return problem;
  return "";
}

using Value = std::optional<double>;

class Evaluator {
public:
  Evaluator(const MetricMap &metrics, std::set<std::string> *missing)
      : metrics(metrics), missing(missing) {}

  Value value(const Node &node) {
    double number = 0;
    switch (node.kind) {
    case Kind::Number:
      StringRef(node.text).getAsDouble(number); // checked when it was parsed
      return number;
    case Kind::Name:
      return lookup(node.text);
    case Kind::Call:
      return function(node);
    case Kind::Prefix: {
      Value inner = value(node.operands[0]);
      return !inner ? inner : node.text == "!" ? Value(*inner == 0) : Value(-*inner);
    }
    case Kind::Infix:
      return node.text == "&&" || node.text == "||" ? logical(node) : arithmetic(node);
    }
    llvm_unreachable("kind");
  }

private:
  Value lookup(const std::string &name) {
    auto found = metrics.find(name);
    if (found != metrics.end() && std::isfinite(found->second))
      return found->second;
    if (missing)
      missing->insert(name);
    return std::nullopt;
  }

  Value logical(const Node &node) {
    bool decides = node.text == "||";
    Value left = value(node.operands[0]);
    if (left && (*left != 0) == decides)
      return decides;
    Value right = value(node.operands[1]);
    if (right && (*right != 0) == decides)
      return decides;
    if (!left || !right)
      return std::nullopt;
    return !decides;
  }

  Value function(const Node &node) {
    Value result;
    for (const Node &operand : node.operands) {
      // What default() and known() fall back from is not missed.
      bool quiet =
          node.text == "known" || (node.text == "default" && &operand != &node.operands.back());
      std::set<std::string> *outer = missing;
      missing = quiet ? nullptr : missing;
      Value next = value(operand);
      missing = outer;
      if (node.text == "known")
        return next.has_value();
      if (!next)
        continue;
      if (node.text == "default")
        return next;
      result = !result              ? *next
               : node.text == "min" ? std::min(*result, *next)
               : node.text == "max" ? std::max(*result, *next)
                                    : *result + *next;
    }
    return result;
  }

  Value arithmetic(const Node &node) {
    Value left = value(node.operands[0]), right = value(node.operands[1]);
    if (!left || !right)
      return std::nullopt;
    double a = *left, b = *right;
    if (node.text == "/" && b == 0)
      return std::nullopt;
    return llvm::StringSwitch<double>(node.text)
        .Case("+", a + b)
        .Case("-", a - b)
        .Case("*", a * b)
        .Case("/", a / b)
        .Case("<", a < b)
        .Case("<=", a <= b)
        .Case(">", a > b)
        .Case(">=", a >= b)
        .Case("==", a == b)
        .Case("!=", a != b);
  }

  const MetricMap &metrics;
  std::set<std::string> *missing;
};

} // namespace

llvm::Expected<MetricExpression> MetricExpression::parse(StringRef text) {
  llvm::Expected<ExpressionTree> tree = parseExpressionTree(text, syntax);
  std::string problem = tree ? problemIn(text, *tree) : llvm::toString(tree.takeError());
  if (!problem.empty())
    return llvm::make_error<StoreError>(problem, "docs/Knowledge.md describes the language");
  MetricExpression result;
  result.root = std::make_shared<const ExpressionTree>(std::move(*tree));
  return result;
}

std::optional<double> MetricExpression::evaluate(const MetricMap &metrics,
                                                 std::set<std::string> *missing) const {
  if (!root)
    return std::nullopt;
  Value result = Evaluator(metrics, missing).value(*root);
  return result && std::isfinite(*result) ? result : std::nullopt;
}
