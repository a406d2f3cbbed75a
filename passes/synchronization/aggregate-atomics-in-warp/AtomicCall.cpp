//===- AtomicCall.cpp - An atomic that a warp can do as one -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "AtomicCall.h"

using namespace kbopt;
using namespace kbopt::aggregate;
using namespace clang;
using llvm::StringRef;

/// "Add" for a call of atomicAdd; empty for anything else.
static StringRef operationOf(const CallExpr *call) {
  StringRef name;
  if (const FunctionDecl *callee = call->getDirectCallee(); callee && callee->getIdentifier())
    name = callee->getName();
  else if (const auto *unresolved =
               dyn_cast<UnresolvedLookupExpr>(call->getCallee()->IgnoreParenImpCasts());
           unresolved && unresolved->getName().isIdentifier())
    name = unresolved->getName().getAsIdentifierInfo()->getName();
  if (call->getNumArgs() != 2 || !name.consume_front("atomic"))
    return "";
  static constexpr StringRef known[] = {"Add", "Sub", "Max", "Min", "Or", "And", "Xor"};
  return llvm::is_contained(known, name) ? name : "";
}

std::vector<const CallExpr *> aggregate::atomicCallsOf(const KernelView &kernel) {
  std::vector<const CallExpr *> calls;
  for (const auto *call : ast::findAll<CallExpr>(kernel.function()->getBody()))
    if (!operationOf(call).empty())
      calls.push_back(call);
  return calls;
}

/// Whether \p expr says which lane this is: made of threadIdx, or the first of a mask.
static bool isLaneNumber(const Expr *expr, const FunctionDecl *function) {
  bool found = false, other = false;
  ast::walk(ast::resolve(expr, function), [&](const Stmt *each) {
    if (const auto *inner = dyn_cast<Expr>(each);
        inner && isa<MSPropertyRefExpr, MemberExpr>(inner))
      if (std::optional<ast::GridRef> ref = ast::gridRefOf(inner)) {
        found |= ref->builtin == GridBuiltin::ThreadIdx;
        return false;
      }
    other |= isa<ArraySubscriptExpr, CallExpr>(each);
    return true;
  });
  return (found && !other) || ast::callsAny(expr, {"__ffs", "__shfl_sync"});
}

/// Whether an `if` around \p inner, in \p outer, lets one lane through.
static bool isForOneLane(const Stmt *outer, const Stmt *inner, const FunctionDecl *function) {
  bool found = false;
  ast::walk(outer, [&](const Stmt *each) {
    const auto *choice = dyn_cast<IfStmt>(each);
    if (!choice || found)
      return !found;
    bool contains = false;
    ast::walk(choice->getThen(), [&](const Stmt *below) { return !(contains |= below == inner); });
    if (!contains)
      return true;
    for (const auto *test : ast::findAll<BinaryOperator>(choice->getCond()))
      found |= test->getOpcode() == BO_EQ &&
               (isLaneNumber(test->getLHS(), function) || isLaneNumber(test->getRHS(), function));
    for (const auto *negation : ast::findAll<UnaryOperator>(choice->getCond()))
      found |= negation->getOpcode() == UO_LNot && isLaneNumber(negation->getSubExpr(), function);
    return !found;
  });
  return found;
}

bool aggregate::isBlockUniform(const KernelView &kernel, const Expr *expr) {
  const FunctionDecl *function = kernel.function();
  expr = ast::strip(expr);
  bool uniform = true;
  // The outermost `&p[i]` and `p + i` load nothing.
  if (const auto *address = dyn_cast<UnaryOperator>(expr);
      address && address->getOpcode() == UO_AddrOf) {
    const Expr *element = ast::strip(address->getSubExpr());
    if (const auto *subscript = dyn_cast<ArraySubscriptExpr>(element))
      return isBlockUniform(kernel, subscript->getBase()) &&
             isBlockUniform(kernel, subscript->getIdx());
    const VarDecl *variable = ast::variableOf(element);
    return variable && variable->hasGlobalStorage();
  }
  ast::walk(expr, [&](const Stmt *each) {
    if (const auto *inner = dyn_cast<Expr>(each);
        inner && isa<MSPropertyRefExpr, MemberExpr>(inner))
      if (std::optional<ast::GridRef> ref = ast::gridRefOf(inner)) {
        uniform &= ref->builtin != GridBuiltin::ThreadIdx;
        return false;
      }
    if (isa<CallExpr, ArraySubscriptExpr, LambdaExpr, AtomicExpr>(each))
      uniform = false;
    if (const auto *unary = dyn_cast<UnaryOperator>(each))
      uniform &= unary->getOpcode() != UO_Deref && !unary->isIncrementDecrementOp();
    if (const auto *member = dyn_cast<MemberExpr>(each))
      uniform &= !member->isArrow();
    if (const auto *reference = dyn_cast<DeclRefExpr>(each))
      if (const auto *variable = dyn_cast<VarDecl>(reference->getDecl())) {
        if (variable->hasGlobalStorage())
          uniform &= variable->getType()->isArrayType() || variable->isConstexpr();
        else if (mayModify(function->getBody(), variable))
          uniform = false;
        else if (!isa<ParmVarDecl>(variable))
          uniform &= variable->hasInit() && isBlockUniform(kernel, variable->getInit());
      }
    return uniform;
  });
  return uniform;
}

