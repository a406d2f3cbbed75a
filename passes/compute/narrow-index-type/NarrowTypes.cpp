//===- NarrowTypes.cpp - Which integers of a kernel can get 32 bits --------===//
// SPDX-License-Identifier: Apache-2.0

#include "NarrowTypes.h"

using namespace kbopt;
using namespace clang;

/// Without parentheses and what the compiler added. Such casts are added anew.
static const Expr *bare(const Expr *expr) { return ast::strip(expr); }

NarrowTypes::NarrowTypes(const PassContext &context, const KernelView &kernel,
                         const LaunchFact &launch)
    : context(&context), kernel(&kernel), launch(&launch) {
  choose();
  if (!why.empty())
    return;
  if (ranges.empty()) {
    why = "the kernel has no index of 64 bits that is known to be bounded and not negative";
    return;
  }
  for (const auto *subscript : ast::findAll<ArraySubscriptExpr>(kernel.function()->getBody()))
    subscripts.insert(bare(subscript->getIdx()));
  IndexBounds bounds(context, kernel, launch);
  for (const auto *reference : ast::findAll<DeclRefExpr>(kernel.function()->getBody()))
    if (const auto *variable = dyn_cast<VarDecl>(reference->getDecl());
        variable && narrow.count(variable))
      bounds.require(reference);
  ast::walk(kernel.function()->getBody(), [&](const Stmt *each) {
    check(each, bounds);
    return why.empty();
  });
  if (why.empty())
    why = bounds.obstacle();
  test = bounds.condition();
}

void NarrowTypes::stop(const Expr *expr, llvm::StringRef reason) {
  if (why.empty())
    why = "'" + context->text(expr->getSourceRange()).str() + "' " + reason.str();
}

bool NarrowTypes::isWide(QualType type) const {
  type = type.getCanonicalType().getUnqualifiedType();
  return !type->isDependentType() && type->isIntegerType() && !type->isEnumeralType() &&
         !type.isVolatileQualified() && context->parsed().context().getIntWidth(type) == 64;
}

bool NarrowTypes::isBounded(const Expr *expr) const {
  IndexBounds trial(*context, *kernel, *launch);
  return trial.require(expr) && trial.obstacle().empty();
}

//===-- The choice --------------------------------------------------------===//

void NarrowTypes::choose() {
  const Stmt *body = kernel->function()->getBody();
  auto add = [&](SourceRange range) {
    if (context->text(range).empty())
      return false;
    if (!llvm::is_contained(ranges, range))
      ranges.push_back(range);
    return true;
  };
  auto writtenType = [](const VarDecl *variable) {
    return variable->getTypeSourceInfo()->getTypeLoc().getUnqualifiedLoc().getSourceRange();
  };
  for (const ParmVarDecl *parameter : kernel->function()->parameters()) {
    if (!isWide(parameter->getType()) || mayModify(body, parameter))
      continue;
    const DeclRefExpr *use = nullptr;
    for (const auto *reference : ast::findAll<DeclRefExpr>(body))
      use = reference->getDecl() == parameter && !use ? reference : use;
    if (use && isBounded(use) && add(writtenType(parameter)))
      narrow.insert(parameter);
  }
  for (const auto *declaration : ast::findAll<DeclStmt>(body)) {
    bool all = true, any = false;
    for (const Decl *each : declaration->decls()) {
      const auto *variable = dyn_cast<VarDecl>(each);
      all &= variable && isWide(variable->getType()) && variable->hasInit() &&
             variable->hasLocalStorage() && !variable->getType()->getContainedAutoType();
      any |= variable && isWide(variable->getType());
      if (!all)
        continue;
      // A counter is bounded where the loop uses it; anything else by what it is set to.
      const DeclRefExpr *use = nullptr;
      for (const auto *reference : ast::findAll<DeclRefExpr>(body))
        use = reference->getDecl() == variable ? reference : use;
      all &= isBounded(variable->getInit()) && (!use || isBounded(use));
    }
    if (!any || !all || !add(writtenType(cast<VarDecl>(*declaration->decl_begin()))))
      continue;
    for (const Decl *each : declaration->decls())
      narrow.insert(cast<VarDecl>(each));
  }
  for (const auto *cast : ast::findAll<ExplicitCastExpr>(body))
    if (isWide(cast->getType()) && cast->getSubExpr()->getType()->isIntegerType() &&
        isBounded(cast->getSubExpr()) &&
        add(cast->getTypeInfoAsWritten()->getTypeLoc().getUnqualifiedLoc().getSourceRange()))
      narrowCasts.insert(cast);
}

