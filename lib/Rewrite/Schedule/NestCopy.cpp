//===- NestCopy.cpp - Raised statements in another nest ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "NestCopy.h"
#include "HostText.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using analysis::Poly;
using analysis::VarId;
using llvm::StringRef;
using mlir::AffineExpr;
using mlir::AffineExprKind;

//===-- Polynomials --------------------------------------------------------===//

VarId NamedPolys::id(StringRef name) {
  auto [found, isNew] = ids.try_emplace(name, next);
  next += isNew;
  return found->second;
}

Poly NamedPolys::polyOf(kb::ExprAttr expr) { return polyOf(expr.getExpr(), expr); }

Poly NamedPolys::polyOf(AffineExpr expr, kb::ExprAttr space) {
  if (auto number = mlir::dyn_cast<mlir::AffineConstantExpr>(expr))
    return Poly::constant(number.getValue());
  if (auto dim = mlir::dyn_cast<mlir::AffineDimExpr>(expr))
    return Poly::variable(id(kb::dimName(dim.getPosition(), space.getLoops())));
  if (auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(expr)) {
    StringRef name = kb::symbolName(symbol.getPosition(), space.getSymbols());
    if (auto value = values.find(name); value != values.end())
      return value->second;
    auto constant = constants.find(name);
    return constant == constants.end() ? Poly::variable(id(name))
                                       : Poly::constant(constant->second);
  }
  auto binary = mlir::cast<mlir::AffineBinaryOpExpr>(expr);
  Poly left = polyOf(binary.getLHS(), space), right = polyOf(binary.getRHS(), space);
  if (expr.getKind() == AffineExprKind::Add)
    return left + right;
  if (expr.getKind() == AffineExprKind::Mul)
    return left * right;
  if (left.isConstant() && right.isConstant() && right.constantTerm() > 0 &&
      left.constantTerm() >= 0) {
    int64_t a = left.constantTerm(), b = right.constantTerm();
    return Poly::constant(expr.getKind() == AffineExprKind::Mod       ? a % b
                          : expr.getKind() == AffineExprKind::CeilDiv ? (a + b - 1) / b
                                                                      : a / b);
  }
  Division division{left, right, unsigned(expr.getKind())};
  for (const auto &[known, variable] : divisions)
    if (known == division)
      return Poly::variable(variable);
  divisions.emplace_back(division, next);
  return Poly::variable(next++);
}

std::vector<std::string> NamedPolys::namesIn(const Poly &poly, llvm::ArrayRef<std::string> names) {
  std::vector<std::string> found;
  for (const std::string &name : names)
    if (poly.contains(id(name)))
      found.push_back(name);
  return found;
}

bool NamedPolys::dividesAny(const Poly &poly, llvm::ArrayRef<std::string> names) {
  return llvm::any_of(divisions, [&](const auto &each) {
    if (!poly.contains(each.second))
      return false;
    const Division division = each.first;
    return !namesIn(division.dividend, names).empty() ||
           !namesIn(division.divisor, names).empty() || dividesAny(division.dividend, names) ||
           dividesAny(division.divisor, names);
  });
}

//===-- Expressions --------------------------------------------------------===//

static std::optional<unsigned> positionOf(llvm::ArrayRef<mlir::StringAttr> names, StringRef name) {
  for (unsigned i = 0; i < names.size(); ++i)
    if (names[i].getValue() == name)
      return i;
  return std::nullopt;
}

AffineExpr NestCopier::symbolNamed(StringRef name) {
  auto position = positionOf(symbols, name);
  assert(position && "every symbol is declared before statements are copied");
  return mlir::getAffineSymbolExpr(kb::firstNamedSymbol + *position, context);
}

AffineExpr NestCopier::dimNamed(StringRef name) {
  auto position = positionOf(dims, name);
  assert(position && "the dimension is around what is copied");
  return mlir::getAffineDimExpr(kb::firstLoopDim + *position, context);
}

