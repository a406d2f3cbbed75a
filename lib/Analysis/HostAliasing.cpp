//===- HostAliasing.cpp - What the host passes to kernels -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the question whether two arguments of a launch can be overlapping
// memory. Pointers are followed through wrapper functions to the variables that
// an allocation filled.
//
//===----------------------------------------------------------------------===//
#include "HostUses.h"
#include "kb-opt/Analysis/LaunchArguments.h"
#include "kb-opt/Analysis/Legality.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/ParentMap.h"
#include "llvm/ADT/StringSet.h"

using namespace clang;
using namespace kbopt::analysis;

namespace kbopt {
namespace {

class HostAliasing {
public:
  explicit HostAliasing(const ParsedProgram &program)
      : program(program), uses(HostUses::of(program)) {}

  /// \p a and \p b as seen in \p host.
  Answer mayOverlap(const Expr *a, const Expr *b, const FunctionDecl *host, unsigned depth) {
    Root rootA = rootOf(a, host), rootB = rootOf(b, host);
    if (!rootA.variable || !rootB.variable)
      return Answer::dontKnow("where '" + text(rootA.variable ? b : a) +
                              "' comes from is not known");
    if (rootA.variable == rootB.variable) {
      if (rootA.isWhole && rootB.isWhole)
        return Answer::yes("'" + rootA.variable->getName().str() + "' is passed twice");
      return Answer::dontKnow("'" + text(a) + "' and '" + text(b) +
                              "' are parts of one allocation");
    }
    bool paramA = isa<ParmVarDecl>(rootA.variable), paramB = isa<ParmVarDecl>(rootB.variable);
    for (auto [root, isParam] : {std::pair(rootA, paramA), std::pair(rootB, paramB)})
      if (!isParam && !isAllocated(root.variable, host))
        return Answer::dontKnow("'" + root.variable->getName().str() +
                                "' is not only filled by an allocation");
    if (!paramA && !paramB)
      return Answer::no("'" + rootA.variable->getName().str() + "' and '" +
                        rootB.variable->getName().str() + "' are allocations of their own");
    if (paramA != paramB && (paramA ? rootB : rootA).variable->hasLocalStorage())
      return Answer::no("one of them is allocated in '" + host->getNameAsString() + "'");
    const VarDecl *parameter = paramA ? rootA.variable : rootB.variable;
    auto *owner = dyn_cast_or_null<FunctionDecl>(parameter->getParentFunctionOrMethod());
    return throughCallers(rootA.variable, rootB.variable, owner ? owner : host, depth);
  }

  /// Whether \p pointer, as seen in \p host, is what an allocation returned, without an offset.
  bool startsAllocation(const Expr *pointer, const FunctionDecl *host, unsigned depth) {
    Root root = rootOf(pointer, host);
    if (!root.variable || !root.isWhole || depth > 4)
      return false;
    if (!isa<ParmVarDecl>(root.variable))
      return isAllocated(root.variable, host);
    auto *owner = dyn_cast_or_null<FunctionDecl>(root.variable->getParentFunctionOrMethod());
    const FunctionDecl *callee = owner ? owner : host;
    return areCallsInSight(callee).proven() &&
           llvm::all_of(uses.callsOf(callee), [&](const HostCall &call) {
             const Expr *passed = call.passed(root.variable);
             return passed && startsAllocation(passed, call.caller, depth + 1);
           });
  }

private:
  struct Root {
    const VarDecl *variable = nullptr;
    bool isWhole = true; ///< no offset was added
  };

  std::string text(const Expr *expr) { return sourceText(program, expr->getSourceRange()).str(); }

  /// The variable behind a pointer expression, through settled copies.
  Root rootOf(const Expr *expr, const FunctionDecl *host) {
    Root root;
    for (unsigned steps = 0; steps < 32; ++steps) {
      expr = expr->IgnoreParenCasts();
      if (auto *op = dyn_cast<BinaryOperator>(expr); op && op->isAdditiveOp()) {
        root.isWhole = false;
        expr = op->getLHS()->getType()->isPointerType() ? op->getLHS() : op->getRHS();
        continue;
      }
      if (auto *address = dyn_cast<UnaryOperator>(expr);
          address && address->getOpcode() == UO_AddrOf)
        if (auto *subscript = dyn_cast<ArraySubscriptExpr>(address->getSubExpr()->IgnoreParens())) {
          root.isWhole = false;
          expr = subscript->getBase();
          continue;
        }
      auto *ref = dyn_cast<DeclRefExpr>(expr);
      auto *variable = ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
      if (!variable || !variable->getType()->isPointerType())
        return {};
      // The variable's own function: of a template, the instantiation.
      if (auto *owner = dyn_cast_or_null<FunctionDecl>(variable->getParentFunctionOrMethod()))
        host = owner;
      if (!host->getBody())
        return {};
      bool hasValue = variable->hasLocalStorage() && !isa<ParmVarDecl>(variable) &&
                      variable->hasInit() &&
                      !variable->getInit()->IgnoreParenCasts()->isNullPointerConstant(
                          program.context(), Expr::NPC_ValueDependentIsNotNull);
      if (isa<ParmVarDecl>(variable)) {
        if (mayModify(host->getBody(), variable))
          return {};
        root.variable = variable;
        return root;
      }
      if (!hasValue) {
        root.variable = variable->getCanonicalDecl();
        return root;
      }
      if (mayModify(host->getBody(), variable))
        return {};
      if (returnsAllocation(variable->getInit())) {
        root.variable = variable->getCanonicalDecl();
        return root;
      }
      expr = variable->getInit();
    }
    return {};
  }

