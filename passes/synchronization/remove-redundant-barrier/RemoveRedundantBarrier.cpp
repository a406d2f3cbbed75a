//===- RemoveRedundantBarrier.cpp - Drop a barrier that orders nothing -----===//
// SPDX-License-Identifier: Apache-2.0
//
//   part[t] = x[i];                     part[t] = x[i];
//   __syncthreads();                    __syncthreads();
//   y[i] = part[255 - t];      ==>      y[i] = part[255 - t];
//   __syncthreads();
//
// Owns which barriers go together and their removal. BarrierReach.h owns which
// accesses a barrier alone stands between, Legality.h whether two of them meet.
//
//===----------------------------------------------------------------------===//

#include "BarrierReach.h"

using namespace kbopt;
using namespace kbopt::barriers;
using namespace clang;

namespace {

/// Whether \p before in one thread and \p after in another one of the block need an order.
Decision judgePair(const PassContext &context, kb::AccessOp before, kb::AccessOp after) {
  if (before.getKind() == kb::AccessKind::Load && after.getKind() == kb::AccessKind::Load)
    return Decision::applies();
  auto isPrivate = [](kb::AccessOp access) {
    return access.getSpace() == kb::MemorySpace::Local ||
           access.getSpace() == kb::MemorySpace::Constant ||
           access.getSpace() == kb::MemorySpace::Param;
  };
  if (isPrivate(before) || isPrivate(after))
    return Decision::applies();
  std::string first = before.getBase().getName().str(), second = after.getBase().getName().str();
  if (before.getBase() != after.getBase()) {
    Answer alias = basesMayAlias(context.imported(), before, after);
    if (alias.refuted())
      return Decision::applies();
    return Decision::doesNotApply(
        "'" + first + "' and '" + second +
        "' may overlap, and the barrier orders their accesses; add-restrict-const may help");
  }
  Answer meet = threadsMayOverlap(before, after, {}, /*sameBlock=*/true);
  if (meet.refuted())
    return Decision::applies();
  auto place = [&](kb::AccessOp access) {
    const Expr *expr = context.imported().exprOf(access);
    return expr ? ast::lineText(context, expr->getBeginLoc()) : std::string("another place");
  };
  return Decision::doesNotApply("threads may exchange '" + first + "' between " + place(before) +
                                " and " + place(after) + (meet.proven() ? "" : ": " + meet.reason));
}

/// Whether \p barrier can go, given that those in \p gone do.
Decision judge(const PassContext &context, const KernelView &kernel, const Barrier &barrier,
               const std::vector<const CallExpr *> &gone) {
  for (kb::KernelOp op : kernel.ops) {
    Reach reach = reachOf(context, kernel, op, barrier, gone);
    if (!reach.obstacle.empty())
      return Decision::doesNotApply(reach.obstacle);
    for (kb::AccessOp before : reach.before)
      for (kb::AccessOp after : reach.after)
        if (Decision pair = judgePair(context, before, after); !pair)
          return pair;
  }
  return Decision::applies();
}

class RemoveRedundantBarrier : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &, const KernelView &kernel) const override {
    std::vector<Site> sites;
    for (const Barrier &barrier : barriersOf(kernel))
      sites.push_back(ast::siteOf(kernel, barrier.call));
    return sites;
  }

  Decision decide(const PassContext &context, const Site &site, const PassOptions &) const {
    const KernelView &kernel = *site.kernel;
    if (kernel.ops.empty())
      return Decision::doesNotApply("nothing is known about the kernel's device code");
    // Two neighbours may each be superfluous because of the other one: what goes is decided in the
    // order of the text.
    std::vector<const CallExpr *> gone;
    for (const Barrier &barrier : barriersOf(kernel)) {
      Decision decision =
          barrier.isStatement
              ? judge(context, kernel, barrier, gone)
              : Decision::doesNotApply("the barrier is no statement of its own in a block");
      std::string why;
      if (decision && !byteRange(context.parsed(), barrier.call->getSourceRange(), &why))
        decision = Decision::doesNotApply(why);
      if (barrier.call == site.as<CallExpr>())
        return decision;
      if (decision)
        gone.push_back(barrier.call);
    }
    llvm_unreachable("a site of this pass is a barrier");
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    const FunctionDecl *function = site.kernel->function();
    AnchorOrReason body = anchorOfBody(context.parsed(), function);
    AnchorOrReason call = anchorOf(context.parsed(), site.as<Stmt>(), function);
    if (!body || !call)
      return decline((body ? call : body).reason());
    // With its line, where it has one to itself.
    llvm::StringRef text = context.parsed().text();
    unsigned begin = call->begin, end = call->end;
    llvm::StringRef left = text.take_front(begin).rtrim(" \t"),
                    right = text.drop_front(end).ltrim(" \t");
    if (left.ends_with("\n") && right.starts_with("\n")) {
      begin = left.size() - 1;
      end = text.size() - right.size();
    }
    Rewrite rewrite;
    rewrite.summary = "removed a barrier that ordered nothing";
    if (llvm::Error error = rewrite.edits.replace(*body, begin, end - begin, ""))
      return std::move(error);
    return rewrite;
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createRemoveRedundantBarrier() {
  return std::make_unique<RemoveRedundantBarrier>();
}
} // namespace kbopt