//===-- Types afterwards --------------------------------------------------===//

NarrowTypes::Kind NarrowTypes::kindOf(const Expr *expr) const {
  expr = bare(expr);
  if (const VarDecl *variable = ast::variableOf(expr))
    if (narrow.count(variable))
      return Kind::Signed;
  if (narrowCasts.count(expr))
    return Kind::Signed;
  if (const auto *binary = dyn_cast<BinaryOperator>(expr);
      binary && !binary->isAssignmentOp() && !binary->isComparisonOp() && !binary->isLogicalOp()) {
    Kind left = kindOf(binary->getLHS());
    return binary->isShiftOp() ? left : std::max(left, kindOf(binary->getRHS()));
  }
  if (const auto *choice = dyn_cast<ConditionalOperator>(expr))
    return std::max(kindOf(choice->getTrueExpr()), kindOf(choice->getFalseExpr()));
  if (const auto *unary = dyn_cast<UnaryOperator>(expr);
      unary && (unary->getOpcode() == UO_Plus || unary->getOpcode() == UO_Minus ||
                unary->getOpcode() == UO_Not))
    return kindOf(unary->getSubExpr());
  QualType type = expr->getType();
  if (isWide(type))
    return Kind::Wide;
  bool isUnsigned = !type->isDependentType() && type->isUnsignedIntegerType() &&
                    context->parsed().context().getIntWidth(type) == 32;
  return isUnsigned ? Kind::Unsigned : Kind::Signed;
}

QualType NarrowTypes::wideTypeOf(const Expr *expr) const {
  expr = bare(expr);
  if (kindOf(expr) != Kind::Wide)
    return QualType();
  if (const auto *binary = dyn_cast<BinaryOperator>(expr); binary && !binary->isAssignmentOp()) {
    QualType left = wideTypeOf(binary->getLHS());
    QualType right = binary->isShiftOp() ? QualType() : wideTypeOf(binary->getRHS());
    return left.isNull() || (!right.isNull() && right->isUnsignedIntegerType()) ? right : left;
  }
  if (const auto *choice = dyn_cast<ConditionalOperator>(expr)) {
    QualType left = wideTypeOf(choice->getTrueExpr()), right = wideTypeOf(choice->getFalseExpr());
    return left.isNull() || (!right.isNull() && right->isUnsignedIntegerType()) ? right : left;
  }
  return expr->getType();
}

bool NarrowTypes::mentionsNarrow(const Expr *expr) const {
  bool found = false;
  ast::walk(expr, [&](const Stmt *each) {
    // An element is what it was, however it is found.
    if (isa<ArraySubscriptExpr>(each))
      return false;
    const auto *part = dyn_cast<Expr>(each);
    // The result of another cast, or with a fraction, has the type that it had.
    if (part && !narrowCasts.count(part) &&
        (isa<ExplicitCastExpr>(part) || part->getType()->isFloatingType()))
      return false;
    const VarDecl *variable = part && isa<DeclRefExpr>(part) ? ast::variableOf(part) : nullptr;
    found |= part && (narrowCasts.count(part) || (variable && narrow.count(variable)));
    return !found;
  });
  return found;
}

//===-- The proof ---------------------------------------------------------===//