  /// Whether \p init calls a function of this file that returns nothing but what it has allocated.
  bool returnsAllocation(const Expr *init) {
    const auto *call =
        dyn_cast<CallExpr>(init->IgnoreParenCasts()->IgnoreImplicit()->IgnoreParenCasts());
    const FunctionDecl *callee = call ? call->getDirectCallee() : nullptr, *definition = nullptr;
    if (!callee || !callee->hasBody(definition) || !uses.contains(definition))
      return false;
    struct Returns : DynamicRecursiveASTVisitor {
      bool VisitReturnStmt(ReturnStmt *statement) override {
        const auto *ref = statement->getRetValue()
                              ? dyn_cast<DeclRefExpr>(statement->getRetValue()->IgnoreParenCasts())
                              : nullptr;
        values.push_back(ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr);
        return true;
      }
      bool TraverseLambdaExpr(LambdaExpr *) override { return true; } // has returns of its own
      std::vector<const VarDecl *> values;
    } returns;
    returns.TraverseStmt(definition->getBody());
    return !returns.values.empty() && llvm::all_of(returns.values, [&](const VarDecl *value) {
      bool isOwn = value && value->hasLocalStorage() && !isa<ParmVarDecl>(value) &&
                   value->getType()->isPointerType();
      bool isEmpty = isOwn && (!value->hasInit() ||
                               value->getInit()->IgnoreParenCasts()->isNullPointerConstant(
                                   program.context(), Expr::NPC_ValueDependentIsNotNull));
      return isEmpty && isAllocated(value, definition);
    });
  }

  bool isAllocated(const VarDecl *variable, const FunctionDecl *host) {
    variable = variable->getCanonicalDecl();
    const VariableUses *seen;
    if (auto *owner = dyn_cast_or_null<FunctionDecl>(variable->getParentFunctionOrMethod())) {
      if (!owner->getBody() || variable->isStaticLocal())
        return false;
      seen = &uses.usesIn(owner);
    } else {
      if (!variable->isInAnonymousNamespace() &&
          variable->getFormalLinkage() == Linkage::External &&
          !program.sources().isInMainFile(variable->getLocation()))
        return false;
      seen = &uses.usesAnywhere();
    }
    bool isReturned = variable->hasLocalStorage() && variable->hasInit() &&
                      returnsAllocation(variable->getInit());
    return (isReturned || seen->allocated.contains(variable)) && !seen->escaped.contains(variable);
  }

  /// Whether all calls of \p host can be seen, or why not.
  Answer areCallsInSight(const FunctionDecl *host) {
    if (uses.isNamedOutsideCalls(host))
      return Answer::dontKnow("'" + host->getNameAsString() + "' is called through a pointer");
    if (uses.callsOf(host).empty())
      return Answer::dontKnow("no call of '" + host->getNameAsString() + "' is in sight");
    return Answer::yes();
  }

  /// At least one of the two is a parameter of \p host: asks its callers.
  Answer throughCallers(const VarDecl *a, const VarDecl *b, const FunctionDecl *host,
                        unsigned depth) {
    if (depth > 4)
      return Answer::dontKnow("the calls are nested too deeply");
    if (Answer inSight = areCallsInSight(host); !inSight.proven())
      return inSight;
    Answer result = Answer::no("");
    for (const HostCall &call : uses.callsOf(host)) {
      const Expr *fromA = call.passed(a), *fromB = call.passed(b);
      if (!fromA || !fromB)
        return Answer::dontKnow("'" + (fromA ? b : a)->getName().str() +
                                "' is not passed by the callers");
      result = mayOverlap(fromA, fromB, call.caller, depth + 1);
      if (!result.refuted())
        return result;
    }
    return result;
  }

