//===- LaunchAlgebra.cpp - What a launch shows of its sizes ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LaunchAlgebra.h"
#include "HostText.h"
#include "LaunchOrder.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

auto LaunchAlgebra::constant(int64_t value) -> Polynomial {
  return value ? Polynomial{{{}, value}} : Polynomial{};
}

auto LaunchAlgebra::product(const Polynomial &a, const Polynomial &b) -> Polynomial {
  Polynomial result;
  for (const auto &[first, x] : a)
    for (const auto &[second, y] : b) {
      Monomial both = first;
      both.insert(both.end(), second.begin(), second.end());
      llvm::sort(both);
      if ((result[both] += x * y) == 0)
        result.erase(both);
    }
  return result;
}

auto LaunchAlgebra::sum(Polynomial a, const Polynomial &b, int64_t factor) -> Polynomial {
  for (const auto &[monomial, coefficient] : b)
    if ((a[monomial] += factor * coefficient) == 0)
      a.erase(monomial);
  return a;
}

std::optional<LaunchAlgebra::Polynomial> LaunchAlgebra::quotient(const Polynomial &dividend,
                                                                 const Polynomial &divisor) {
  if (divisor.size() != 1 || divisor.begin()->second != 1)
    return std::nullopt;
  const Monomial &factor = divisor.begin()->first;
  Polynomial result;
  for (const auto &[monomial, coefficient] : dividend) {
    if (!std::includes(monomial.begin(), monomial.end(), factor.begin(), factor.end()))
      return std::nullopt;
    Monomial rest;
    std::set_difference(monomial.begin(), monomial.end(), factor.begin(), factor.end(),
                        std::back_inserter(rest));
    result[rest] = coefficient;
  }
  return result;
}

std::optional<int64_t> LaunchAlgebra::constantOf(const Polynomial &polynomial) {
  if (polynomial.empty())
    return 0;
  if (polynomial.size() > 1 || !polynomial.begin()->first.empty())
    return std::nullopt;
  return polynomial.begin()->second;
}

auto LaunchAlgebra::namedLeaf(StringRef name) -> Polynomial {
  auto [found, isNew] = names.try_emplace(name.str());
  if (isNew)
    found->second = newLeaf();
  return found->second;
}

/// The same remainders are the same leaf.
auto LaunchAlgebra::remainder(const Polynomial &dividend, const Polynomial &divisor) -> Polynomial {
  auto [found, isNew] = remainders.try_emplace({dividend, divisor});
  if (isNew)
    found->second = newLeaf();
  return found->second;
}

/// \p throughVariable: \p expr initialises a variable, so that what it mentions may have changed
/// since.
auto LaunchAlgebra::ofHost(const Expr *expr, bool throughVariable) -> Polynomial {
  const ASTContext &ast = context.parsed().context();
  expr = ast::strip(expr);
  if (std::optional<int64_t> value = ast::constantOf(expr, ast))
    return constant(*value);
  if (!expr->getType()->isIntegralOrEnumerationType())
    return newLeaf();
  const FunctionDecl *host = launch.fact().host;
  if (const auto *binary = dyn_cast<BinaryOperator>(expr)) {
    auto left = [&] { return ofHost(binary->getLHS(), throughVariable); };
    auto right = [&] { return ofHost(binary->getRHS(), throughVariable); };
    // Unsigned arithmetic may wrap where that of the kernel does not.
    if (!binary->getType()->isSignedIntegerOrEnumerationType())
      return newLeaf();
    if (binary->getOpcode() == BO_Mul)
      return product(left(), right());
    if (binary->getOpcode() == BO_Add || binary->getOpcode() == BO_Sub)
      return sum(left(), right(), binary->getOpcode() == BO_Add ? 1 : -1);
    return newLeaf();
  }
  const VarDecl *variable = ast::variableOf(expr);
  if (!variable)
    return newLeaf();
  const Stmt *body = host ? host->getBody() : nullptr;
  bool isSettled = variable->getType().isConstQualified() ||
                   (variable->isLocalVarDeclOrParm() && !variable->isStaticLocal() && body &&
                    !mayModify(body, variable));
  if (!isSettled && throughVariable)
    return newLeaf();
  if (isSettled && variable->hasInit() && !isa<ParmVarDecl>(variable))
    if (const Expr *init = ast::strip(variable->getInit());
        init->getType()->isIntegralOrEnumerationType() &&
        ast.getIntWidth(init->getType()) <= ast.getIntWidth(variable->getType())) {
      Polynomial inner = ofHost(init, /*throughVariable=*/true);
      // A value of its own is the variable's.
      if (inner.size() != 1 || inner.begin()->first.size() != 1 ||
          inner.begin()->first[0] + 1 != leaves)
        return inner;
    }
  llvm::FoldingSetNodeID id;
  expr->Profile(id, ast, /*Canonical=*/true);
  for (const auto &[known, leaf] : expressions)
    if (known == id)
      return {{{leaf}, 1}};
  expressions.emplace_back(id, leaves);
  return newLeaf();
}

