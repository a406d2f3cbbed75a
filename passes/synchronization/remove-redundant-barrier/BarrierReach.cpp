//===- BarrierReach.cpp - What a barrier alone stands between ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "BarrierReach.h"

using namespace kbopt;
using namespace kbopt::barriers;
using namespace clang;

static bool isBarrier(const Stmt *statement) {
  const auto *call = dyn_cast_or_null<CallExpr>(statement);
  return call && call->getDirectCallee() && call->getDirectCallee()->getIdentifier() &&
         call->getDirectCallee()->getName() == "__syncthreads";
}

/// The barriers at and below \p statement. \p always: each run of the region around passes \p
/// statement.
static void collect(const Stmt *statement, bool always, bool inBlock, std::vector<Barrier> &found) {
  if (!statement)
    return;
  if (isBarrier(statement)) {
    found.push_back({cast<CallExpr>(statement), inBlock, always && inBlock});
    return;
  }
  bool block = isa<CompoundStmt>(statement), through = isa<CompoundStmt, AttributedStmt>(statement);
  const Stmt *body = nullptr;
  if (const auto *loop = dyn_cast<ForStmt>(statement))
    body = loop->getBody();
  else if (const auto *loop = dyn_cast<WhileStmt>(statement))
    body = loop->getBody();
  else if (const auto *loop = dyn_cast<DoStmt>(statement))
    body = loop->getBody();
  for (const Stmt *child : statement->children())
    collect(child, child == body || (always && through), block, found);
}

std::vector<Barrier> barriers::barriersOf(const KernelView &kernel) {
  std::vector<Barrier> found;
  collect(kernel.function()->getBody(), true, false, found);
  return found;
}

/// A way out of the middle of a loop at or below \p statement that has a barrier; null without one.
static const Stmt *leavesLoopEarly(const Stmt *statement, bool inLoop) {
  const Stmt *found = nullptr;
  if (isa<GotoStmt, IndirectGotoStmt, LabelStmt>(statement) ||
      (inLoop && isa<BreakStmt, ContinueStmt>(statement)))
    return statement;
  bool isLoop = isa<ForStmt, WhileStmt, DoStmt, CXXForRangeStmt>(statement);
  if (isLoop) {
    inLoop = false;
    for (const auto *call : ast::findAll<CallExpr>(statement))
      inLoop |= isBarrier(call);
  }
  for (const Stmt *child : statement->children())
    if (child && !found)
      found = leavesLoopEarly(child, inLoop);
  return found;
}

namespace {

/// Walks from a barrier's operation to those that run next, forward or backward.
class Walk {
public:
  Walk(const PassContext &context, const KernelView &kernel, kb::KernelOp op,
       const std::vector<const CallExpr *> &gone, std::string &obstacle)
      : obstacle(obstacle) {
    for (const Barrier &barrier : barriersOf(kernel))
      if (barrier.isUnconditional && !llvm::is_contained(gone, barrier.call))
        separators.push_back(lineColumn(context.parsed(), barrier.call->getBeginLoc()));
  }

  static bool isAt(mlir::Operation *op, LineColumn place) {
    auto range = mlir::dyn_cast<mlir::FileLineColRange>(op->getLoc());
    return mlir::isa<kb::BarrierOp>(op) && range && range.getStartLine() == place.line &&
           range.getStartColumn() == place.column;
  }

  void run(mlir::Operation *barrier, bool forward, std::vector<kb::AccessOp> &found) {
    for (mlir::Operation *at = barrier; at && mlir::isa<kb::BarrierOp, kb::LoopOp>(at);
         at = at->getParentOp()) {
      if (scan(forward ? at->getNextNode() : at->getPrevNode(), forward, found))
        return;
      if (auto loop = mlir::dyn_cast<kb::LoopOp>(at->getParentOp()))
        enter(loop, found); // another iteration
    }
  }

private:
  /// The operations from \p op on, until one separates; says whether one did.
  bool scan(mlir::Operation *op, bool forward, std::vector<kb::AccessOp> &found) {
    for (; op; op = forward ? op->getNextNode() : op->getPrevNode()) {
      if (auto barrier = mlir::dyn_cast<kb::BarrierOp>(op)) {
        if (barrier.getScope() == kb::BarrierScope::Block) {
          if (llvm::any_of(separators, [&](LineColumn place) { return isAt(op, place); }))
            return true;
        } else if (barrier.getScope() != kb::BarrierScope::Warp) {
          obstacle = "a fence or another kind of barrier stands beside it";
        }
      } else if (auto access = mlir::dyn_cast<kb::AccessOp>(op)) {
        if (access.getIsVolatile())
          obstacle = "'" + access.getBase().getName().str() + "' is volatile";
        if (!llvm::is_contained(found, access))
          found.push_back(access);
      } else if (auto loop = mlir::dyn_cast<kb::LoopOp>(op)) {
        enter(loop, found);
      } else if (auto call = mlir::dyn_cast<kb::CallOp>(op)) {
        if (call.getCallee() != "vprintf")
          obstacle = "'" + call.getCallee().str() + "' is called beside it, which is not known";
      } else if (auto opaque = mlir::dyn_cast<kb::OpaqueOp>(op)) {
        obstacle = "the kernel does something beside it that is not understood: " +
                   opaque.getReason().str();
      }
    }
    return false;
  }

  /// Both ends of \p loop, up to the first and from the last barrier in it: its condition may stand
  /// at either.
  void enter(kb::LoopOp loop, std::vector<kb::AccessOp> &found) {
    if (loop.getBody().front().empty())
      return;
    scan(&loop.getBody().front().front(), true, found);
    scan(&loop.getBody().front().back(), false, found);
  }

  std::vector<LineColumn> separators;
  std::string &obstacle;
};

} // namespace

Reach barriers::reachOf(const PassContext &context, const KernelView &kernel, kb::KernelOp op,
                        const Barrier &barrier, const std::vector<const CallExpr *> &gone) {
  Reach reach;
  if (const Stmt *leave = leavesLoopEarly(kernel.function()->getBody(), false)) {
    reach.obstacle =
        "a loop with barriers is left early at " + ast::lineText(context, leave->getBeginLoc());
    return reach;
  }
  std::vector<const CallExpr *> transparent = gone;
  transparent.push_back(barrier.call);
  Walk walk(context, kernel, op, transparent, reach.obstacle);
  LineColumn place = lineColumn(context.parsed(), barrier.call->getBeginLoc());
  unsigned seen = 0;
  op->walk([&](kb::BarrierOp each) {
    if (each.getScope() != kb::BarrierScope::Block || !Walk::isAt(each, place))
      return;
    ++seen;
    walk.run(each, false, reach.before);
    walk.run(each, true, reach.after);
  });
  if (!seen)
    reach.obstacle = "the barrier is not found in the device code";
  bool publishes = llvm::any_of(reach.before,
                                [](kb::AccessOp access) {
                                  return access.getKind() != kb::AccessKind::Load &&
                                         access.getSpace() != kb::MemorySpace::Shared;
                                }) &&
                   llvm::any_of(reach.after, [](kb::AccessOp access) {
                     return access.getKind() == kb::AccessKind::Atomic &&
                            access.getSpace() != kb::MemorySpace::Shared;
                   });
  if (publishes && reach.obstacle.empty())
    reach.obstacle = "an atomic after it may tell other blocks what was stored before it";
  return reach;
}
