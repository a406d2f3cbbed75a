//===- LaunchPass.cpp - Passes that change launches -------------------------===//

#include "kb-opt/Rewrite/Schedule/LaunchPass.h"
#include "kb-opt/Rewrite/AstTools.h"

using namespace kbopt;

std::vector<Site> LaunchPass::sites(const PassContext &context, const KernelView &kernel) const {
  std::vector<Site> sites;
  for (const LaunchFact &fact : kernel.launches)
    if (isSite(context, fact))
      sites.push_back(ast::siteOf(kernel, fact.call));
  return sites;
}

Decision LaunchPass::prepare(const PassContext &context, const Site &site,
                             const PassOptions &options) const {
  llvm::Expected<Rewrite> rewrite = apply(context, site, options);
  if (!rewrite)
    return Decision::doesNotApply(llvm::toString(rewrite.takeError()));
  return Decision::applies();
}

llvm::Expected<Rewrite> LaunchPass::apply(const PassContext &context, const Site &site,
                                          const PassOptions &) const {
  for (const LaunchFact &fact : site.kernel->launches)
    if (fact.call == site.as<clang::CallExpr>())
      return rewrite(context, *site.kernel, fact);
  return llvm::createStringError("it is no launch");
}
