//===- OracleSum.h - arithmetic of shadows ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the operations of device code do to shadows (kbrt/Oracle.h). Additions are
// done by image code itself. Rounding is to nearest throughout.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_ORACLESUM_H
#define KBRT_ORACLESUM_H

#include "kbrt/Oracle.h"

namespace kbrt::oracle {

/// Whether rounding errors of a sum are taken to be independent: those of equal terms are not, and
/// the bound for the worst case holds. They are until this is called.
void assumeIndependentErrors(bool assume);

/// Of a number that is what it is: one term without an error.
OracleSum exactly(double value);

/// \p x + \p y, still one sum.
OracleSum add(const OracleSum &x, const OracleSum &y);

/// How far \p sum, formed in \p format in any order, may be from its value.
double errorOf(const OracleSum &sum, FloatFormat format);

/// The result of \p operation, rounded to \p to, on operands of format \p from; \p y is null for
/// operations of one operand.
OracleSum compute(OracleOperation operation, FloatFormat from, FloatFormat to, const OracleSum &x,
                  const OracleSum *y);

/// What an observed element tells.
OracleElement elementOf(const OracleSum &sum, FloatFormat format);

} // namespace kbrt::oracle

#endif // KBRT_ORACLESUM_H
