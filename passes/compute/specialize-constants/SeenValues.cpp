//===- SeenValues.cpp - Which constants reach a launch ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SeenValues.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Rewrite/Callers.h"
#include <cstring>

using namespace kbopt;
using namespace clang;

namespace {

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
  unsigned index = parameter->getFunctionScopeIndex();
  for (const auto &[call, caller] : Callers::in(context.parsed()).callsOfPattern(function))
    if (index < call->getNumArgs())
      collect(context, call->getArg(index), caller, depth + 1, values);
}

} // namespace

std::set<int64_t> kbopt::seenValues(const PassContext &context, const Expr *expr,
                                    const FunctionDecl *host) {
  std::set<int64_t> values;
  collect(context, expr, host, 0, values);
  return values;
}

/// Whether \p launch stands in a loop of its host that changes what \p argument is computed from.
static bool changesInLoop(const LaunchFact &launch, const Expr *argument) {
  if (!launch.host || !launch.host->getBody() || !argument)
    return false;
  bool changes = false;
  ast::walk(launch.host->getBody(), [&](const Stmt *each) {
    bool holdsLaunch = isa<ForStmt, WhileStmt, DoStmt>(each) &&
                       llvm::is_contained(ast::findAll<CallExpr>(each), launch.call);
    if (holdsLaunch)
      for (const auto *name : ast::findAll<DeclRefExpr>(argument))
        if (const auto *variable = dyn_cast<VarDecl>(name->getDecl()))
          changes |= mayModify(each, variable);
    return !changes;
  });
  return changes;
}

std::optional<int64_t> kbopt::recordedValue(const PassContext &context, const KernelView &kernel,
                                            unsigned index) {
  for (const LaunchFact &launch : kernel.launches)
    if (index < launch.arguments.size() && changesInLoop(launch, launch.arguments[index]))
      return std::nullopt;
  for (kb::KernelOp op : kernel.ops) {
    const RecordedLaunch *launch = context.recordedLaunch(op);
    if (!launch || index >= launch->arguments.size())
      continue;
    const std::string &bytes = launch->arguments[index];
    bool isSigned = kernel.function()->getParamDecl(index)->getType()->isSignedIntegerType();
    if (bytes.empty() || bytes.size() > sizeof(uint64_t))
      return std::nullopt;
    uint64_t value = 0; // the machines that CUDA runs on are little-endian
    std::memcpy(&value, bytes.data(), bytes.size());
    unsigned unused = 64 - 8 * bytes.size();
    return isSigned && unused ? static_cast<int64_t>(value << unused) >> unused
                              : static_cast<int64_t>(value);
  }
  return std::nullopt;
}
