//===- NestScalars.h - Scalars of a nest and their uses ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the question whether an iteration leaves something to another in a scalar.
// Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_NESTSCALARS_H
#define KBOPT_LIB_RAISE_NESTSCALARS_H

#include "kb-opt/IR/Kb.h"

namespace kbopt::raise {

/// Why a scalar of \p nest carries a value from one iteration of an `any` or `reduction` dimension
/// to another other than by kb.reduce, in the user's words; empty if none does.
std::string carriedScalar(kb::NestOp nest);

/// Whether the identifier \p name stands in \p text.
bool mentions(llvm::StringRef text, llvm::StringRef name);

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_NESTSCALARS_H