void NarrowTypes::checkBinary(const BinaryOperator *binary, IndexBounds &bounds) {
  const Expr *left = binary->getLHS(), *right = binary->getRHS();
  if (binary->isLogicalOp() || binary->isCommaOp() ||
      (!mentionsNarrow(left) && !mentionsNarrow(right)))
    return;
  if (binary->getOpcode() == BO_Assign || left->getType()->isPointerType() ||
      right->getType()->isPointerType())
    return; // the value that is assigned or added is the same
  if (binary->isTypeDependent() || left->isTypeDependent() || right->isTypeDependent())
    return stop(binary, "depends on the template's parameters");
  if (binary->isCompoundAssignmentOp()) {
    const VarDecl *counter = ast::variableOf(left);
    bool modular = binary->getOpcode() == BO_AddAssign || binary->getOpcode() == BO_SubAssign ||
                   binary->getOpcode() == BO_MulAssign;
    if (!(counter && narrow.count(counter)) && !modular && left->getType()->isIntegerType())
      stop(binary, "would be computed in another type");
    return; // a counter's last step is part of its bound
  }
  if (!right->getType()->isIntegerType() || !left->getType()->isIntegerType())
    return; // floating-point
  // The type in which the original computes.
  QualType before = binary->isComparisonOp() ? left->getType() : binary->getType();
  if (!isWide(before))
    return;
  Kind kind = binary->isShiftOp() ? kindOf(left) : std::max(kindOf(left), kindOf(right));
  if (kind == Kind::Wide) {
    QualType after = wideTypeOf(left), other = binary->isShiftOp() ? QualType() : wideTypeOf(right);
    bool isUnsigned = (!after.isNull() && after->isUnsignedIntegerType()) ||
                      (!other.isNull() && other->isUnsignedIntegerType());
    if (isUnsigned != before->isUnsignedIntegerType())
      stop(binary, "would be computed with another sign");
    return;
  }
  if (binary->getOpcode() == BO_Sub && kind == Kind::Signed && isBounded(left) &&
      isBounded(right) && (before->isSignedIntegerType() || subscripts.count(binary))) {
    // The difference fits 32 bits, and as an index it is taken for what it is. Nothing else may be
    // computed from it: that has no bound.
    bounds.require(left);
    bounds.require(right);
    return;
  }
  if (!binary->isComparisonOp()) {
    if (!bounds.require(binary))
      stop(binary, "is not known to be bounded and not negative");
    return;
  }
  // Signed numbers of 32 bits compare as those of 64 bits do; with unsigned ones only if none is
  // negative.
  if (before->isUnsignedIntegerType() || kind == Kind::Unsigned)
    for (const Expr *side : {left, right})
      if (!bare(side)->getType()->isUnsignedIntegerType() || kindOf(side) == Kind::Signed)
        if (!bounds.require(side))
          stop(side, "is not known to be bounded and not negative");
}

void NarrowTypes::check(const Stmt *node, IndexBounds &bounds) {
  if (const auto *lambda = dyn_cast<LambdaExpr>(node))
    return stop(lambda, "is a function of its own");
  if (const auto *binary = dyn_cast<BinaryOperator>(node))
    return checkBinary(binary, bounds);
  if (const auto *choice = dyn_cast<ConditionalOperator>(node)) {
    if (choice->getType()->isIntegerType() && isWide(choice->getType()) && mentionsNarrow(choice) &&
        kindOf(choice) != Kind::Wide && !bounds.require(choice))
      stop(choice, "is not known to be bounded and not negative");
    return;
  }
  if (const auto *unary = dyn_cast<UnaryOperator>(node)) {
    bool changesType = unary->getOpcode() == UO_Minus || unary->getOpcode() == UO_Not ||
                       unary->getOpcode() == UO_AddrOf;
    if (changesType && mentionsNarrow(unary->getSubExpr()) && unary->getOpcode() == UO_AddrOf
            ? isa<DeclRefExpr>(bare(unary->getSubExpr()))
            : changesType && mentionsNarrow(unary->getSubExpr()) && isWide(unary->getType()))
      stop(unary, "would be computed in another type");
    return;
  }
  if (const auto *cast = dyn_cast<ExplicitCastExpr>(node)) {
    if (narrowCasts.count(cast) && !bounds.require(cast->getSubExpr()))
      stop(cast, "is not known to be bounded and not negative");
    return;
  }
  if (const auto *declaration = dyn_cast<DeclStmt>(node)) {
    for (const Decl *each : declaration->decls())
      if (const auto *variable = dyn_cast<VarDecl>(each)) {
        if (narrow.count(variable) && !bounds.require(variable->getInit()))
          stop(variable->getInit(), "is not known to be bounded and not negative");
        if (variable->getInit() && variable->getType()->getContainedAutoType() &&
            mentionsNarrow(variable->getInit()))
          stop(variable->getInit(), "decides the type of a variable");
      }
    return;
  }
  const auto *call = dyn_cast<CallExpr>(node);
  if (!call || isa<CXXOperatorCallExpr>(call))
    return;
  const FunctionDecl *callee = call->getDirectCallee();
  for (const Expr *argument : call->arguments())
    if (mentionsNarrow(argument)) {
      bool one = callee && !callee->isVariadic() && !callee->isTemplateInstantiation() &&
                 callee->getIdentifier() &&
                 callee->getDeclContext()->lookup(callee->getDeclName()).isSingleResult();
      if (!one)
        stop(argument, "is passed to a function that may depend on its type");
    }
}