AffineExpr NestCopier::inNewSpace(AffineExpr expr, llvm::ArrayRef<mlir::StringAttr> loops,
                                  llvm::ArrayRef<mlir::StringAttr> names) {
  llvm::SmallVector<AffineExpr> newDims, newSymbols;
  for (unsigned i = 0; i < kb::firstLoopDim + loops.size(); ++i) {
    AffineExpr dim = mlir::getAffineConstantExpr(0, context); // no nest uses tid or bid
    if (i >= kb::firstLoopDim)
      if (auto found = dimensions.find(loops[i - kb::firstLoopDim].getValue());
          found != dimensions.end())
        dim = found->second;
    newDims.push_back(dim);
  }
  for (unsigned i = 0; i < kb::firstNamedSymbol + names.size(); ++i) {
    StringRef name = kb::symbolName(i, names);
    AffineExpr value =
        expr.isFunctionOfSymbol(i) ? symbol(name) : mlir::getAffineConstantExpr(0, context);
    if (!value)
      value = i < kb::firstNamedSymbol ? mlir::getAffineSymbolExpr(i, context)
                                       : symbolNamed(words(name));
    newSymbols.push_back(value);
  }
  return expr.replaceDimsAndSymbols(newDims, newSymbols);
}

kb::ExprAttr NestCopier::expression(AffineExpr expr) {
  auto map = mlir::AffineMap::get(kb::firstLoopDim + dims.size(),
                                  kb::firstNamedSymbol + symbols.size(), expr);
  return kb::ExprAttr::get(context, dims, symbols, map);
}

kb::ExprAttr NestCopier::expression(kb::ExprAttr expr) {
  return expression(inNewSpace(expr.getExpr(), expr.getLoops(), expr.getSymbols()));
}

kb::DomainAttr NestCopier::domain(kb::DomainAttr domain) {
  llvm::SmallVector<AffineExpr> constraints;
  for (AffineExpr each : domain.getSet().getConstraints())
    constraints.push_back(inNewSpace(each, domain.getLoops(), domain.getSymbols()));
  auto set =
      mlir::IntegerSet::get(kb::firstLoopDim + dims.size(), kb::firstNamedSymbol + symbols.size(),
                            constraints, domain.getSet().getEqFlags());
  return kb::DomainAttr::get(context, dims, symbols, set, domain.getExact());
}

kb::OperandAttr NestCopier::operand(kb::OperandAttr operand) {
  kb::BaseAttr base = operand.getBase();
  if (operand.getKind() == kb::OperandKind::Element && base.getKind() == kb::BaseKind::Argument)
    base = kb::BaseAttr::get(context, base.getKind(), words(base.getName()), base.getArgument(),
                             base.getByteOffset());
  llvm::SmallVector<kb::ExprAttr> indices, strides;
  for (kb::ExprAttr each : operand.getIndices())
    indices.push_back(expression(each));
  for (kb::ExprAttr each : operand.getStrides())
    strides.push_back(expression(each));
  return kb::OperandAttr::get(context, operand.getKind(), base, words(operand.getType()),
                              operand.getBytes(), expression(operand.getOffset()), indices,
                              strides);
}

std::string NestCopier::words(StringRef text) {
  // `%a` and `%b` of a combination are no names.
  auto [first, rest] = text.split('%');
  std::string result = replaceNames(first, rename);
  while (first.size() < text.size()) {
    bool isPart = rest.starts_with("a") || rest.starts_with("b");
    result += "%" + rest.take_front(isPart).str();
    text = rest.drop_front(isPart);
    std::tie(first, rest) = text.split('%');
    result += replaceNames(first, rename);
  }
  return result;
}

//===-- Statements ---------------------------------------------------------===//