  const ParsedProgram &program;
  HostUses &uses;
};

} // namespace

/// The function around \p launch whose text says what \p argument is; null if that is not in sight.
static const FunctionDecl *hostOf(const LaunchFact &launch, unsigned argument) {
  if (launch.byApi || launch.instances > 1 || argument >= launch.arguments.size() || !launch.call)
    return nullptr;
  // The call may stand in an instantiation of the host function.
  const FunctionDecl *definition = nullptr;
  return launch.host && launch.host->hasBody(definition) ? definition : nullptr;
}

Answer launchArgumentsMayOverlap(const ParsedProgram &program, const LaunchFact &launch,
                                 unsigned first, unsigned second) {
  const FunctionDecl *host = hostOf(launch, std::max(first, second));
  if (!host)
    return Answer::dontKnow("the arguments of the launch are not in sight");
  return HostAliasing(program).mayOverlap(launch.arguments[first], launch.arguments[second], host,
                                          0);
}

Answer hostPointersMayOverlap(const ParsedProgram &program, const LaunchFact &launch,
                              const Expr *first, const Expr *second) {
  const FunctionDecl *host = hostOf(launch, 0);
  if (!host || !first || !second)
    return Answer::dontKnow("the arguments of the launch are not in sight");
  return HostAliasing(program).mayOverlap(first, second, host, 0);
}

namespace {

/// Every mention of \p variable is what fills or frees it, or an argument of one of the launches \p
/// users.
struct UserChecker : DynamicRecursiveASTVisitor {
  UserChecker() { ShouldVisitImplicitCode = true; }
  bool VisitCallExpr(CallExpr *call) override {
    static const llvm::StringSet<> frees = {"cudaFree", "cudaFreeAsync"};
    const FunctionDecl *callee = call->getDirectCallee();
    bool isFree =
        callee && callee->getDeclName().isIdentifier() && frees.contains(callee->getName());
    if (isAllocation(callee) && call->getNumArgs() > 0) {
      const Expr *target = call->getArg(0)->IgnoreParenCasts();
      if (auto *address = dyn_cast<UnaryOperator>(target);
          address && address->getOpcode() == UO_AddrOf)
        allow(address->getSubExpr());
    }
    if (isFree || llvm::is_contained(users, call))
      for (const Expr *argument : call->arguments())
        allow(argument);
    return true;
  }
  bool VisitDeclRefExpr(DeclRefExpr *ref) override {
    if (ref->getDecl()->getCanonicalDecl() == variable && !allowed.count(ref) && !other)
      other = ref;
    return true;
  }
  void allow(const Expr *expr) {
    if (auto *ref = dyn_cast<DeclRefExpr>(expr->IgnoreParenCasts()))
      allowed.insert(ref);
  }
  const ValueDecl *variable = nullptr;
  ArrayRef<const CallExpr *> users;
  llvm::DenseSet<const DeclRefExpr *> allowed;
  const DeclRefExpr *other = nullptr;
};

} // namespace

Answer isOnlyUsedBy(const ParsedProgram &program, const LaunchFact &launch, const Expr *pointer,
                    ArrayRef<const CallExpr *> users) {
  const FunctionDecl *host = hostOf(launch, 0);
  auto *ref = pointer ? dyn_cast<DeclRefExpr>(pointer->IgnoreParenCasts()) : nullptr;
  auto *variable = ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
  if (!host || !variable || !variable->hasLocalStorage() || isa<ParmVarDecl>(variable) ||
      !variable->getType()->isPointerType() ||
      (variable->hasInit() && !variable->getInit()->IgnoreParenCasts()->isNullPointerConstant(
                                  program.context(), Expr::NPC_ValueDependentIsNotNull)))
    return Answer::dontKnow("what it points to is not allocated in the function");
  UserChecker checker;
  checker.variable = variable->getCanonicalDecl();
  checker.users = users;
  checker.TraverseStmt(host->getBody());
  if (checker.other)
    return Answer::no("'" + variable->getName().str() + "' is used elsewhere");
  return Answer::yes();
}

bool isStartOfAllocation(const ParsedProgram &program, const LaunchFact &launch,
                         unsigned argument) {
  const FunctionDecl *host = hostOf(launch, argument);
  return host && HostAliasing(program).startsAllocation(launch.arguments[argument], host, 0);
}

Answer argumentsMayOverlap(const ImportedProgram &program, kb::KernelOp kernel, unsigned first,
                           unsigned second) {
  if (first == second)
    return Answer::yes("they are one argument");
  SmallVector<kb::LaunchOp> launches = program.launchesOf(kernel);
  if (launches.empty())
    return Answer::dontKnow("no launch of '" + kernel.getName().str() + "' is in sight");
  if (isNamedOutsideLaunches(program.source(), program.declOf(kernel)))
    return Answer::dontKnow("the program names '" + kernel.getName().str() +
                            "' outside launches, so that not all of them are in sight");
  HostAliasing aliasing(program.source());
  Answer result = Answer::no("");
  for (kb::LaunchOp launch : launches) {
    const LaunchFact *fact = program.factOf(launch);
    if (fact->byApi || fact->instances > 1 || std::max(first, second) >= fact->arguments.size() ||
        !fact->call)
      return Answer::dontKnow("the arguments of a launch of '" + kernel.getName().str() +
                              "' are not in sight");
    // The call may stand in an instantiation of the host function.
    const FunctionDecl *host = fact->host;
    const FunctionDecl *definition = nullptr;
    if (!host || !host->hasBody(definition))
      return Answer::dontKnow("the function around a launch is not in sight");
    Answer here =
        aliasing.mayOverlap(fact->arguments[first], fact->arguments[second], definition, 0);
    if (!here.refuted())
      return here;
    result = here;
  }
  return result;
}

} // namespace kbopt
