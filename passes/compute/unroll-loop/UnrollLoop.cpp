//===- UnrollLoop.cpp - Ask the compiler to unroll a loop ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   for (int k = 0; k < n; ++k)            #pragma unroll 4
//     s += a[k];                    ==>    for (int k = 0; k < n; ++k)
//                                            s += a[k];
//
// Owns the choice of the factor. The compiler owns unrolling, and with it the
// proof that nothing else changes.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/AstTools.h"

using namespace kbopt;

namespace {

class UnrollLoop : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &context, const KernelView &kernel) const override {
    return ast::loopSites(context, kernel);
  }

  Decision decide(const PassContext &context, const Site &site, const PassOptions &options) const {
    const auto *loop = site.as<clang::ForStmt>();
    if (!loop)
      return Decision::doesNotApply("only 'for' loops are unrolled");
    for (const auto *attributed :
         ast::findAll<clang::AttributedStmt>(site.kernel->function()->getBody()))
      if (attributed->getSubStmt() == loop)
        return Decision::doesNotApply("the loop carries a pragma already");
    bool hasInner = false;
    ast::walk(loop->getBody(), [&](const clang::Stmt *each) {
      hasInner |=
          llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt>(each);
      return !hasInner;
    });
    if (hasInner)
      return Decision::doesNotApply("the loop contains another loop");
    auto ops = context.imported().loopsOf(loop);
    if (ops.empty())
      return Decision::doesNotApply("the loop is not in the device code, or runs once at most");
    for (kb::LoopOp op : ops) {
      if (!op.getTrip() && !op.getTripCount())
        return Decision::doesNotApply(
            "the number of iterations cannot be computed before the loop");
      if (op.getTripCount() && *op.getTripCount() <= 1)
        return Decision::doesNotApply("the loop runs once at most");
    }
    return Decision::applies();
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    const auto *loop = site.as<clang::ForStmt>();
    bool entirely = true;
    for (kb::LoopOp op : context.imported().loopsOf(loop))
      entirely &= op.getTripCount() && int64_t(*op.getTripCount()) <= options.integer("full");
    std::string factor = entirely ? "" : " " + std::to_string(options.integer("factor"));
    AnchorOrReason anchor = anchorOf(context.parsed(), loop, site.kernel->function());
    if (!anchor)
      return decline(anchor.reason());
    Rewrite rewrite;
    rewrite.summary = entirely ? "unrolled entirely" : "unrolled by" + factor;
    if (llvm::Error error = rewrite.edits.insertBefore(
            *anchor, ast::ownLine(context, loop->getBeginLoc(), "#pragma unroll" + factor)))
      return std::move(error);
    return rewrite;
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createUnrollLoop() { return std::make_unique<UnrollLoop>(); }
} // namespace kbopt
