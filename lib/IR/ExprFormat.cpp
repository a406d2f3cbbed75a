//===- ExprFormat.cpp - Text form of expressions over the index space -----===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns printing and parsing of #kb.expr and #kb.domain with the names of the
// index space instead of d0 and s0, and their verification.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/IR/Kb.h"

using namespace mlir;

namespace kbopt::kb {
namespace {

/// Where a subexpression stands; decides about parentheses.
enum Strength { Sum, Product, Division };

void printExpr(llvm::raw_ostream &os, AffineExpr expr, ArrayRef<StringAttr> loops,
               ArrayRef<StringAttr> symbols, Strength context);

void collectAddends(AffineExpr expr, SmallVectorImpl<AffineExpr> &addends) {
  if (auto sum = dyn_cast<AffineBinaryOpExpr>(expr); sum && sum.getKind() == AffineExprKind::Add) {
    collectAddends(sum.getLHS(), addends);
    collectAddends(sum.getRHS(), addends);
    return;
  }
  addends.push_back(expr);
}

/// -expr if \p expr is a product with a negative number, or such a number.
AffineExpr negated(AffineExpr expr) {
  auto product = dyn_cast<AffineBinaryOpExpr>(expr);
  bool isProduct = product && product.getKind() == AffineExprKind::Mul;
  auto constant = dyn_cast<AffineConstantExpr>(isProduct ? product.getRHS() : expr);
  if (!constant || constant.getValue() >= 0 || constant.getValue() == INT64_MIN)
    return {};
  AffineExpr positive = getAffineConstantExpr(-constant.getValue(), expr.getContext());
  return isProduct ? product.getLHS() * positive : positive;
}

/// Addends with a plus first, so that `n - tid.x - 1` reads as one would write it.
void printSum(llvm::raw_ostream &os, AffineExpr expr, ArrayRef<StringAttr> loops,
              ArrayRef<StringAttr> symbols) {
  SmallVector<AffineExpr> all, addends;
  collectAddends(expr, all);
  for (bool negative : {false, true})
    for (AffineExpr addend : all)
      if (bool(negated(addend)) == negative)
        addends.push_back(addend);
  bool first = true;
  for (AffineExpr addend : addends) {
    AffineExpr positive = first ? AffineExpr() : negated(addend);
    os << (first ? "" : positive ? " - " : " + ");
    printExpr(os, positive ? positive : addend, loops, symbols, Product);
    first = false;
  }
}

void printExpr(llvm::raw_ostream &os, AffineExpr expr, ArrayRef<StringAttr> loops,
               ArrayRef<StringAttr> symbols, Strength context) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    os << dimName(dim.getPosition(), loops);
    return;
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    os << symbolName(symbol.getPosition(), symbols);
    return;
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    os << constant.getValue();
    return;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Strength own = expr.getKind() == AffineExprKind::Add   ? Sum
                 : expr.getKind() == AffineExprKind::Mul ? Product
                                                         : Division;
  bool parens = own == Sum ? context != Sum : own == Division || context == Division;
  if (parens)
    os << '(';
  if (own == Sum) {
    printSum(os, expr, loops, symbols);
  } else {
    printExpr(os, binary.getLHS(), loops, symbols, own);
    os << (own == Product                               ? " * "
           : expr.getKind() == AffineExprKind::Mod      ? " mod "
           : expr.getKind() == AffineExprKind::FloorDiv ? " floordiv "
                                                        : " ceildiv ");
    printExpr(os, binary.getRHS(), loops, symbols, Division);
  }
  if (parens)
    os << ')';
}

void printSpace(llvm::raw_ostream &os, ArrayRef<StringAttr> loops, ArrayRef<StringAttr> symbols) {
  auto list = [&](StringRef word, ArrayRef<StringAttr> names) {
    if (names.empty())
      return;
    os << word << " [";
    llvm::interleaveComma(names, os, [&](StringAttr name) { os << name.getValue(); });
    os << "] ";
  };
  list("over", loops);
  list("with", symbols);
  os << ": ";
}

ParseResult parseNames(AsmParser &parser, StringRef word, SmallVectorImpl<StringAttr> &names) {
  if (failed(parser.parseOptionalKeyword(word)))
    return success();
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    names.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  });
}

struct Space {
  SmallVector<StringAttr> loops, symbols;
  SmallVector<std::pair<StringRef, AffineExpr>> names;
};

ParseResult parseSpace(AsmParser &parser, Space &space) {
  if (parseNames(parser, "over", space.loops) || parseNames(parser, "with", space.symbols) ||
      parser.parseColon())
    return failure();
  MLIRContext *context = parser.getContext();
  for (unsigned i = 0; i < firstLoopDim + space.loops.size(); ++i)
    space.names.emplace_back(dimName(i, space.loops), getAffineDimExpr(i, context));
  for (unsigned i = 0; i < firstNamedSymbol + space.symbols.size(); ++i)
    space.names.emplace_back(symbolName(i, space.symbols), getAffineSymbolExpr(i, context));
  return success();
}

