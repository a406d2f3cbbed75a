//===- Points.h - From threads to points ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the raised form before it is printed as kb.nest: dimensions instead of threads and
// blocks. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_POINTS_H
#define KBOPT_LIB_RAISE_POINTS_H

#include "ThreadProgram.h"

namespace kbopt::raise {

/// 0 <= variable < extent, for each dimension independently of the others.
struct Dimension {
  VarId variable;
  Poly extent;
};

/// Gives \p program's thread and block variables back as dimensions, outermost first. Afterwards no
/// polynomial of its body mentions tid or bid, every loop counts from 0 by 1, and `requirements`
/// say for which launches this holds; or its `reason` is set.
std::vector<Dimension> formPoints(ThreadProgram &program, const analysis::LaunchRanges &launches);

/// Takes guards as the extents of \p dimensions, and joins these with the grid-stride loops, the
/// tiles and the neighbours that a thread works on.
void peelDimensions(ThreadProgram &program, std::vector<Dimension> &dimensions);

/// Joins pairs of \p dimensions that are only used as `tile * size + place`, and requires that
/// there are as many places as that. False if there are none.
bool joinDimensions(ThreadProgram &program, std::vector<Dimension> &dimensions,
                    const analysis::LaunchRanges &launches);

/// Splits a dimension into the digits by which the kernel takes it apart (`i / n`, `i % n`).
void unflatten(ThreadProgram &program, std::vector<Dimension> &dimensions);

/// Undoes divisions of which the digits are put together again: `i / n * n + i % n` is i.
void joinDigits(ThreadProgram &program);

/// Turns every remaining obligation into requirements, or refuses.
void dischargeObligations(ThreadProgram &program, const analysis::LaunchRanges &launches);

/// Gives every loop its order. Empty if stores of different points never meet, and no point loads
/// what another one stores; otherwise where that is not certain.
std::string checkDependences(ThreadProgram &program, llvm::ArrayRef<Dimension> dimensions);

/// Makes one loop of loops that walk along one line together, `x[i * n + j]`; the launch shows that
/// an int counts to the end. After `checkDependences`.
void joinLoops(ThreadProgram &program);

/// Requires of elements at `i * 1024 + j` and the like that j stays within its row, as a proof by
/// emptiness needs.
void requireRowLengths(ThreadProgram &program, llvm::ArrayRef<Dimension> dimensions);

/// Exchanges loops so that the updates of an element stand together, and splits loops at a
/// condition on their counter.
void reshapeLoops(ThreadProgram &program, llvm::ArrayRef<Dimension> dimensions);

/// Lets loops of which each iteration does nothing but under an equation, `(i - k) % n == 0`, visit
/// the iterations that satisfy it.
void solveEquations(ThreadProgram &program);

/// Values that stay in memory during a loop become scalars; loads of what was just stored
/// become the stored value.
void scalarize(ThreadProgram &program);

/// Keeps what each thread sums up in an element of shared memory in a scalar during the loop.
void keepOwnSums(ThreadProgram &program);

/// dividend / divisor if it is a polynomial.
std::optional<Poly> exactQuotient(const Poly &dividend, const Poly &divisor);

/// The least or greatest value of \p poly over the loops in \p ends (first and one past last value)
/// and the thread and block variables, as a polynomial in uniform values and \p kept ones. Adds
/// requirements that sizes are not negative to \p program.
std::optional<Poly> bound(ThreadProgram &program,
                          const std::map<VarId, std::pair<Poly, Poly>> &ends, Poly poly,
                          bool isUpper, const std::set<VarId> &kept = {});
/// The ranges of the loops of \p body.
std::map<VarId, std::pair<Poly, Poly>> loopRanges(std::vector<Statement> &body);

/// Whether nothing but the threads themselves could tell that several of them do the
/// same: no atomics, and no element is loaded that the kernel stores.
bool isIdempotent(ThreadProgram &program);

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_POINTS_H
