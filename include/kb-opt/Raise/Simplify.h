//===- Simplify.h - Sums that need fewer terms ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the simplification of reductions in a raised kernel (Yang, Atkinson, Carbin: Simplifying
// Dependent Reductions in the Polyhedral Model, POPL 2021; arXiv 2411.17498). Works on kb.nest
// alone.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_RAISE_SIMPLIFY_H
#define KBOPT_RAISE_SIMPLIFY_H

#include "kb-opt/IR/Kb.h"
#include "llvm/Support/Error.h"

namespace kbopt {

/// A copy of \p nest, put after it, that computes the same values as real numbers with fewer
/// operations:
///
/// - a sum with a factor `t == j ? 1 : 0` is its term at t = j, and the rest of the sum;
/// - a factor that is the same for all terms stands outside of the sum, and a sum is distributed
/// where that makes its
///   terms independent of a dimension of the points;
/// - a sum that is the same for all points along some dimensions is formed once, and these
/// dimensions become inner ones after it.
///
/// The order of operations on floating-point numbers changes. Nothing is read that \p nest does not
/// read. An error is the reason why nothing can be simplified, in the user's words. The caller
/// erases the copy.
llvm::Expected<kb::NestOp> simplifyReductions(kb::NestOp nest);

} // namespace kbopt

#endif // KBOPT_RAISE_SIMPLIFY_H
