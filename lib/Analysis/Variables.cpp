//===- Variables.cpp - What happens to a variable in source text -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns mayModify and isSpeculatable.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Analysis/Legality.h"
#include "kb-opt/Source/AstPrograms.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

using namespace clang;

namespace kbopt {
namespace {

/// The variable whose own storage \p lvalue lies in; null behind a pointer.
const DeclRefExpr *rootOf(const Expr *lvalue) {
  for (;;) {
    lvalue = lvalue->IgnoreParens();
    if (auto *ref = dyn_cast<DeclRefExpr>(lvalue))
      return ref->getDecl()->getType()->isReferenceType() ? nullptr : ref;
    if (auto *member = dyn_cast<MemberExpr>(lvalue)) {
      if (member->isArrow())
        return nullptr;
      lvalue = member->getBase();
    } else if (auto *subscript = dyn_cast<ArraySubscriptExpr>(lvalue)) {
      auto *decay = dyn_cast<ImplicitCastExpr>(subscript->getBase()->IgnoreParens());
      if (!decay || decay->getCastKind() != CK_ArrayToPointerDecay)
        return nullptr;
      lvalue = decay->getSubExpr();
    } else if (auto *cast = dyn_cast<ImplicitCastExpr>(lvalue);
               cast && cast->getCastKind() == CK_NoOp && cast->isGLValue()) {
      lvalue = cast->getSubExpr();
    } else {
      return nullptr;
    }
  }
}

/// Every use of a variable counts as a change unless it is known to be a read.
class ChangeFinder : public DynamicRecursiveASTVisitor {
public:
  ChangeFinder() { ShouldVisitImplicitCode = true; }

  bool VisitImplicitCastExpr(ImplicitCastExpr *cast) override {
    bool reads =
        cast->getCastKind() == CK_LValueToRValue ||
        (cast->getCastKind() == CK_NoOp && cast->isGLValue() && cast->getType().isConstQualified());
    if (reads)
      if (const DeclRefExpr *root = rootOf(cast->getSubExpr()))
        reading.insert(root);
    return true;
  }
  // In a template no cast says that an operand is read. A subscript of a pointer and the
  // operators on numbers read theirs, whatever the element becomes.
  bool VisitArraySubscriptExpr(ArraySubscriptExpr *subscript) override {
    QualType base = subscript->getLHS()->getType();
    if (subscript->isTypeDependent() && (base->isPointerType() || base->isArrayType()))
      read(subscript->getRHS());
    return true;
  }
  bool VisitBinaryOperator(BinaryOperator *op) override {
    if (!op->isTypeDependent() || op->isShiftOp() || op->isPtrMemOp() || op->isCommaOp())
      return true;
    if (!op->isAssignmentOp())
      read(op->getLHS());
    read(op->getRHS());
    return true;
  }
  bool VisitDeclRefExpr(DeclRefExpr *use) override {
    if (!reading.count(use) && !use->getType().isConstQualified() && !use->isNonOdrUse())
      changed.insert(cast<ValueDecl>(use->getDecl()->getCanonicalDecl()));
    return true;
  }
  bool TraverseUnaryExprOrTypeTraitExpr(UnaryExprOrTypeTraitExpr *) override { return true; }

  llvm::DenseSet<const ValueDecl *> changed;

private:
  void read(const Expr *operand) {
    if (const DeclRefExpr *root = rootOf(operand); root && root->getType()->isArithmeticType())
      reading.insert(root);
  }

  llvm::DenseSet<const DeclRefExpr *> reading;
};

bool isPureMath(const FunctionDecl *function) {
  static const llvm::StringSet<> names = {"abs",
                                          "fabs",
                                          "fabsf",
                                          "sqrt",
                                          "sqrtf",
                                          "rsqrt",
                                          "rsqrtf",
                                          "exp",
                                          "expf",
                                          "exp2",
                                          "exp2f",
                                          "exp10f",
                                          "expm1f",
                                          "log",
                                          "logf",
                                          "log2",
                                          "log2f",
                                          "log10f",
                                          "log1pf",
                                          "sin",
                                          "sinf",
                                          "cos",
                                          "cosf",
                                          "tan",
                                          "tanf",
                                          "tanh",
                                          "tanhf",
                                          "sinh",
                                          "sinhf",
                                          "cosh",
                                          "coshf",
                                          "asinf",
                                          "acosf",
                                          "atan",
                                          "atanf",
                                          "atan2f",
                                          "erf",
                                          "erff",
                                          "erfcf",
                                          "pow",
                                          "powf",
                                          "fmin",
                                          "fminf",
                                          "fmax",
                                          "fmaxf",
                                          "fma",
                                          "fmaf",
                                          "floor",
                                          "floorf",
                                          "ceil",
                                          "ceilf",
                                          "round",
                                          "roundf",
                                          "trunc",
                                          "truncf",
                                          "rint",
                                          "rintf",
                                          "fmod",
                                          "fmodf",
                                          "copysignf",
                                          "min",
                                          "max",
                                          "__expf",
                                          "__logf",
                                          "__sinf",
                                          "__cosf",
                                          "__fdividef",
                                          "__frcp_rn",
                                          "__fsqrt_rn",
                                          "__fmaf_rn",
                                          "__saturatef",
                                          "__int2float_rn",
                                          "__float2int_rn",
                                          "__float2int_rd",
                                          "__umulhi",
                                          "__mulhi",
                                          "isnan",
                                          "isinf",
                                          "hypotf",
                                          "cbrtf"};
  return function && function->getDeclName().isIdentifier() &&
         names.contains(function->getName()) &&
         function->getASTContext().getSourceManager().isInSystemHeader(function->getLocation());
}

class RiskFinder : public DynamicRecursiveASTVisitor {
public:
  explicit RiskFinder(const ASTContext &ast) : ast(ast) {}

