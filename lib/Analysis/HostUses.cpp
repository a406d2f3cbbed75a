//===- HostUses.cpp - How host code uses its variables and functions -------===//
// SPDX-License-Identifier: Apache-2.0
#include "HostUses.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/StringSet.h"

using namespace clang;
using namespace kbopt;
using namespace kbopt::analysis;

bool analysis::isAllocation(const FunctionDecl *function) {
  static const llvm::StringSet<> names = {"cudaMalloc", "cudaMallocManaged", "cudaMallocAsync",
                                          "cudaMallocHost", "cudaHostAlloc"};
  return function && function->getDeclName().isIdentifier() && names.contains(function->getName());
}

const Expr *HostCall::passed(const VarDecl *variable) const {
  auto *parameter = dyn_cast<ParmVarDecl>(variable);
  return parameter && parameter->getFunctionScopeIndex() < call->getNumArgs()
             ? call->getArg(parameter->getFunctionScopeIndex())
             : nullptr;
}

namespace {

/// All functions of the main file, for callers and for global variables.
struct FunctionFinder : DynamicRecursiveASTVisitor {
  FunctionFinder() { ShouldVisitTemplateInstantiations = true; }
  bool VisitFunctionDecl(FunctionDecl *function) override {
    if (function->doesThisDeclarationHaveABody() && !function->isDependentContext())
      functions.push_back(function);
    return true;
  }
  std::vector<const FunctionDecl *> functions;
};

/// Calls of the program's functions, and other mentions of them.
struct CallFinder : DynamicRecursiveASTVisitor {
  bool VisitCallExpr(CallExpr *call) override {
    if (const FunctionDecl *callee = call->getDirectCallee()) {
      found.push_back({callee->getCanonicalDecl(), call});
      callees.insert(call->getCallee()->IgnoreParenImpCasts());
    }
    return true;
  }
  bool VisitDeclRefExpr(DeclRefExpr *ref) override {
    if (auto *function = dyn_cast<FunctionDecl>(ref->getDecl()); function && !callees.contains(ref))
      named.push_back(function->getCanonicalDecl());
    return true;
  }
  std::vector<std::pair<const FunctionDecl *, const CallExpr *>> found;
  std::vector<const FunctionDecl *> named;
  llvm::DenseSet<const Expr *> callees;
};

/// Every mention of a variable is a read, or `&variable` as the first argument of an allocation, or
/// else it escapes.
struct UseFinder : DynamicRecursiveASTVisitor {
  explicit UseFinder(VariableUses &uses) : uses(uses) {}

  bool VisitCallExpr(CallExpr *call) override {
    if (!isAllocation(call->getDirectCallee()) || call->getNumArgs() == 0)
      return true;
    const Expr *target = call->getArg(0)->IgnoreParenCasts();
    if (auto *address = dyn_cast<UnaryOperator>(target);
        address && address->getOpcode() == UO_AddrOf)
      if (auto *ref = dyn_cast<DeclRefExpr>(address->getSubExpr()->IgnoreParens())) {
        allowed.insert(ref);
        uses.allocated.insert(cast<ValueDecl>(ref->getDecl()->getCanonicalDecl()));
      }
    return true;
  }
  bool VisitImplicitCastExpr(ImplicitCastExpr *cast) override {
    if (cast->getCastKind() == CK_LValueToRValue)
      if (auto *ref = dyn_cast<DeclRefExpr>(cast->getSubExpr()->IgnoreParens()))
        allowed.insert(ref);
    return true;
  }
  bool VisitBinaryOperator(BinaryOperator *op) override {
    // p = nullptr after cudaFree.
    if (op->getOpcode() == BO_Assign)
      if (auto *ref = dyn_cast<DeclRefExpr>(op->getLHS()->IgnoreParens());
          ref && op->getRHS()->IgnoreParenCasts()->isNullPointerConstant(
                     ref->getDecl()->getASTContext(), Expr::NPC_ValueDependentIsNotNull))
        allowed.insert(ref);
    return true;
  }
  bool VisitDeclRefExpr(DeclRefExpr *ref) override {
    if (!allowed.contains(ref))
      uses.escaped.insert(cast<ValueDecl>(ref->getDecl()->getCanonicalDecl()));
    return true;
  }

  VariableUses &uses;
  llvm::DenseSet<const DeclRefExpr *> allowed;
};

void addUses(const FunctionDecl *function, VariableUses &uses) {
  UseFinder(uses).TraverseStmt(function->getBody());
}

} // namespace

HostUses::HostUses(const ParsedProgram &program) {
  const SourceManager &sources = program.sources();
  FunctionFinder finder;
  for (Decl *decl : program.context().getTranslationUnitDecl()->noload_decls())
    if (!sources.isInSystemHeader(decl->getLocation()))
      finder.TraverseDecl(decl);
  all = std::move(finder.functions);
  known.insert(all.begin(), all.end());
}

HostUses &HostUses::of(const ParsedProgram &program) {
  return program.derived<HostUses>([&] { return HostUses(program); });
}

void HostUses::collectCalls() {
  if (std::exchange(hasCalls, true))
    return;
  for (const FunctionDecl *caller : all) {
    CallFinder finder;
    finder.TraverseStmt(caller->getBody());
    for (auto [callee, call] : finder.found)
      calls[callee].push_back({call, caller});
    named.insert(finder.named.begin(), finder.named.end());
  }
}

llvm::ArrayRef<HostCall> HostUses::callsOf(const FunctionDecl *function) {
  collectCalls();
  auto found = calls.find(function->getCanonicalDecl());
  if (found == calls.end())
    return {};
  return found->second;
}

bool HostUses::isNamedOutsideCalls(const FunctionDecl *function) {
  collectCalls();
  return named.contains(function->getCanonicalDecl());
}

const VariableUses &HostUses::usesIn(const FunctionDecl *function) {
  auto [found, isNew] = uses.try_emplace(function);
  if (isNew)
    addUses(function, found->second);
  return found->second;
}

const VariableUses &HostUses::usesAnywhere() {
  if (!everywhere) {
    everywhere.emplace();
    for (const FunctionDecl *function : all)
      addUses(function, *everywhere);
  }
  return *everywhere;
}