LogicalResult verifySpace(llvm::function_ref<InFlightDiagnostic()> emitError, unsigned dims,
                          unsigned symbols, size_t loopNames, size_t symbolNames) {
  if (dims != firstLoopDim + loopNames || symbols != firstNamedSymbol + symbolNames)
    return emitError() << "expression has " << dims << " dimensions and " << symbols
                       << " symbols, but its names make " << firstLoopDim + loopNames << " and "
                       << firstNamedSymbol + symbolNames;
  return success();
}

} // namespace

std::optional<int64_t> ExprAttr::getConstant() const {
  if (auto constant = dyn_cast<AffineConstantExpr>(getExpr()))
    return constant.getValue();
  return std::nullopt;
}

std::string ExprAttr::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  printExpr(os, getExpr(), getLoops(), getSymbols(), Sum);
  return text;
}

void ExprAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printSpace(printer.getStream(), getLoops(), getSymbols());
  printer << str() << '>';
}

Attribute ExprAttr::parse(AsmParser &parser, Type) {
  Space space;
  AffineExpr expr;
  if (parser.parseLess() || parseSpace(parser, space) ||
      parser.parseAffineExpr(space.names, expr) || parser.parseGreater())
    return {};
  auto map = AffineMap::get(firstLoopDim + space.loops.size(),
                            firstNamedSymbol + space.symbols.size(), expr);
  return parser.getChecked<ExprAttr>(parser.getContext(), ArrayRef(space.loops),
                                     ArrayRef(space.symbols), map);
}

LogicalResult ExprAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> loops, ArrayRef<StringAttr> symbols,
                               AffineMap map) {
  if (map.getNumResults() != 1)
    return emitError() << "expression has " << map.getNumResults() << " results, not one";
  return verifySpace(emitError, map.getNumDims(), map.getNumSymbols(), loops.size(),
                     symbols.size());
}

bool DomainAttr::isUnknown() const {
  IntegerSet set = getSet();
  return !getExact() && set.getNumConstraints() == 1 &&
         isa<AffineConstantExpr>(set.getConstraint(0));
}

DomainAttr DomainAttr::unknown(MLIRContext *context, ArrayRef<StringAttr> loops,
                               ArrayRef<StringAttr> symbols) {
  auto set = IntegerSet::get(firstLoopDim + loops.size(), firstNamedSymbol + symbols.size(),
                             getAffineConstantExpr(0, context), false);
  return get(context, loops, symbols, set, false);
}

void DomainAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::raw_ostream &os = printer.getStream();
  printSpace(os, getLoops(), getSymbols());
  IntegerSet set = getSet();
  if (isUnknown()) {
    printer << "unknown>";
    return;
  }
  for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
    if (i)
      os << ", ";
    printExpr(os, set.getConstraint(i), getLoops(), getSymbols(), Sum);
    os << (set.isEq(i) ? " == 0" : " >= 0");
  }
  if (getExact())
    os << " exact";
  os << '>';
}

Attribute DomainAttr::parse(AsmParser &parser, Type) {
  Space space;
  if (parser.parseLess() || parseSpace(parser, space))
    return {};
  if (succeeded(parser.parseOptionalKeyword("unknown")))
    return parser.parseGreater() ? DomainAttr()
                                 : unknown(parser.getContext(), space.loops, space.symbols);
  SmallVector<AffineExpr> constraints;
  SmallVector<bool> equalities;
  auto parseOne = [&] {
    AffineExpr expr;
    int64_t zero;
    if (parser.parseAffineExpr(space.names, expr))
      return failure();
    bool equality = succeeded(parser.parseOptionalEqual());
    if (equality ? failed(parser.parseEqual()) : (parser.parseGreater() || parser.parseEqual()))
      return failure();
    SMLoc where = parser.getCurrentLocation();
    if (parser.parseInteger(zero))
      return failure();
    if (zero != 0)
      return LogicalResult(parser.emitError(where, "conditions compare with 0"));
    constraints.push_back(expr);
    equalities.push_back(equality);
    return success();
  };
  if (parser.parseCommaSeparatedList(parseOne))
    return {};
  bool exact = succeeded(parser.parseOptionalKeyword("exact"));
  if (parser.parseGreater())
    return {};
  auto set = IntegerSet::get(firstLoopDim + space.loops.size(),
                             firstNamedSymbol + space.symbols.size(), constraints, equalities);
  return parser.getChecked<DomainAttr>(parser.getContext(), ArrayRef(space.loops),
                                       ArrayRef(space.symbols), set, exact);
}

LogicalResult DomainAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<StringAttr> loops, ArrayRef<StringAttr> symbols,
                                 IntegerSet set, bool exact) {
  return verifySpace(emitError, set.getNumDims(), set.getNumSymbols(), loops.size(),
                     symbols.size());
}

} // namespace kbopt::kb