/// Whether \p configuration is a dim3 variable, which was made before the launch.
static bool isStored(const Expr *configuration) {
  const Expr *expr = ast::strip(configuration);
  while (const auto *construct = dyn_cast<CXXConstructExpr>(expr)) {
    if (construct->getNumArgs() == 0 || !construct->getConstructor()->isCopyOrMoveConstructor())
      return false;
    expr = ast::strip(construct->getArg(0));
  }
  return ast::variableOf(expr) && !expr->getType()->isIntegralOrEnumerationType();
}

/// Whether \p expr, a division that rounds up or a call that does it, is computed in int.
static bool isIntArithmetic(const Expr *expr, const ASTContext &ast) {
  if (const auto *call = dyn_cast<CallExpr>(ast::strip(expr))) {
    const FunctionDecl *callee = call->getDirectCallee();
    if (!callee || llvm::any_of(callee->parameters(), [&](const ParmVarDecl *parameter) {
          return !ast.hasSameUnqualifiedType(parameter->getType(), ast.IntTy);
        }))
      return false;
  }
  return ast.hasSameUnqualifiedType(ast::strip(expr)->getType(), ast.IntTy);
}

LaunchAlgebra::LaunchAlgebra(const PassContext &context, const LaunchText &launch)
    : context(context), launch(launch) {
  const FunctionDecl *host = launch.fact().host;
  for (unsigned dimension = 0; dimension < 3; ++dimension) {
    std::string component(1, "xyz"[dimension]);
    const LaunchText::Meaning *grid = launch.meaning("gridDim." + component);
    const LaunchText::Meaning *block = launch.meaning("blockDim." + component);
    bool storedBlock = isStored(launch.fact().block), storedGrid = isStored(launch.fact().grid);
    Polynomial extent = block->value  ? constant(*block->value)
                        : block->expr ? ofHost(block->expr, storedBlock)
                                      : newLeaf();
    names["blockDim." + component] = extent;
    if (grid->value) {
      names["gridDim." + component] = constant(*grid->value);
      continue;
    }
    Polynomial &blocks = names["gridDim." + component] = newLeaf();
    if (!grid->expr)
      continue;
    bool isEarlier = storedGrid || ast::variableOf(grid->expr);
    auto division = ast::ceilDivision(grid->expr, host, context.parsed().context());
    if (!division)
      blocks = ofHost(grid->expr, storedGrid);
    else if (sum(ofHost(division->size, isEarlier), extent, -1).empty())
      covers.push_back(
          {blocks.begin()->first[0], extent, ofHost(division->count, isEarlier),
           isIntArithmetic(ast::resolve(grid->expr, host), context.parsed().context())});
  }
}

auto LaunchAlgebra::ofName(StringRef name) -> Polynomial {
  if (auto found = names.find(name.str()); found != names.end())
    return found->second;
  const LaunchText::Meaning *meaning = launch.meaning(name);
  if (meaning && meaning->value)
    return constant(*meaning->value);
  if (meaning && meaning->expr && !meaning->narrows)
    return names[name.str()] = ofHost(meaning->expr, false);
  if (auto value = evaluate(name, [&](StringRef each) { return launch.value(each); }))
    return constant(*value);
  return namedLeaf(name);
}

