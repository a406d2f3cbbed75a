//===- TileFill.h - A store to a shared array, by element -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way from the index of an element of a shared array to the thread that stored it. Private
// to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_TILEFILL_H
#define KBOPT_LIB_RAISE_TILEFILL_H

#include "Facts.h"
#include <functional>

namespace kbopt::raise {

/// A condition around a store. Of both sides of an `if` with an else, `choice` is the same number.
struct TileGuard {
  std::vector<Constraint> constraints;
  Text text;
  unsigned choice = 0;
  bool isElse = false;
};

/// A counter whose values the threads and iterations around a store have, each of them once: 0 <=
/// variable < count. The count is the same for the whole block.
struct TileDigit {
  VarId variable;
  Poly count;
};

/// One store to a shared array.
struct TileFill {
  Operand target;
  Text value;
  std::vector<TileGuard> guards;
  std::vector<Statement>
      scalars; ///< that the value and the conditions are computed from, in their order
  std::vector<TileDigit> digits;
  bool isPublished = false; ///< a barrier came after it

  void rewrite(llvm::function_ref<Poly(const Poly &)> change);
};

/// Gives \p fill digits of its own in place of the numbers of threads, which are less than \p
/// block, and of the \p loops around it, outermost first. False where iterations and threads do not
/// count through a range.
bool numberWriters(Space &space, TileFill &fill, llvm::ArrayRef<Statement> loops,
                   const std::array<Poly, 3> &block);

/// Puts in what equations around \p fill say of its digits: `if (tid.y == 0)`. False if it never
/// stores.
bool pinDigits(Space &space, TileFill &fill);

/// How far apart elements are that neighbouring values of the digits of \p fills store to.
std::vector<Poly> stridesOf(llvm::ArrayRef<const TileFill *> fills);

/// Which thread stores to an element: values of the fill's digits, if `range` holds.
struct TileWriters {
  std::vector<Poly> values;
  Constraints range;
};

/// What writes \p offset in \p fill of an array that is laid out by \p strides. Nothing where that
/// is not certain; `isNever` is set where nothing does.
std::optional<TileWriters> writersOf(const Space &space, const Facts &facts, const TileFill &fill,
                                     llvm::ArrayRef<Poly> strides, const Poly &offset,
                                     bool &isNever);

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_TILEFILL_H
