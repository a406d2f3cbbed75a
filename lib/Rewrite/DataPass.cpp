//===- DataPass.cpp - A pass without C++ -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Rewrite/DataPass.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Support/Error.h"
#include "clang/ASTMatchers/ASTMatchFinder.h"
#include "clang/ASTMatchers/Dynamic/Diagnostics.h"
#include "clang/ASTMatchers/Dynamic/Parser.h"
#include <set>

using namespace kbopt;
using namespace clang;
using ast_matchers::MatchFinder;
using ast_matchers::internal::DynTypedMatcher;
using llvm::StringRef;

static std::optional<DynTypedMatcher>
parseMatcher(StringRef text, ast_matchers::dynamic::Diagnostics &diagnostics) {
  // For the parser an end of line ends the matcher, too, if all brackets are closed: what a line
  // with nothing but .bind("site") says would be lost.
  std::string joined = text.trim().str();
  for (size_t i = 0; i < joined.size(); ++i)
    if (joined[i] == '\n' && StringRef(joined).drop_front(i).ltrim().starts_with("."))
      joined[i] = ' ';
  text = joined;
  return ast_matchers::dynamic::Parser::parseMatcherExpression(text, &diagnostics);
}

std::string kbopt::checkMatcher(StringRef matcher) {
  ast_matchers::dynamic::Diagnostics diagnostics;
  if (!parseMatcher(matcher, diagnostics))
    return StringRef(diagnostics.toStringFull()).trim().str();
  std::string plain;
  llvm::copy_if(matcher, std::back_inserter(plain), [](char c) { return !llvm::isSpace(c); });
  if (plain.find(".bind(\"site\")") == std::string::npos)
    return "it binds no node as \"site\": end the matcher of the node with .bind(\"site\")";
  return "";
}

static Site siteAt(const PassContext &context, const KernelView &kernel, const DynTypedNode &node) {
  if (const auto *statement = node.get<Stmt>()) {
    auto ops = context.imported().loopsOf(statement);
    return ast::siteOf(kernel, statement, ops.empty() ? nullptr : ops.front().getOperation());
  }
  if (const auto *variable = node.get<VarDecl>())
    return ast::siteOf(kernel, variable);
  if (node.get<FunctionDecl>() == kernel.function())
    return ast::kernelSites(kernel).front();
  Site site;
  site.kernel = &kernel;
  site.node = node;
  site.range = node.getSourceRange();
  return site;
}

namespace {

/// Keeps the nodes that are bound as "site".
class Collector : public MatchFinder::MatchCallback {
public:
  Collector(const PassContext &context, const KernelView &kernel)
      : context(context), kernel(kernel) {}

  void run(const MatchFinder::MatchResult &result) override {
    const auto &bound = result.Nodes.getMap();
    auto node = bound.find("site");
    if (node == bound.end())
      return;
    Site site = siteAt(context, kernel, node->second);
    if (site.range.isValid())
      sites.push_back(std::move(site));
  }

  std::vector<Site> sites;

private:
  const PassContext &context;
  const KernelView &kernel;
};

/// Looks at one function only; walking the whole unit reads every header back in.
class OnlyWithin {
public:
  OnlyWithin(ASTContext &context, const FunctionDecl *function)
      : context(context), before(context.getTraversalScope()) {
    context.setTraversalScope({const_cast<FunctionDecl *>(function)});
  }
  ~OnlyWithin() { context.setTraversalScope(before); }

private:
  ASTContext &context;
  std::vector<Decl *> before;
};

} // namespace

