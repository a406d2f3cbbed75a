//===- SeenValues.cpp - Which constants reach a launch ---------------------===//

#include "SeenValues.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "clang/AST/RecursiveASTVisitor.h"

using namespace kbopt;
using namespace clang;

namespace {

const FunctionDecl *patternOf(const FunctionDecl *function) {
  const FunctionDecl *pattern = function->getTemplateInstantiationPattern();
  return (pattern ? pattern : function)->getCanonicalDecl();
}

struct CallFinder : RecursiveASTVisitor<CallFinder> {
  bool shouldVisitTemplateInstantiations() const { return true; }
  bool TraverseFunctionDecl(FunctionDecl *function) {
    const FunctionDecl *outer = std::exchange(host, function);
    bool result = RecursiveASTVisitor::TraverseFunctionDecl(function);
    host = outer;
    return result;
  }
  bool VisitCallExpr(CallExpr *call) {
    if (const FunctionDecl *callee = call->getDirectCallee())
      if (patternOf(callee) == wanted)
        calls.emplace_back(call, host);
    return true;
  }

  const FunctionDecl *wanted = nullptr, *host = nullptr;
  std::vector<std::pair<const CallExpr *, const FunctionDecl *>> calls;
};

void collect(const PassContext &context, const Expr *expr, const FunctionDecl *host, unsigned depth,
             std::set<int64_t> &values) {
  if (depth > 6 || !expr)
    return;
  expr = ast::resolve(expr, host);
  if (std::optional<int64_t> value = ast::constantOf(expr, context.parsed().context())) {
    values.insert(*value);
    return;
  }
  const VarDecl *variable = ast::variableOf(expr);
  if (const auto *cast = dyn_cast<ExplicitCastExpr>(expr); cast && cast->getType()->isIntegerType())
    return collect(context, cast->getSubExpr(), host, depth + 1, values);
  if (!variable || !variable->getType()->isIntegerType())
    return;
  const auto *parameter = dyn_cast<ParmVarDecl>(variable);
  if (!parameter)
    return collect(context, variable->getInit(), host, depth + 1, values);
  const auto *function = dyn_cast<FunctionDecl>(parameter->getDeclContext());
  if (!function)
    return;
  CallFinder finder;
  finder.wanted = patternOf(function);
  for (const Decl *declaration : context.parsed().declarations())
    finder.TraverseDecl(const_cast<Decl *>(declaration));
  unsigned index = parameter->getFunctionScopeIndex();
  for (const auto &[call, caller] : finder.calls)
    if (index < call->getNumArgs())
      collect(context, call->getArg(index), caller, depth + 1, values);
}

} // namespace

std::set<int64_t> kbopt::seenValues(const PassContext &context, const Expr *expr, const FunctionDecl *host) {
  std::set<int64_t> values;
  collect(context, expr, host, 0, values);
  return values;
}
