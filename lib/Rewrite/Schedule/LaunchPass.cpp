//===- LaunchPass.cpp - Passes that change launches -------------------------===//
// SPDX-License-Identifier: Apache-2.0

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

llvm::Expected<Rewrite> LaunchPass::rewrite(const PassContext &context, const Site &site,
                                            const PassOptions &) const {
  for (const LaunchFact &fact : site.kernel->launches)
    if (fact.call == site.as<clang::CallExpr>()) {
      llvm::Expected<Rewrite> made = rewriteLaunch(context, *site.kernel, fact);
      if (!made)
        return declined(made.takeError());
      return made;
    }
  return decline("it is no launch");
}
