//===- ContractionSum.h - The sum of a nest and what is around it -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns where the sum of a contraction stands in its nest: the parallel dimensions around it, its
// loops, its statements with their conditions, and what comes before and after. Private to the
// library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_CONTRACTIONSUM_H
#define KBOPT_LIB_SCHEDULE_CONTRACTIONSUM_H

#include "Contraction.h"

namespace kbopt {

struct SumOfNest {
  std::vector<NestDim> parallel;       ///< outermost first
  mlir::Block *body = nullptr;         ///< inside them
  std::vector<kb::DomainAttr> domains; ///< conditions on points
  /// For each statement of the term the conditions around it, inside the outermost loop of the sum.
  std::vector<std::vector<kb::DomainAttr>> conditions;
};

/// Fills \p sum, and in \p contraction the sum's loops, its statements, and those before and after.
/// Why there is no such sum; empty if there is.
std::string findSum(kb::NestOp nest, Contraction &contraction, SumOfNest &sum);

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_CONTRACTIONSUM_H
