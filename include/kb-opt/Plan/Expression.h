//===- Expression.h - Integer expressions of a workload ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the arithmetic that shapes, grids and scalars of a workload are written
// in: + - * / % on integers, parentheses, and min, max, ceildiv.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PLAN_EXPRESSION_H
#define KBOPT_PLAN_EXPRESSION_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kbopt {

/// Values of the size names of a workload.
using SizeMap = std::map<std::string, int64_t>;

/// Value of \p text under \p sizes. Division rounds towards zero as in C++;
/// `ceildiv(a, b)` rounds up. Fails with a `UsageError` whose message says what
/// is wrong and at which column of the expression (from 1): an unknown name,
/// division by zero, overflow of 64 bits, or a syntax error.
llvm::Expected<int64_t> evaluateExpression(llvm::StringRef text, const SizeMap &sizes);

/// The size names that \p text uses, in order of appearance, each once. Fails
/// on a syntax error.
llvm::Expected<std::vector<std::string>> namesInExpression(llvm::StringRef text);

} // namespace kbopt

#endif // KBOPT_PLAN_EXPRESSION_H
