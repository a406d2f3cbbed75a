//===- LoopValues.cpp - What is passed, over variables of loops -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LoopValues.h"
#include "HostText.h"
#include "LaunchOrder.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;
using mlir::AffineExpr;

LoopValues::LoopValues(const PassContext &context, const LaunchFact &fact,
                       llvm::ArrayRef<LaunchLoop> loops, std::vector<PassedParameter> &parameters,
                       std::vector<kb::SymbolAttr> &symbols, mlir::MLIRContext *mlirContext)
    : context(context), fact(fact), loops(loops), parameters(parameters), symbols(symbols),
      mlirContext(mlirContext) {
  for (const LaunchLoop &each : loops)
    variables.push_back(each.counted.variable);
  ast::walk(loops.front().counted.loop, [&](const Stmt *each) {
    if (const auto *declaration = dyn_cast<DeclStmt>(each))
      for (const Decl *name : declaration->decls())
        if (const auto *variable = dyn_cast<VarDecl>(name)) {
          declared.insert(variable->getName());
          inside.insert(variable);
        }
    return true;
  });
}

llvm::Error LoopValues::findBegins(std::vector<AffineExpr> &counts) {
  for (const LaunchLoop &each : loops) {
    const Expr *begin = each.counted.begin, *end = each.counted.end;
    if (changes(begin) || changes(end) || isInside(begin) || isInside(end))
      return llvm::createStringError("how often the loop over '" + each.name() +
                                     "' runs depends on another one");
    llvm::Expected<AffineExpr> first = valueOf(begin);
    if (!first)
      return first.takeError();
    llvm::Expected<AffineExpr> last = valueOf(end);
    if (!last)
      return last.takeError();
    begins.push_back(*first);
    counts.push_back(*last - *first);
  }
  return llvm::Error::success();
}

bool LoopValues::changes(const Expr *expr) const { return restsOn(expr, variables); }

bool LoopValues::isInside(StringRef text) const {
  return llvm::any_of(namesIn(text), [&](StringRef name) { return declared.contains(name); });
}

bool LoopValues::isInside(const Expr *expr) const {
  return llvm::any_of(ast::findAll<DeclRefExpr>(expr), [&](const DeclRefExpr *each) {
    return isa<VarDecl>(each->getDecl()) && declared.contains(each->getDecl()->getName());
  });
}

std::string LoopValues::freshName(StringRef wanted) {
  std::string name = wanted.str();
  for (unsigned number = 2; !taken.insert(name).second; ++number)
    name = wanted.str() + std::to_string(number);
  return name;
}

llvm::Error LoopValues::refuse(const Expr *expr, const llvm::Twine &why) const {
  StringRef text = writtenText(context, expr->getSourceRange());
  return llvm::createStringError("'" + (text.empty() ? "what is passed" : text) + "' at " +
                                 ast::lineText(context, fact.call->getBeginLoc()) + " " + why);
}

AffineExpr LoopValues::symbolAt(size_t position) const {
  return mlir::getAffineSymbolExpr(kb::firstNamedSymbol + position, mlirContext);
}

/// Whether arithmetic in \p type gives what it gives in whole numbers, in every program that is
/// correct: where it is too narrow it either may not overflow, or, as addresses do, wraps where
/// that makes no difference.
static bool isExact(QualType type, const ASTContext &ast) {
  return type->isIntegralOrEnumerationType() &&
         (type->isSignedIntegerOrEnumerationType() || ast.getIntWidth(type) >= 64);
}

llvm::Expected<AffineExpr> LoopValues::valueOf(const Expr *expr) {
  const ASTContext &ast = context.parsed().context();
  const Expr *inner = ast::strip(expr);
  if (const auto *cast = dyn_cast<ExplicitCastExpr>(inner))
    if (isExact(cast->getType(), ast) &&
        cast->getSubExpr()->getType()->isIntegralOrEnumerationType())
      inner = ast::strip(cast->getSubExpr());
  if (!inner->getType()->isIntegralOrEnumerationType() ||
      !expr->getType()->isIntegralOrEnumerationType())
    return refuse(expr, "is no integer");
  if (ast.getIntWidth(inner->getType()) > ast.getIntWidth(expr->getType()))
    return refuse(expr, "may lose bits");
  if (std::optional<int64_t> number = ast::constantOf(inner, ast))
    return mlir::getAffineConstantExpr(*number, mlirContext);
  const VarDecl *variable = ast::variableOf(inner);
  for (auto [position, each] : llvm::enumerate(variables))
    if (each == variable)
      return mlir::getAffineDimExpr(kb::firstLoopDim + position, mlirContext) + begins[position];
  bool isLocal = changes(inner) || isInside(inner);
  if (!isLocal)
    for (const PassedParameter &each : parameters)
      if (each.meaning.expr && !each.meaning.narrows && !each.parameter.getIsPointer() &&
          each.meaning.expr->getType()->isIntegralOrEnumerationType() &&
          ast::sameValue(each.meaning.expr, inner, fact.host, ast))
        return symbolOf(each.parameter);
  if (const auto *both = dyn_cast<BinaryOperator>(inner)) {
    llvm::Expected<AffineExpr> value = binary(both);
    if (value || isLocal)
      return value;
    llvm::consumeError(value.takeError());
    return leaf(inner);
  }
  if (const Expr *settled = ast::resolve(inner, fact.host);
      settled && ast::strip(settled) != inner &&
      settled->getType()->isIntegralOrEnumerationType()) {
    llvm::Expected<AffineExpr> value = valueOf(settled);
    if (value || isLocal)
      return value;
    llvm::consumeError(value.takeError());
  }
  if (isLocal)
    return refuse(expr, "is no sum of multiples of '" + loops.back().name() + "'");
  return leaf(inner);
}

