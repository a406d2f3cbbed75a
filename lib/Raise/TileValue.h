//===- TileValue.h - What an element of a shared array holds ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way from the stores that may have written an element of a shared array to its value.
// Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_TILEVALUE_H
#define KBOPT_LIB_RAISE_TILEVALUE_H

#include "TileFill.h"

namespace kbopt::raise {

/// What \p element holds after \p fills, all stores to its array in their order, where \p context
/// holds: a text that goes after the statements which are added to \p out. Unless the array
/// \p isStale, an element that is read and of which no proof shows that a store covers it counts as
/// covered, since reading what nothing stored is undefined; ThreadProgram::assumedFilled says so.
/// Nothing, and a reason in \p program, where it is not known.
std::optional<Text> tileValue(ThreadProgram &program, const Operand &element,
                              llvm::ArrayRef<const TileFill *> fills, const Constraints &context,
                              bool isStale, std::vector<Statement> &out);

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_TILEVALUE_H
