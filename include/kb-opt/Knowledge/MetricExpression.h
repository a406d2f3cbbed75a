//===- MetricExpression.h - Arithmetic over metrics -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the small language of the rules in knowledge/states: numbers, metric
// names, + - * /, comparisons, && || !, and the functions min, max, sum (of the
// arguments that are known), default (the first that is known), known (0 or 1).
// A missing metric makes a value unknown. Unknown is contagious except in these
// functions and where the other side of && or || decides.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_KNOWLEDGE_METRICEXPRESSION_H
#define KBOPT_KNOWLEDGE_METRICEXPRESSION_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kbopt {

struct ExpressionTree;

/// Metric name to value; names are CUPTI's, with their `.sum` or `.avg…`.
using MetricMap = std::map<std::string, double>;

/// Immutable; copies share the tree.
class MetricExpression {
public:
  MetricExpression() = default;
  /// A `StoreError` says where \p text is wrong. A metric name is any run of
  /// letters, digits, `_`, `.` that starts with a letter.
  static llvm::Expected<MetricExpression> parse(llvm::StringRef text);

  /// Nothing where unknown (missing metric, division by zero); truth is 0 or 1.
  /// Adds the names that were looked up and not found to \p missing.
  std::optional<double> evaluate(const MetricMap &metrics,
                                 std::set<std::string> *missing = nullptr) const;
  bool empty() const { return !root; }

private:
  std::shared_ptr<const ExpressionTree> root;
};

} // namespace kbopt

#endif // KBOPT_KNOWLEDGE_METRICEXPRESSION_H
