//===- SimplifySums.h - Sums with less in them ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the rewriting of the sums that one inner dimension forms. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_SIMPLIFYSUMS_H
#define KBOPT_LIB_RAISE_SIMPLIFYSUMS_H

#include "kb-opt/IR/Kb.h"
#include <set>
#include <string>

namespace kbopt::raise {

/// Whether the sums of \p over can be distributed so that no term depends on the dimensions \p sunk
/// of points or on the scalars
/// \p dependent.
bool canSeparate(kb::NestOp nest, kb::OverOp over, const std::set<std::string> &sunk,
                 const std::set<std::string> &dependent);

/// Takes the indicators and the factors that do not vary out of the sums of \p over, and what
/// depends on \p sunk or \p dependent. Returns whether anything changed.
bool simplifySums(kb::NestOp nest, kb::OverOp over, const std::set<std::string> &sunk,
                  const std::set<std::string> &dependent);

/// The kb.let in the block of \p over that declares \p variable; null if there is none.
kb::LetOp declarationBeside(kb::OverOp over, llvm::StringRef variable);

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_SIMPLIFYSUMS_H
