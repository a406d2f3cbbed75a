//===- ReadPurity.cpp - Functions of values alone --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the question whether a device function does no more than compute a value.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"

using namespace clang;

namespace kbopt::raise {

namespace {

/// Whether a device function computes its result from its scalar parameters alone.
class PurityCheck : public DynamicRecursiveASTVisitor {
public:
  explicit PurityCheck(llvm::function_ref<bool(const FunctionDecl *)> isPure) : isPure(isPure) {}
  bool VisitCallExpr(CallExpr *call) override {
    const FunctionDecl *callee = call->getDirectCallee();
    return callee && isPure(callee) ? true : refuse();
  }
  bool VisitDeclRefExpr(DeclRefExpr *reference) override {
    const auto *variable = llvm::dyn_cast<VarDecl>(reference->getDecl());
    if (!variable)
      return true;
    bool isOutside = variable->hasGlobalStorage() && !variable->getType().isConstQualified();
    return isOutside || variable->getType().isVolatileQualified() ||
                   (variable->getType()->isReferenceType() && !llvm::isa<ParmVarDecl>(variable)) ||
                   variable->hasAttr<CUDASharedAttr>()
               ? refuse()
               : true;
  }
  bool VisitAsmStmt(AsmStmt *) override { return refuse(); }
  bool VisitCXXThisExpr(CXXThisExpr *) override { return refuse(); }
  bool VisitPseudoObjectExpr(PseudoObjectExpr *) override { return refuse(); } // threadIdx
  bool VisitLambdaExpr(LambdaExpr *) override { return refuse(); }
  bool refuse() {
    impure = true;
    return false;
  }
  bool impure = false;

private:
  llvm::function_ref<bool(const FunctionDecl *)> isPure;
};

} // namespace

bool ThreadReader::isPureFunction(const FunctionDecl *function) {
  function = function->getCanonicalDecl();
  auto [at, isNew] = pureFunctions.try_emplace(function, true); // recursion adds nothing
  if (!isNew)
    return at->second;
  bool isSystem =
      ast.getSourceManager().isInSystemHeader(function->getLocation()) || function->getBuiltinID();
  const auto *method = llvm::dyn_cast<CXXMethodDecl>(function);
  bool isPure = !method || isSystem || llvm::isa<CXXConstructorDecl>(method);
  for (const ParmVarDecl *parameter : function->parameters()) {
    QualType type = parameter->getType();
    bool isConstReference =
        type->isReferenceType() && type.getNonReferenceType().isConstQualified();
    isPure &= !type->isPointerType() &&
              (!type->isReferenceType() || isConstReference || type->isRValueReferenceType());
  }
  if (isSystem) {
    llvm::StringRef name = function->getIdentifier() ? function->getName() : "";
    isPure &= !name.contains("sync") && !name.contains("atomic") &&
              !name.starts_with("__threadfence") && !name.starts_with("clock") &&
              !name.contains("shfl") && name != "printf" && name != "__trap" &&
              !name.contains("assert") && !name.contains("mask") && !name.contains("pipeline") &&
              !name.contains("nanosleep") && !function->getReturnType()->isVoidType();
    if (method && !method->isStatic() && !llvm::isa<CXXConstructorDecl>(method))
      isPure &= method->isConst();
  } else if (isPure) {
    const FunctionDecl *definition = nullptr;
    if (function->isDefined(definition) && definition->getBody()) {
      auto ask = [&](const FunctionDecl *callee) { return isPureFunction(callee); };
      PurityCheck check(ask);
      check.TraverseStmt(definition->getBody());
      isPure = !check.impure;
    } else {
      isPure = false;
    }
  }
  pureFunctions[function] = isPure;
  return isPure;
}

} // namespace kbopt::raise