/// The statement of a block that is \p call, or assigns its result; null if it is part of more.
static const Stmt *statementOf(const Stmt *body, const CallExpr *call, bool &usesResult) {
  const Stmt *found = nullptr;
  auto isCall = [&](const Expr *expr) {
    expr = expr ? ast::strip(expr) : nullptr;
    while (const auto *cast = dyn_cast_or_null<ExplicitCastExpr>(expr))
      expr = ast::strip(cast->getSubExpr());
    return expr == call;
  };
  ast::walk(body, [&](const Stmt *each) {
    bool isLoop = isa<ForStmt, WhileStmt, DoStmt, IfStmt>(each);
    for (const Stmt *child : each->children()) {
      if (!child || (!isa<CompoundStmt>(each) && !isLoop))
        continue;
      if (const auto *expr = dyn_cast<Expr>(child);
          expr && isCall(expr) &&
          !(isa<ForStmt>(each) && child == cast<ForStmt>(each)->getCond())) {
        found = child;
        usesResult = false;
      }
      if (!isa<CompoundStmt>(each))
        continue;
      if (const auto *declaration = dyn_cast<DeclStmt>(child);
          declaration && declaration->isSingleDecl())
        if (const auto *variable = dyn_cast<VarDecl>(declaration->getSingleDecl());
            variable && isCall(variable->getInit())) {
          found = child;
          usesResult = true;
        }
      if (const auto *assign = dyn_cast<BinaryOperator>(child);
          assign && assign->getOpcode() == BO_Assign && isCall(assign->getRHS()) &&
          ast::variableOf(assign->getLHS())) {
        found = child;
        usesResult = true;
      }
    }
    return true;
  });
  return found;
}

/// The type of the element in every instance; empty with a reason where the rule has no form for
/// it.
static std::string elementType(const KernelView &kernel, const CallExpr *call, std::string &why) {
  std::string common;
  for (const KernelFact::Instance &instance : kernel.fact.instances)
    for (const auto *each : ast::findAll<CallExpr>(instance.function->getBody())) {
      if (each->getBeginLoc() != call->getBeginLoc() || !each->getNumArgs())
        continue;
      const auto *builtin = each->getArg(0)->getType()->getPointeeType()->getAs<BuiltinType>();
      std::string type;
      if (builtin && builtin->getKind() == BuiltinType::Int)
        type = "int";
      else if (builtin && builtin->getKind() == BuiltinType::UInt)
        type = "unsigned";
      else if (builtin && builtin->getKind() == BuiltinType::ULongLong)
        type = "unsigned long long";
      else if (builtin && builtin->isFloatingPoint())
        why = "floating-point sums would be formed in another order";
      else
        why = "the element's type is no integer that warps can add up";
      if (!common.empty() && type != common && why.empty())
        why = "instances of the template differ in the element's type";
      common = type;
    }
  if (common.empty() && why.empty())
    why = "no instance of the kernel has this atomic";
  return common;
}

AtomicCall aggregate::atomicAt(const PassContext &context, const KernelView &kernel,
                               const CallExpr *call) {
  AtomicCall atomic;
  const FunctionDecl *function = kernel.function();
  atomic.call = call;
  atomic.operation = operationOf(call);
  atomic.statement = statementOf(function->getBody(), call, atomic.usesResult);
  atomic.type = elementType(kernel, call, atomic.obstacle);
  if (!atomic.obstacle.empty())
    return atomic;
  const ASTContext &ast = context.parsed().context();
  atomic.hasConstantValue = atomic.operation == "Add" || atomic.operation == "Sub"
                                ? bool(ast::constantOf(atomic.value(), ast))
                                : false;
  atomic.hasUniformAddress = isBlockUniform(kernel, atomic.address());
  if (!atomic.statement)
    atomic.obstacle = "the atomic is part of a larger expression";
  else if (!byteRange(context.parsed(), atomic.statement->getSourceRange(), &atomic.obstacle))
    return atomic;
  else if (isForOneLane(function->getBody(), call, function))
    atomic.obstacle = "one lane does the atomic already";
  else if (atomic.usesResult && !atomic.hasConstantValue)
    atomic.obstacle = "the result is used, and what is added is no constant";
  else if (atomic.type == "unsigned long long" && !atomic.hasConstantValue)
    atomic.obstacle = "warps add up 32-bit values only, unless what is added is a constant";
  else if (!atomic.hasConstantValue && context.chip() < 80)
    atomic.obstacle = "adding up values that differ between lanes needs sm_80 or later";
  for (kb::AccessOp access : context.imported().accessesOf(call))
    for (const std::string &condition : domainText(access))
      if (StringRef(condition).starts_with("tid.x == "))
        atomic.obstacle = "one thread of the block does the atomic already";
  return atomic;
}
