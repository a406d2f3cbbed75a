//===- Teams.h - Undoing the cooperation of threads -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the step of raising that turns what the threads of a block, warp or part of a warp do
// together for one point into what a single thread would do. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_TEAMS_H
#define KBOPT_LIB_RAISE_TEAMS_H

#include "Points.h"

namespace kbopt::raise {

/// Rewrites \p program so that no thread waits for another: loops that a team shares out become
/// plain loops with `team`, reductions over a team and what broadcasts their result become Combine
/// in such loops, barriers go. Leaves a program alone that has nothing of the kind; sets `reason`
/// where it does not understand how the threads work together.
///
/// Why it is right: a team whose threads execute one statement after the other, each for all
/// threads before the next, is one of the orders in which the given kernel may run, and it keeps
/// every barrier. So each statement can become a loop over the threads; what has to be shown is
/// only that no scalar of a single thread lives from one such loop to the next except as a partial
/// result, and that partial results are combined exactly once.
///
/// Where teams are smaller than a block, each becomes one thread of a block that is as much
/// smaller: afterwards tid.x is the team's number in its block and bdim.x the number of teams, as
/// in \p launches. The result is that number, in terms of the block that is launched. Nothing:
/// bdim.x is what it says.
std::optional<Poly> undoCooperation(ThreadProgram &program, analysis::LaunchRanges &launches);

/// Removes scalars that are copies of others.
void dropCopies(ThreadProgram &program);

/// Puts \p width for bdim.x everywhere, now that points have been formed.
void restoreBlockWidth(ThreadProgram &program, std::vector<Dimension> &dimensions,
                       const Poly &width);

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_TEAMS_H
