//===- Passes.cpp - Findings that passes make -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the findings that rest on a pass: where it applies, what it mends is there.
//
//===----------------------------------------------------------------------===//
#include "Collect.h"
#include "kb-opt/Rewrite/RewritePass.h"

using namespace kbopt;

static unsigned pointersOf(const KernelView &kernel) {
  return llvm::count_if(kernel.function()->parameters(), [](const clang::ParmVarDecl *each) {
    return each->getType()->isPointerType();
  });
}

/// The finding of \p rule at \p site, if \p pass applies there.
static std::optional<ProgramFinding> findAt(const PassContext &context, const FindingRule &rule,
                                            const PassInfo &info, const RewritePass &pass,
                                            const Site &site) {
  PassOptions options(info);
  llvm::Expected<Rewrite> rewrite = pass.rewrite(context, site, options);
  if (!rewrite) {
    llvm::consumeError(rewrite.takeError());
    return std::nullopt;
  }
  std::optional<ProgramFinding> finding = findingAt(context, rule.id, *site.kernel, site.range);
  if (!finding || llvm::none_of(rewrite->edits, [&](const Edit &edit) {
        return llvm::StringRef(edit.replacement).contains(rule.mustWrite);
      }))
    return std::nullopt;
  if (site.as<clang::FunctionDecl>()) {
    // The site is the whole kernel; what is found stands where the first change is.
    const Edit &first = *rewrite->edits.begin();
    finding->begin = first.offset;
    finding->end = first.offset + std::max(first.length, 1u);
  }
  finding->message = rule.message.str();
  finding->summary = rewrite->summary;
  finding->promise = rewrite->promise.value_or(info.promise);
  for (const Edit &edit : rewrite->edits)
    finding->replacements.push_back({edit.offset, edit.length, edit.replacement});
  return finding;
}

void kbopt::addPassFindings(const PassContext &context, const PassRegistry &registry,
                            std::vector<ProgramFinding> &findings) {
  for (const FindingRule &rule : findingRules()) {
    const PassRegistration *registration =
        rule.message.empty() ? nullptr : registry.lookup(rule.pass);
    if (!registration || !registration->info->deterministic ||
        !registration->info->refusalFor(context.parsed().command().arch).empty())
      continue;
    std::unique_ptr<RewritePass> pass = registration->create();
    for (const KernelView &kernel : context.kernels()) {
      if (kernel.isInHeader())
        continue;
      // A pointer that is alone overlaps with nothing.
      if (rule.id == "missing-restrict" && pointersOf(kernel) < 2)
        continue;
      for (const Site &site : pass->sites(context, kernel))
        if (std::optional<ProgramFinding> finding =
                findAt(context, rule, *registration->info, *pass, site))
          findings.push_back(std::move(*finding));
    }
  }
}
