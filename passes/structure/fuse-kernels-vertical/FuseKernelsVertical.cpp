//===- FuseKernelsVertical.cpp - Join producer and consumer ----------------===//
//
//   scale<<<(n + 255) / 256, 256>>>(x, scaled, a, n);
//   clamp<<<(n + 255) / 256, 256>>>(scaled, y, n);
// ==>
//   scaleClamp<<<(n + 255) / 256, 256>>>(x, y, a, n);
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Rewrite/Schedule/Fusion.h"

using namespace kbopt;

namespace {

class FuseKernelsVertical : public RewritePass {
  std::vector<Site> sites(const PassContext &, const KernelView &kernel) const override {
    std::vector<Site> sites;
    for (const LaunchFact &fact : kernel.launches)
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
        return fuseLaunches(context, *site.kernel, fact);
    return llvm::createStringError("it is no launch");
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createFuseKernelsVertical() { return std::make_unique<FuseKernelsVertical>(); }
} // namespace kbopt
