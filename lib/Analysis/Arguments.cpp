//===- Arguments.cpp - What kernels do with their pointers ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns stores through arguments and what else an argument is used for.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Analysis/Legality.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/ParentMap.h"

using namespace clang;

namespace kbopt {
namespace {

/// What becomes of one mention of a pointer variable.
enum class Use {
  Read,       ///< an element is loaded
  Write,      ///< an element is stored, or may be
  ConstAlias, ///< it becomes a pointer to const
  Other,      ///< compared, copied, passed on
};

/// Follows \p use up to what is done with the pointer or its element.
Use classify(const Expr *use, const ParentMap &parents) {
  const Stmt *at = use;
  bool isElement = false; // `at` is an lvalue the pointer leads to
  for (;;) {
    const Stmt *up = parents.getParent(at);
    if (!up || !isa<Expr>(up))
      return isElement ? Use::Write : Use::Other;
    if (isa<ParenExpr>(up)) {
      at = up;
      continue;
    }
    if (auto *cast = dyn_cast<ImplicitCastExpr>(up)) {
      QualType type = cast->getType();
      switch (cast->getCastKind()) {
      case CK_LValueToRValue:
        if (isElement)
          return Use::Read;
        break;
      case CK_ArrayToPointerDecay:
        break;
      case CK_NoOp:
        if (isElement && cast->isGLValue() && type.isConstQualified())
          return Use::Read;
        if (!isElement && type->isPointerType() && type->getPointeeType().isConstQualified() &&
            !cast->getSubExpr()->getType()->getPointeeType().isConstQualified())
          return Use::ConstAlias;
        break;
      case CK_BitCast:
        if (type->isPointerType() && type->getPointeeType().isConstQualified())
          return Use::ConstAlias;
        return Use::Other;
      default:
        return isElement ? Use::Write : Use::Other;
      }
      at = up;
      continue;
    }
    if (auto *cast = dyn_cast<ExplicitCastExpr>(up)) {
      QualType type = cast->getType();
      if (!isElement && type->isPointerType() && type->getPointeeType().isConstQualified())
        return Use::ConstAlias;
      return isElement ? Use::Write : Use::Other;
    }
    if (auto *subscript = dyn_cast<ArraySubscriptExpr>(up)) {
      if (subscript->getIdx() == at)
        return Use::Other;
      isElement = true;
      at = up;
      continue;
    }
    if (auto *op = dyn_cast<UnaryOperator>(up)) {
      if (op->getOpcode() == UO_Deref) {
        isElement = true;
        at = up;
        continue;
      }
      if (op->getOpcode() == UO_AddrOf && isElement) {
        isElement = false;
        at = up;
        continue;
      }
      return isElement ? Use::Write : Use::Other;
    }
    if (auto *member = dyn_cast<MemberExpr>(up)) {
      if (auto *method = dyn_cast<CXXMethodDecl>(member->getMemberDecl()))
        return method->isConst() ? Use::Read : Use::Write;
      isElement = true;
      at = up;
      continue;
    }
    if (auto *op = dyn_cast<BinaryOperator>(up)) {
      if (isElement)
        return Use::Write; // the left side of an assignment
      if (op->isAdditiveOp() && op->getType()->isPointerType()) {
        at = up;
        continue;
      }
      return Use::Other;
    }
    if (auto *choice = dyn_cast<ConditionalOperator>(up); choice && choice->getCond() != at) {
      at = up;
      continue;
    }
    if (auto *call = dyn_cast<CallExpr>(up)) {
      const FunctionDecl *callee = call->getDirectCallee();
      bool ldg = callee && callee->getDeclName().isIdentifier() &&
                 (callee->getName() == "__ldg" || callee->getName().starts_with("__ldc"));
      return ldg ? Use::Read : isElement ? Use::Write : Use::Other;
    }
    return isElement ? Use::Write : Use::Other;
  }
}

struct UseFinder : DynamicRecursiveASTVisitor {
  UseFinder() { ShouldVisitImplicitCode = true; }
  bool VisitDeclRefExpr(DeclRefExpr *ref) override {
    if (ref->getDecl()->getCanonicalDecl() == variable)
      uses.push_back(ref);
    return true;
  }
  const ValueDecl *variable = nullptr;
  std::vector<const DeclRefExpr *> uses;
};

std::vector<const DeclRefExpr *> usesOf(const FunctionDecl *function, unsigned argument) {
  UseFinder finder;
  finder.variable = function->getParamDecl(argument)->getCanonicalDecl();
  finder.TraverseStmt(function->getBody());
  return finder.uses;
}

bool isHarmlessCall(kb::CallOp call) {
  return call.getCallee() == "vprintf" || call.getCallee().starts_with("__assert") ||
         call.getCallee().starts_with("llvm.");
}

} // namespace

Answer isNeverStoredThrough(const ImportedProgram &program, kb::KernelOp kernel,
                            unsigned argument) {
  const FunctionDecl *function = program.declOf(kernel);
  if (argument >= function->getNumParams())
    return Answer::dontKnow("there is no such parameter");
  const ParmVarDecl *parameter = function->getParamDecl(argument);
  std::string name = "'" + parameter->getName().str() + "'";
  if (!parameter->getType()->isPointerType())
    return Answer::dontKnow(name + " is not a pointer");
  Answer result = Answer::yes();
  kernel.walk([&](mlir::Operation *op) {
    if (isa<kb::OpaqueOp>(op)) {
      result = Answer::dontKnow("the kernel contains code that is not understood");
    } else if (auto call = dyn_cast<kb::CallOp>(op)) {
      if (!isHarmlessCall(call))
        result = Answer::dontKnow("what the call of '" + call.getCallee().str() +
                                  "' stores is not known");
    } else if (auto access = dyn_cast<kb::AccessOp>(op);
               access && access.getKind() != kb::AccessKind::Load) {
      kb::BaseAttr base = access.getBase();
      if (base.getKind() == kb::BaseKind::Argument && base.getArgument() == argument)
        result = Answer::no("the kernel stores to " + name);
      else if (base.getKind() == kb::BaseKind::Unknown &&
               access.getSpace() != kb::MemorySpace::Shared &&
               access.getSpace() != kb::MemorySpace::Local)
        result = Answer::dontKnow("the kernel stores through a pointer that may be " + name);
    }
    return result.proven() ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
  });
  if (!result.proven())
    return result;
  ParentMap parents(function->getBody());
  for (const DeclRefExpr *use : usesOf(function, argument)) {
    switch (classify(use, parents)) {
    case Use::Read:
    case Use::ConstAlias:
      break;
    case Use::Write:
      return Answer::no("the kernel stores to " + name);
    case Use::Other: {
      // A comparison needs no non-const pointer.
      const Stmt *up = parents.getParentIgnoreParenImpCasts(const_cast<DeclRefExpr *>(use));
      auto *op = dyn_cast_or_null<BinaryOperator>(up);
      if (op && (op->isComparisonOp() || op->isLogicalOp()))
        break;
      return Answer::dontKnow(name + " is passed on or copied as a pointer to non-const");
    }
    }
  }
  return result;
}

Answer isOnlyDereferenced(const ImportedProgram &program, kb::KernelOp kernel, unsigned argument) {
  const FunctionDecl *function = program.declOf(kernel);
  if (argument >= function->getNumParams() ||
      !function->getParamDecl(argument)->getType()->isPointerType())
    return Answer::dontKnow("there is no such pointer parameter");
  std::string name = "'" + function->getParamDecl(argument)->getName().str() + "'";
  ParentMap parents(function->getBody());
  for (const DeclRefExpr *use : usesOf(function, argument)) {
    // Up to the element and no further.
    const Stmt *at = use;
    for (const Stmt *up = parents.getParent(at);; at = up, up = parents.getParent(at)) {
      if (!up)
        return Answer::no(name + " is used as a value");
      if (isa<ParenExpr>(up) || isa<ImplicitCastExpr>(up))
        continue;
      if (auto *op = dyn_cast<BinaryOperator>(up);
          op && op->isAdditiveOp() && op->getType()->isPointerType())
        continue;
      auto *subscript = dyn_cast<ArraySubscriptExpr>(up);
      auto *deref = dyn_cast<UnaryOperator>(up);
      if (!(subscript && subscript->getBase() == at) && !(deref && deref->getOpcode() == UO_Deref))
        return Answer::no(name + " is used as a value");
      // `&x[i]` is a pointer again.
      const Stmt *outer = parents.getParentIgnoreParens(const_cast<Stmt *>(up));
      if (auto *address = dyn_cast_or_null<UnaryOperator>(outer);
          address && address->getOpcode() == UO_AddrOf)
        return Answer::no("the address of an element of " + name + " is taken");
      break;
    }
  }
  return Answer::yes();
}

} // namespace kbopt