std::pair<std::string, mlir::ArrayAttr> NestCopier::filled(StringRef text, mlir::ArrayAttr operands,
                                                           mlir::Operation *op) {
  llvm::SmallVector<mlir::Attribute> kept;
  std::vector<std::string> holes;
  for (auto each : operands.getAsRange<kb::OperandAttr>()) {
    kb::OperandAttr copy = operand(each);
    if (std::optional<std::string> scalar = scalarFor(copy, op)) {
      holes.push_back(*scalar);
      continue;
    }
    holes.push_back("$" + std::to_string(kept.size()));
    kept.push_back(copy);
  }
  std::string result;
  while (!text.empty()) {
    size_t at = text.find('$');
    result += words(text.substr(0, at));
    if (at == StringRef::npos)
      break;
    StringRef digits = text.substr(at + 1).take_while(llvm::isDigit);
    unsigned hole = 0;
    digits.getAsInteger(10, hole);
    result += holes[hole];
    text = text.substr(at + 1 + digits.size());
  }
  return {result, mlir::ArrayAttr::get(context, kept)};
}

void NestCopier::enter(StringRef name, kb::ExprAttr extent, kb::LoopOrder order, bool team,
                       StringRef oldName, StringRef runs) {
  auto over = kb::OverOp::create(builder, builder.getUnknownLoc(), name, extent, order, team,
                                 runs.empty() ? mlir::StringAttr() : builder.getStringAttr(runs));
  outside.push_back(builder.getInsertionBlock());
  builder.setInsertionPointToEnd(&over.getBody().emplaceBlock());
  dimensions[oldName] = mlir::getAffineDimExpr(kb::firstLoopDim + dims.size(), context);
  dims.push_back(builder.getStringAttr(name));
}

void NestCopier::leave() {
  builder.setInsertionPointToEnd(outside.back());
  outside.pop_back();
  dims.pop_back();
}

void NestCopier::copy(mlir::Block &block) {
  for (mlir::Operation &op : block)
    if (keeps(&op))
      copy(&op);
}

void NestCopier::copy(mlir::Operation *op) {
  before(op);
  mlir::Location place = builder.getUnknownLoc();
  auto text = [&](mlir::StringAttr words, mlir::ArrayAttr operands) {
    return filled(words.getValue(), operands, op);
  };
  if (auto let = mlir::dyn_cast<kb::LetOp>(op)) {
    auto [value, operands] = text(let.getTextAttr(), let.getOperands());
    kb::LetOp::create(builder, place, words(let.getName()), words(let.getType()), value, operands,
                      let.getReassigns());
  } else if (auto when = mlir::dyn_cast<kb::WhenOp>(op)) {
    auto [value, operands] = text(when.getTextAttr(), when.getOperands());
    auto copied = kb::WhenOp::create(
        builder, place, when.getDomain() ? domain(*when.getDomain()) : kb::DomainAttr(), value,
        operands);
    mlir::Block *around = builder.getInsertionBlock();
    builder.setInsertionPointToEnd(&copied.getBody().emplaceBlock());
    copy(when.getBody().front());
    builder.setInsertionPointToEnd(around);
  } else if (auto over = mlir::dyn_cast<kb::OverOp>(op)) {
    enter(words(over.getName()), expression(over.getExtent()), over.getOrder(), over.getTeam(),
          over.getName(), over.getText() ? words(*over.getText()) : "");
    copy(over.getBody().front());
    leave();
  } else if (auto reduce = mlir::dyn_cast<kb::ReduceOp>(op)) {
    auto [value, operands] = text(reduce.getTextAttr(), reduce.getOperands());
    kb::ReduceOp::create(builder, place, words(reduce.getName()), reduce.getReduction(),
                         words(reduce.getCombine()), words(reduce.getIdentity()), value, operands);
  } else if (auto store = mlir::dyn_cast<kb::StoreOp>(op)) {
    auto [value, operands] = text(store.getTextAttr(), store.getOperands());
    kb::StoreOp::create(builder, place, operand(store.getTarget()), value, operands,
                        store.getAtomicAttr());
  }
  after(op);
}
