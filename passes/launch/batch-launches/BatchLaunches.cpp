//===- BatchLaunches.cpp - One launch in place of a loop of them -----------===//
//
//   for (int i = 0; i < batch; ++i)
//     scale<<<(n + 255) / 256, 256>>>(y + i * n, x + i * n, n);
// ==>
//   scaleBatch<<<(batch * n + 255) / 256, 256>>>(y, x, n, batch);
//
// Owns the sites; lib/Rewrite/Schedule/Batch.cpp does the work.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/Schedule/Batch.h"
#include "kb-opt/Rewrite/AstTools.h"

using namespace kbopt;

namespace {

class BatchLaunches : public RewritePass {
  std::vector<Site> sites(const PassContext &context, const KernelView &kernel) const override {
    std::vector<Site> sites;
    for (const LaunchFact &fact : kernel.launches)
      if (standsInLoop(context, fact))
        sites.push_back(ast::siteOf(kernel, fact.call));
    return sites;
  }

  Decision prepare(const PassContext &context, const Site &site, const PassOptions &options) const override {
    llvm::Expected<Rewrite> rewrite = apply(context, site, options);
    if (!rewrite)
      return Decision::doesNotApply(llvm::toString(rewrite.takeError()));
    return Decision::applies();
  }

  llvm::Expected<Rewrite> apply(const PassContext &context, const Site &site, const PassOptions &) const override {
    for (const LaunchFact &fact : site.kernel->launches)
      if (fact.call == site.as<clang::CallExpr>())
        return batchLaunches(context, *site.kernel, fact);
    return llvm::createStringError("it is no launch");
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createBatchLaunches() { return std::make_unique<BatchLaunches>(); }
} // namespace kbopt