  // threadIdx.x is a property with a getter.
  bool TraversePseudoObjectExpr(PseudoObjectExpr *) override { return true; }
  bool VisitArraySubscriptExpr(ArraySubscriptExpr *) override { return refuse(); }
  bool VisitMemberExpr(MemberExpr *member) override { return member->isArrow() ? refuse() : true; }
  bool VisitUnaryOperator(UnaryOperator *op) override {
    return op->getOpcode() == UO_Deref || op->isIncrementDecrementOp() ? refuse() : true;
  }
  bool VisitBinaryOperator(BinaryOperator *op) override {
    if (op->isAssignmentOp())
      return refuse();
    if ((op->getOpcode() == BO_Div || op->getOpcode() == BO_Rem) &&
        op->getType()->isIntegerType()) {
      Expr::EvalResult divisor;
      if (op->getRHS()->isValueDependent() || !op->getRHS()->EvaluateAsInt(divisor, ast) ||
          divisor.Val.getInt().isZero() || divisor.Val.getInt().isAllOnes())
        return refuse();
    }
    return true;
  }
  bool VisitCallExpr(CallExpr *call) override {
    return isPureMath(call->getDirectCallee()) ? true : refuse();
  }
  bool VisitCXXConstructExpr(CXXConstructExpr *) override { return refuse(); }
  bool VisitCXXNewExpr(CXXNewExpr *) override { return refuse(); }
  bool VisitLambdaExpr(LambdaExpr *) override { return refuse(); }
  bool VisitStmtExpr(StmtExpr *) override { return refuse(); }
  bool VisitDeclRefExpr(DeclRefExpr *use) override {
    auto *variable = dyn_cast<VarDecl>(use->getDecl());
    return variable && variable->getType().isVolatileQualified() ? refuse() : true;
  }

  bool risky = false;

private:
  bool refuse() {
    risky = true;
    return false;
  }
  const ASTContext &ast;
};

} // namespace

namespace {
/// By statement: the variables that it may change.
struct ChangedVariables {
  std::map<const Stmt *, llvm::DenseSet<const ValueDecl *>> byStatement;
};
} // namespace

bool mayModify(const Stmt *statement, const VarDecl *variable) {
  if (!statement)
    return false;
  if (variable->getType()->isReferenceType())
    return true;
  auto changes = [&] {
    ChangeFinder finder;
    finder.TraverseStmt(const_cast<Stmt *>(statement));
    return std::move(finder.changed);
  };
  const ParsedProgram *program = programOf(variable->getASTContext());
  if (!program)
    return changes().contains(variable->getCanonicalDecl());
  auto &known = program->derived<ChangedVariables>([] { return ChangedVariables(); }).byStatement;
  auto found = known.find(statement);
  if (found == known.end())
    found = known.emplace(statement, changes()).first;
  return found->second.contains(variable->getCanonicalDecl());
}

bool isSpeculatable(const Expr *expr) {
  // Any declaration leads to the context.
  struct ContextFinder : DynamicRecursiveASTVisitor {
    const ASTContext *ast = nullptr;
    bool VisitDeclRefExpr(DeclRefExpr *use) override {
      ast = &use->getDecl()->getASTContext();
      return false;
    }
  } context;
  context.TraverseStmt(const_cast<Expr *>(expr));
  if (!context.ast)
    return !expr->containsErrors() &&
           isa<IntegerLiteral, FloatingLiteral>(expr->IgnoreParenImpCasts());
  RiskFinder finder(*context.ast);
  finder.TraverseStmt(const_cast<Expr *>(expr));
  return !finder.risky;
}

} // namespace kbopt
