//===- ExpressionTree.h - Text of an expression to a tree -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the one parser of expressions that users and knowledge files write:
// numbers, names, calls, prefix and left-associative infix operators. A language
// is its operators; what its names, numbers and functions mean is decided by the code that
// evaluates the tree (Plan/Expression.h, Knowledge/MetricExpression.h).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SUPPORT_EXPRESSIONTREE_H
#define KBOPT_SUPPORT_EXPRESSIONTREE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace kbopt {

struct ExpressionTree {
  enum class Kind { Number, Name, Call, Prefix, Infix };
  Kind kind = Kind::Number;
  std::string text; ///< the digits, the name, the function, or the operator
  size_t at = 0;    ///< of `text`, in bytes from the start of the expression
  std::vector<ExpressionTree> operands = {};
};

/// The operators of a language.
struct ExpressionSyntax {
  llvm::ArrayRef<llvm::StringRef> prefixes;
  /// Infix operators by rank, those that bind least first. An operator that begins another one
  /// stands behind it.
  llvm::ArrayRef<llvm::ArrayRef<llvm::StringRef>> ranks;
  /// What names and numbers may have besides letters and digits.
  llvm::StringRef inWords;
};

/// What is wrong with an expression, at byte \p at: "expression 'n*q', column 3: no size 'q'".
std::string expressionProblem(llvm::StringRef text, size_t at, const llvm::Twine &what);

/// The tree of \p text. Fails with a `UsageError` in the words of `expressionProblem`. Nesting of
/// more than 100 operators and parentheses is refused.
llvm::Expected<ExpressionTree> parseExpressionTree(llvm::StringRef text,
                                                   const ExpressionSyntax &syntax);

} // namespace kbopt

#endif // KBOPT_SUPPORT_EXPRESSIONTREE_H
