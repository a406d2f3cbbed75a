//===- Coverage.cpp - Which elements a launch covers -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Rewrite/Coverage.h"

using namespace kbopt;
using namespace clang;

/// Splits \p condition at \p opcode (&& or ||).
static void splitAt(const Expr *condition, BinaryOperatorKind opcode,
                    std::vector<const Expr *> &parts) {
  const auto *binary = dyn_cast<BinaryOperator>(ast::strip(condition));
  if (binary && binary->getOpcode() == opcode) {
    splitAt(binary->getLHS(), opcode, parts);
    return splitAt(binary->getRHS(), opcode, parts);
  }
  parts.push_back(condition);
}

/// For `i < n` (or, \p negated, `i >= n`) in either order: i and n.
static bool splitBound(const Expr *test, bool negated, const VarDecl *&index, const Expr *&count) {
  const auto *binary = dyn_cast<BinaryOperator>(ast::strip(test));
  if (!binary)
    return false;
  BinaryOperatorKind straight = negated ? BO_GE : BO_LT, turned = negated ? BO_LE : BO_GT;
  if (binary->getOpcode() == straight) {
    index = ast::variableOf(binary->getLHS());
    count = binary->getRHS();
  } else if (binary->getOpcode() == turned) {
    index = ast::variableOf(binary->getRHS());
    count = binary->getLHS();
  } else {
    return false;
  }
  return index && index->isLocalVarDecl() && index->hasInit() &&
         ast::isGlobalThreadIndex(index->getInit());
}

std::optional<GuardedElements> kbopt::guardedElements(const KernelView &kernel) {
  const auto *body = dyn_cast_or_null<CompoundStmt>(kernel.function()->getBody());
  if (!body)
    return std::nullopt;
  std::vector<const Stmt *> statements(body->body_begin(), body->body_end());
  for (size_t at = 0; at < statements.size(); ++at) {
    const auto *guard = dyn_cast<IfStmt>(statements[at]);
    if (!guard) {
      // Only declarations may stand before the guard.
      if (!isa<DeclStmt>(statements[at]))
        return std::nullopt;
      continue;
    }
    if (guard->getElse() || guard->hasInitStorage() || guard->hasVarStorage())
      return std::nullopt;
    const Stmt *then = guard->getThen();
    if (const auto *block = dyn_cast<CompoundStmt>(then); block && block->size() == 1)
      then = block->body_front();
    bool leaves = isa<ReturnStmt>(then);
    GuardedElements result;
    result.guard = guard;
    std::vector<const Expr *> parts;
    splitAt(guard->getCond(), leaves ? BO_LOr : BO_LAnd, parts);
    for (const Expr *part : parts) {
      const VarDecl *index = nullptr;
      const Expr *count = nullptr;
      if (!result.index && splitBound(part, leaves, index, count)) {
        result.index = index;
        result.count = count;
      } else {
        result.others.push_back(part);
      }
    }
    if (!result.index || (leaves && !result.others.empty()))
      return std::nullopt;
    for (const Expr *other : result.others)
      if (ast::mentions(other, result.index) || !isSpeculatable(other))
        return std::nullopt;
    if (leaves)
      result.body.assign(statements.begin() + at + 1, statements.end());
    else if (at + 1 == statements.size())
      result.body = {guard->getThen()};
    if (result.body.empty() || mayModify(body, result.index))
      return std::nullopt;
    return result;
  }
  return std::nullopt;
}

/// Whether \p inKernel, a sum or product of parameters and constants, is \p onHost for what
/// \p launch passes.
static bool matches(const PassContext &context, const KernelView &kernel, const LaunchFact &launch,
                    const Expr *inKernel, const Expr *onHost, unsigned depth = 0) {
  const ASTContext &ast = context.parsed().context();
  if (depth > 8 || inKernel->isTypeDependent())
    return false;
  inKernel = ast::resolve(inKernel, kernel.function());
  onHost = ast::resolve(onHost, launch.host);
  if (const auto *parameter = dyn_cast_or_null<ParmVarDecl>(ast::variableOf(inKernel))) {
    unsigned index = parameter->getFunctionScopeIndex();
    return index < launch.arguments.size() && !mayModify(kernel.function()->getBody(), parameter) &&
           ast::sameValue(onHost, launch.arguments[index], launch.host, ast);
  }
  std::optional<int64_t> left = ast::constantOf(inKernel, ast),
                         right = ast::constantOf(onHost, ast);
  if (left || right)
    return left && right && *left == *right;
  const auto *a = dyn_cast<BinaryOperator>(inKernel), *b = dyn_cast<BinaryOperator>(onHost);
  if (!a || !b || a->getOpcode() != b->getOpcode() ||
      (a->getOpcode() != BO_Add && a->getOpcode() != BO_Mul) ||
      ast.getIntWidth(a->getType()) != ast.getIntWidth(b->getType()))
    return false;
  auto both = [&](const Expr *first, const Expr *second) {
    return matches(context, kernel, launch, a->getLHS(), first, depth + 1) &&
           matches(context, kernel, launch, a->getRHS(), second, depth + 1);
  };
  return both(b->getLHS(), b->getRHS()) || both(b->getRHS(), b->getLHS());
}

Coverage kbopt::coverageOf(const PassContext &context, const KernelView &kernel,
                           const LaunchFact &launch) {
  std::optional<GuardedElements> guarded = guardedElements(kernel);
  if (!guarded)
    return Coverage::unknown("'" + kernel.name() +
                             "' does not end in a body guarded by 'if (i < n)'");
  const ASTContext &ast = context.parsed().context();
  std::string where = " at " + ast::lineText(context, launch.call->getBeginLoc());
  if (launch.instances > 1)
    return Coverage::unknown("the launch" + where + " is written once for several instances");
  bool known = false, knownBlock = false;
  const Expr *grid = ast::launchComponent(launch.grid, 0, launch.host, known);
  const Expr *block = ast::launchComponent(launch.block, 0, launch.host, knownBlock);
  if (!known || !knownBlock || !grid || !block)
    return Coverage::unknown("the launch" + where + " is not written where it can be seen");
  auto division = ast::ceilDivision(grid, launch.host, ast);
  if (!division)
    return Coverage::unknown("the grid of the launch" + where +
                             " is not a count divided by the block size and rounded up");
  if (!ast::sameValue(division->size, block, launch.host, ast))
    return Coverage::unknown("the grid of the launch" + where +
                             " is computed for another block size");
  // The bound in the kernel: a constant, or a parameter that is passed the count.
  const Expr *bound = guarded->count;
  if (const auto *parameter = dyn_cast_or_null<ParmVarDecl>(ast::variableOf(bound))) {
    unsigned index = parameter->getFunctionScopeIndex();
    if (index >= launch.arguments.size() || mayModify(kernel.function()->getBody(), parameter))
      return Coverage::unknown("'" + parameter->getName() + "' is not what the launch" + where +
                               " passes");
    bound = launch.arguments[index];
  } else if (matches(context, kernel, launch, bound, division->count)) {
    return Coverage::proven();
  } else if (!ast::constantOf(bound, ast)) {
    return Coverage::unknown("the bound '" + context.text(bound->getSourceRange()) +
                             "' is no parameter of the kernel");
  }
  if (!ast::sameValue(division->count, bound, launch.host, ast))
    return Coverage::unknown("the grid of the launch" + where +
                             " is computed from another count than '" +
                             context.text(bound->getSourceRange()) + "'");
  return Coverage::proven();
}
