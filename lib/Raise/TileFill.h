//===- TileFill.h - A store to a shared array, by element -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way from the index of an element of a shared array to the thread that stored it. Private
// to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_TILEFILL_H
#define KBOPT_LIB_RAISE_TILEFILL_H

#include "ThreadProgram.h"
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
/// variable < count.
struct TileDigit {
  VarId variable;
  int64_t count;
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

/// The least and greatest value of \p poly by what is known of its variables.
std::optional<std::pair<int64_t, int64_t>> rangeOf(const Space &space, const Poly &poly);

/// Gives \p fill digits of its own in place of the numbers of threads, which are less than \p
/// block, and of the \p loops around it, outermost first. False where iterations and threads do not
/// count through a range.
bool numberWriters(Space &space, TileFill &fill, llvm::ArrayRef<Statement> loops,
                   llvm::ArrayRef<int64_t> block);

/// The values of \p fill's digits for which it stores to the element \p offset. Nothing where that
/// is not certain; `isNever` is set where it never does.
std::optional<std::vector<Poly>> writersOf(Space &space, const TileFill &fill, const Poly &offset,
                                           bool &isNever);

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_TILEFILL_H
