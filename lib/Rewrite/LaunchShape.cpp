//===- LaunchShape.cpp - How large the blocks of a kernel get --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Rewrite/LaunchShape.h"
#include "kb-opt/Rewrite/AstTools.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

std::optional<int64_t> kbopt::upperBoundOf(const Expr *expr, const FunctionDecl *host,
                                           const ASTContext &context) {
  expr = ast::resolve(expr, host);
  if (std::optional<int64_t> value = ast::constantOf(expr, context))
    return value;
  auto smallest = [&](const Expr *a, const Expr *b) -> std::optional<int64_t> {
    std::optional<int64_t> left = upperBoundOf(a, host, context);
    std::optional<int64_t> right = upperBoundOf(b, host, context);
    return left && right ? std::min(*left, *right) : left ? left : right;
  };
  if (const auto *cast = dyn_cast<ExplicitCastExpr>(expr)) {
    if (cast->getType()->isIntegralOrEnumerationType() &&
        cast->getSubExpr()->getType()->isIntegralOrEnumerationType())
      return upperBoundOf(cast->getSubExpr(), host, context);
    return std::nullopt;
  }
  if (const auto *binary = dyn_cast<BinaryOperator>(expr);
      binary && binary->getOpcode() == BO_Rem) {
    std::optional<int64_t> divisor = ast::constantOf(ast::resolve(binary->getRHS(), host), context);
    return divisor && *divisor > 0 ? std::optional(*divisor - 1) : std::nullopt;
  }
  if (const auto *choice = dyn_cast<ConditionalOperator>(expr)) {
    std::optional<int64_t> left = upperBoundOf(choice->getTrueExpr(), host, context);
    std::optional<int64_t> right = upperBoundOf(choice->getFalseExpr(), host, context);
    return left && right ? std::optional(std::max(*left, *right)) : std::nullopt;
  }
  if (const auto *call = dyn_cast<CallExpr>(expr); call && call->getNumArgs() == 2)
    if (const FunctionDecl *callee = call->getDirectCallee();
        callee && callee->isInStdNamespace() && callee->getIdentifier() &&
        callee->getName() == "min")
      return smallest(call->getArg(0), call->getArg(1));
  return std::nullopt;
}

/// Whether a parameter of the template \p kernel hides \p name.
static bool hides(const FunctionDecl *kernel, StringRef name) {
  const FunctionTemplateDecl *pattern = kernel->getDescribedFunctionTemplate();
  return pattern &&
         llvm::any_of(*pattern->getTemplateParameters(), [&](const NamedDecl *parameter) {
           return parameter->getIdentifier() && parameter->getName() == name;
         });
}

/// Whether \p expr, with the variables that it reads, may have another value in
/// another instance of the template around it.
static bool differsInInstances(const Expr *expr, unsigned depth = 0) {
  if (depth > 8 || !ast::findAll<SubstNonTypeTemplateParmExpr>(expr).empty() ||
      !ast::findAll<UnaryExprOrTypeTraitExpr>(expr).empty())
    return true;
  for (const CallExpr *call : ast::findAll<CallExpr>(expr))
    if (!call->getDirectCallee() || call->getDirectCallee()->isTemplateInstantiation())
      return true;
  for (const DeclRefExpr *reference : ast::findAll<DeclRefExpr>(expr))
    if (const auto *variable = dyn_cast<VarDecl>(reference->getDecl()))
      if (variable->isStaticDataMember() || isa<VarTemplateSpecializationDecl>(variable) ||
          (variable->hasInit() && !isa<ParmVarDecl>(variable) &&
           differsInInstances(variable->getInit(), depth + 1)))
        return true;
  return false;
}

LargestBlock kbopt::largestBlock(const PassContext &context, const KernelView &kernel) {
  LargestBlock result;
  const ASTContext &ast = context.parsed().context();
  auto stop = [&](const llvm::Twine &why) {
    result.obstacle = why.str();
    return result;
  };
  if (kernel.launches.empty())
    return stop("no launch of the kernel is in sight");
  if (isNamedOutsideLaunches(context.parsed(), kernel.function()))
    return stop("the program names '" + kernel.name() +
                "' outside launches, so that not all of them are in sight");
  for (const LaunchFact &launch : kernel.launches) {
    std::string line = ast::lineText(context, launch.call->getBeginLoc());
    if (launch.instances > 1 && differsInInstances(launch.block))
      return stop("the launch at " + line + " is written once for several instances");
    int64_t threads = 1;
    const VarDecl *named = nullptr;
    for (unsigned dimension = 0; dimension < 3; ++dimension) {
      bool known = false;
      const Expr *extent = ast::launchComponent(launch.block, dimension, launch.host, known);
      if (!known)
        return stop("the block of the launch at " + line + " is not written where it can be seen");
      if (!extent)
        continue;
      std::optional<int64_t> most = upperBoundOf(extent, launch.host, ast);
      if (!most || *most < 1)
        return stop("the block size at " + line + " is not a constant");
      if (*most != 1)
        named = threads == 1 ? ast::variableOf(extent) : nullptr;
      threads *= *most;
    }
    if (threads <= result.threads)
      continue;
    result.threads = threads;
    // A constant of the program that stands in front of the kernel.
    bool visible = named && named->isFileVarDecl() && named->getDeclContext()->isFileContext() &&
                   (named->isConstexpr() || named->getType().isConstQualified()) &&
                   named->getDeclContext()->Encloses(kernel.function()->getDeclContext()) &&
                   context.parsed().sources().isBeforeInTranslationUnit(
                       named->getLocation(), kernel.function()->getLocation()) &&
                   !hides(kernel.function(), named->getName());
    result.name = visible ? named->getNameAsString() : "";
  }
  return result;
}

bool kbopt::hasRegisterLimit(const PassContext &context, const KernelView &kernel) {
  const FunctionDecl *function = kernel.function();
  return context.text(SourceRange(function->getBeginLoc(), function->getLocation()))
      .contains("maxnreg");
}