AffineExpr LoopValues::symbolOf(kb::ParamAttr parameter) {
  for (auto [position, symbol] : llvm::enumerate(symbols))
    if (symbol.getName() == parameter.getName())
      return symbolAt(position);
  bool isSigned =
      !parameter.getType().contains("unsigned") && !parameter.getType().contains("size_t");
  symbols.push_back(kb::SymbolAttr::get(mlirContext, parameter.getName(), kb::SymbolOrigin::Param,
                                        0, 0, 8 * parameter.getBytes(), isSigned));
  return symbolAt(symbols.size() - 1);
}

llvm::Expected<AffineExpr> LoopValues::binary(const BinaryOperator *expr) {
  if (!isExact(expr->getType(), context.parsed().context()))
    return refuse(expr, "is computed in a type that may wrap");
  BinaryOperatorKind kind = expr->getOpcode();
  if (kind != BO_Add && kind != BO_Sub && kind != BO_Mul)
    return refuse(expr, "is no sum or product");
  llvm::Expected<AffineExpr> left = valueOf(expr->getLHS());
  if (!left)
    return left.takeError();
  llvm::Expected<AffineExpr> right = valueOf(expr->getRHS());
  if (!right)
    return right.takeError();
  if (kind == BO_Mul && !left->isSymbolicOrConstant() && !right->isSymbolicOrConstant())
    return refuse(expr, "is a product of variables of loops");
  return kind == BO_Mul ? *left * *right : kind == BO_Add ? *left + *right : *left - *right;
}

/// A value that is the same for all launches, as a new parameter.
llvm::Expected<AffineExpr> LoopValues::leaf(const Expr *expr) {
  const ASTContext &ast = context.parsed().context();
  StringRef text = writtenText(context, expr->getSourceRange());
  if (text.empty() || !isRepeatable(expr))
    return refuse(expr, "cannot be passed to the new kernel");
  QualType type = expr->getType();
  unsigned bits = ast.getIntWidth(type);
  bool isSigned = type->isSignedIntegerOrEnumerationType();
  const VarDecl *variable = ast::variableOf(expr);
  std::string name = freshName(variable ? variable->getName() : "stride");
  std::string word = bits > 32 ? "long long" : isSigned || bits < 32 ? "int" : "unsigned";
  LaunchText::Meaning meaning;
  meaning.text = text.str();
  meaning.expr = expr;
  meaning.value = ast::constantOf(ast::resolve(expr, fact.host), ast);
  parameters.push_back(
      {kb::ParamAttr::get(mlirContext, name, word, bits > 32 ? 8 : 4, false, 0, false, false),
       meaning});
  symbols.push_back(kb::SymbolAttr::get(mlirContext, name, kb::SymbolOrigin::Param, 0, 0,
                                        bits > 32 ? 64 : 32, isSigned || bits != 32));
  return symbolAt(symbols.size() - 1);
}

llvm::Expected<HostPointer> LoopValues::pointerOf(const Expr *expr) {
  const ASTContext &ast = context.parsed().context();
  AffineExpr none = mlir::getAffineConstantExpr(0, mlirContext);
  const Expr *inner = ast::strip(expr);
  auto moved = [&](const Expr *pointer, const Expr *by, int sign) -> llvm::Expected<HostPointer> {
    llvm::Expected<HostPointer> from = pointerOf(pointer);
    if (!from)
      return from.takeError();
    if (!ast.hasSameUnqualifiedType(
            from->base->getType()->getPointeeOrArrayElementType()->getCanonicalTypeUnqualified(),
            inner->getType()->getPointeeType()->getCanonicalTypeUnqualified()))
      return refuse(expr, "counts in elements of another type");
    llvm::Expected<AffineExpr> offset = valueOf(by);
    if (!offset)
      return offset.takeError();
    from->offset = from->offset + *offset * sign;
    return from;
  };
  if (const auto *both = dyn_cast<BinaryOperator>(inner);
      both && inner->getType()->isPointerType()) {
    if (both->getOpcode() == BO_Add && both->getRHS()->getType()->isPointerType())
      return moved(both->getRHS(), both->getLHS(), 1);
    if (both->getOpcode() == BO_Add || both->getOpcode() == BO_Sub)
      return moved(both->getLHS(), both->getRHS(), both->getOpcode() == BO_Add ? 1 : -1);
  }
  if (const auto *address = dyn_cast<UnaryOperator>(inner);
      address && address->getOpcode() == UO_AddrOf)
    if (const auto *element = dyn_cast<ArraySubscriptExpr>(address->getSubExpr()->IgnoreParens());
        element && element->getBase()->IgnoreParenImpCasts()->getType()->isPointerType())
      return moved(element->getBase(), element->getIdx(), 1);
  if (changes(inner) || isInside(inner)) {
    // What the loops declare has one value in each iteration: they assign nothing.
    const VarDecl *variable = ast::variableOf(inner);
    if (variable && variable->hasInit() && variable->getType()->isPointerType() &&
        inside.contains(variable))
      return pointerOf(variable->getInit());
    return refuse(expr, "is no array and a multiple of '" + loops.back().name() + "'");
  }
  if (!inner->getType()->isPointerType() || !isRepeatable(inner) ||
      writtenText(context, inner->getSourceRange()).empty())
    return refuse(expr, "is no pointer that can be passed again");
  return HostPointer{inner, none};
}