auto LaunchAlgebra::ofMap(mlir::AffineExpr expr, kb::ExprAttr space) -> Polynomial {
  if (auto number = mlir::dyn_cast<mlir::AffineConstantExpr>(expr))
    return constant(number.getValue());
  if (auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(expr)) {
    unsigned position = symbol.getPosition();
    if (position < kb::firstNamedSymbol)
      return ofName((position < kb::gdimSymbol ? "blockDim." : "gridDim.") +
                    std::string(1, "xyz"[position % 3]));
    return ofName(kb::symbolName(position, space.getSymbols()));
  }
  auto binary = mlir::dyn_cast<mlir::AffineBinaryOpExpr>(expr);
  if (!binary)
    return newLeaf();
  Polynomial left = ofMap(binary.getLHS(), space), right = ofMap(binary.getRHS(), space);
  std::optional<int64_t> a = constantOf(left), b = constantOf(right);
  bool divides = a && b && *a >= 0 && *b > 0;
  switch (expr.getKind()) {
  case mlir::AffineExprKind::Add:
    return sum(left, right);
  case mlir::AffineExprKind::Mul:
    return product(left, right);
  case mlir::AffineExprKind::Mod:
    return divides                 ? constant(*a % *b)
           : quotient(left, right) ? constant(0)
                                   : remainder(left, right);
  case mlir::AffineExprKind::FloorDiv:
    if (auto exact = quotient(left, right))
      return *exact;
    return divides ? constant(*a / *b) : newLeaf();
  case mlir::AffineExprKind::CeilDiv:
    return divides ? constant((*a + *b - 1) / *b) : newLeaf();
  default:
    return newLeaf();
  }
}

/// A lower bound of \p polynomial in which grid times block is the count that it covers.
auto LaunchAlgebra::withCoveredGrid(Polynomial polynomial) -> Polynomial {
  for (const Cover &cover : covers) {
    if (cover.block.size() != 1)
      continue;
    const auto &[shape, size] = *cover.block.begin();
    Monomial whole = shape;
    whole.push_back(cover.grid);
    llvm::sort(whole);
    auto found = polynomial.find(whole);
    if (found == polynomial.end() || found->second < 0 || size <= 0 || found->second % size)
      continue;
    int64_t times = found->second / size;
    polynomial.erase(found);
    polynomial = sum(std::move(polynomial), cover.count, times);
  }
  return polynomial;
}

/// Whether \p polynomial is a constant, at least the greatest int, less grid times block.
bool LaunchAlgebra::isBoundedByInt(const Polynomial &polynomial) const {
  for (const Cover &cover : covers) {
    if (!cover.isInt || cover.block.size() != 1)
      continue;
    const auto &[shape, size] = *cover.block.begin();
    Monomial whole = shape;
    whole.push_back(cover.grid);
    llvm::sort(whole);
    auto found = polynomial.find(whole);
    if (found == polynomial.end() || found->second != -size)
      continue;
    Polynomial rest = polynomial;
    rest.erase(whole);
    if (std::optional<int64_t> bound = constantOf(rest); bound && *bound >= INT32_MAX)
      return true;
  }
  return false;
}

std::optional<bool> LaunchAlgebra::holds(kb::ExprAttr requirement) {
  Polynomial value = ofMap(requirement.getExpr(), requirement);
  if (std::optional<int64_t> exact = constantOf(value))
    return *exact >= 0;
  if (std::optional<int64_t> least = constantOf(withCoveredGrid(value)); least && *least >= 0)
    return true;
  return isBoundedByInt(value) ? std::optional<bool>(true) : std::nullopt;
}

bool LaunchAlgebra::isTested(kb::ExprAttr requirement) {
  Polynomial wanted = ofMap(requirement.getExpr(), requirement);
  auto shows = [&](const Polynomial &more, const Polynomial &less, int64_t atLeast) {
    // wanted == more - less + c, where more - less >= atLeast.
    std::optional<int64_t> rest = constantOf(sum(wanted, sum(more, less, -1), -1));
    return rest && *rest + atLeast >= 0;
  };
  return llvm::any_of(testedBefore(context, launch.fact().call), [&](const Expr *each) {
    const auto *comparison = dyn_cast<BinaryOperator>(each->IgnoreParenImpCasts());
    if (!comparison || !comparison->isComparisonOp() ||
        !comparison->getLHS()->getType()->isSignedIntegerOrEnumerationType())
      return false;
    Polynomial left = ofHost(comparison->getLHS(), false),
               right = ofHost(comparison->getRHS(), false);
    switch (comparison->getOpcode()) {
    case BO_GT:
      return shows(left, right, 1);
    case BO_GE:
      return shows(left, right, 0);
    case BO_LT:
      return shows(right, left, 1);
    case BO_LE:
      return shows(right, left, 0);
    case BO_EQ:
      // C++ and affine maps agree on which remainders are 0, not on those of negative numbers.
      if (const auto *rest = dyn_cast<BinaryOperator>(comparison->getLHS()->IgnoreParenImpCasts());
          rest && rest->getOpcode() == BO_Rem && right.empty() &&
          rest->getType()->isSignedIntegerOrEnumerationType())
        left = remainder(ofHost(rest->getLHS(), false), ofHost(rest->getRHS(), false));
      return shows(left, right, 0) || shows(right, left, 0);
    default:
      return false;
    }
  });
}
