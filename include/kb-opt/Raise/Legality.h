//===- Legality.h - What may be assumed of a raised kernel ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the checked answer that a kb.nest is what it says: independent points, inner
// dimensions of the order that they name, elements with one owner. Works on kb.nest alone.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_RAISE_LEGALITY_H
#define KBOPT_RAISE_LEGALITY_H

#include "kb-opt/Analysis/Answer.h"
#include "kb-opt/IR/Kb.h"

namespace kbopt {

/// The reason of an answer that was not found in time.
inline constexpr char tooLongToCompare[] = "its accesses take too long to compare";

/// Whether the points of \p nest are independent and its inner dimensions keep their order's
/// promise. Proven only where, for every store and every other access to the same base, no two
/// points touch a common element, and no two iterations of an `any` or `reduction` dimension at one
/// point do; and where no scalar is carried from one iteration to the next but by kb.reduce.
/// Points do not share elements of what the nest calls racefree. Atomics on an element that only
/// the same atomic touches do not conflict. Parameters that may refer to the same memory at run
/// time are not looked at: the launch tests that. Decided by integer emptiness within about \p
/// seconds of processor time; unknown afterwards. With
/// \p isApart it is already known that points, and iterations of dimensions that are not
/// `ascending`, touch different elements.
Answer isLegalNest(kb::NestOp nest, double seconds = 2, bool isApart = false);

/// The bases of which two points of \p nest may touch a common element that one of them stores to,
/// as far as integer emptiness shows within about \p seconds. Nothing where sizes alone decide
/// that, and points do meet if all sizes are alike: `y[i] = y[n - 1 - i]`.
std::optional<llvm::SmallVector<std::string>> basesThatMayMeet(kb::NestOp nest, double seconds = 2);

/// Whether two points of \p nest that differ along dimension number \p position alone touch
/// different elements of everything that is stored to.
bool isApartAlong(kb::NestOp nest, unsigned position, double seconds = 2);

/// Whether the iterations of the outermost inner dimensions of each point can be given to the
/// threads of a team, iteration i of every one to the same thread, without the threads waiting for
/// each other: no iteration touches an element that another iteration number, or a statement
/// outside the inner dimensions, stores. Otherwise the reason names the element's base; a
/// printer then separates the two dimensions by a barrier of the team.
Answer hasOneOwner(kb::NestOp nest, double seconds = 2);

} // namespace kbopt

#endif // KBOPT_RAISE_LEGALITY_H