/// What \p matcher binds in \p function, in source order.
static std::vector<Site> matchedIn(const FunctionDecl *function, const PassContext &context,
                                   const KernelView &kernel, StringRef matcher) {
  ast_matchers::dynamic::Diagnostics diagnostics;
  std::optional<DynTypedMatcher> parsed = parseMatcher(matcher, diagnostics);
  assert(parsed && "the matcher was checked when the pass was read");
  Collector collector(context, kernel);
  MatchFinder finder;
  bool canMatch = finder.addDynamicMatcher(*parsed, &collector);
  assert(canMatch && "clang-query's top-level matchers match some kind of node");
  (void)canMatch;
  ASTContext &ast = context.parsed().context();
  OnlyWithin scope(ast, function);
  finder.matchAST(ast);
  const SourceManager &sources = context.parsed().sources();
  std::vector<Site> &sites = collector.sites;
  llvm::sort(sites, [&](const Site &a, const Site &b) {
    if (a.range.getBegin() != b.range.getBegin())
      return sources.isBeforeInTranslationUnit(a.range.getBegin(), b.range.getBegin());
    return sources.isBeforeInTranslationUnit(b.range.getEnd(), a.range.getEnd());
  });
  // A matcher may bind one place in several ways.
  sites.erase(llvm::unique(sites, [](const Site &a, const Site &b) { return a.range == b.range; }),
              sites.end());
  return std::move(sites);
}

/// In the kernel; for launches in the host functions that launch it.
static std::vector<Site> matchedSites(const PassContext &context, const KernelView &kernel,
                                      const PassInfo &info) {
  StringRef matcher = info.assisted->matcher;
  if (info.site != SiteKind::Launch)
    return matchedIn(kernel.function(), context, kernel, matcher);
  std::vector<Site> sites;
  std::set<const FunctionDecl *> hosts;
  for (const LaunchFact &launch : kernel.launches)
    if (launch.host && hosts.insert(launch.host).second)
      for (Site &site : matchedIn(launch.host, context, kernel, matcher))
        // Other kernels may be launched there, too.
        if (llvm::any_of(kernel.launches, [&](const LaunchFact &own) {
              return own.call->getBeginLoc() == site.range.getBegin();
            }))
          sites.push_back(std::move(site));
  return sites;
}

static std::vector<Site> declarationSites(const KernelView &kernel, SiteKind kind) {
  std::vector<Site> sites;
  if (kind == SiteKind::Parameter)
    for (const ParmVarDecl *parameter : kernel.function()->parameters())
      sites.push_back(ast::siteOf(kernel, parameter));
  if (kind == SiteKind::Shared)
    for (const DeclStmt *statement : ast::findAll<DeclStmt>(kernel.function()->getBody()))
      for (const Decl *each : statement->decls())
        if (const auto *variable = llvm::dyn_cast<VarDecl>(each))
          if (variable->hasAttr<CUDASharedAttr>())
            sites.push_back(ast::siteOf(kernel, variable));
  return sites;
}

std::vector<Site> DataPass::sites(const PassContext &context, const KernelView &kernel) const {
  if (!info->assisted->matcher.empty())
    return matchedSites(context, kernel, *info);
  std::vector<Site> sites;
  switch (info->site) {
  case SiteKind::Kernel:
    return ast::kernelSites(kernel);
  case SiteKind::Loop:
    return ast::loopSites(context, kernel);
  case SiteKind::Parameter:
  case SiteKind::Shared:
    return declarationSites(kernel, info->site);
  case SiteKind::Access:
    for (const auto *access : ast::findAll<ArraySubscriptExpr>(kernel.function()->getBody()))
      sites.push_back(ast::siteOf(kernel, access));
    return sites;
  case SiteKind::Launch:
    for (const LaunchFact &launch : kernel.launches)
      sites.push_back(ast::siteOf(kernel, launch.call));
    return sites;
  }
  llvm_unreachable("site kind");
}

llvm::Expected<Rewrite> DataPass::rewrite(const PassContext &, const Site &,
                                          const PassOptions &) const {
  return decline(
      "needs a model: '" + info->name +
      "' has no rule that writes it; name a reply, as in {reply=DIGEST}, or let a search "
      "ask a model with --llm");
}
