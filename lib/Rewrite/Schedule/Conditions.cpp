//===- Conditions.cpp - When a scheduled kernel may be launched ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Conditions.h"
#include "HostText.h"

using namespace kbopt;
using llvm::StringRef;
using mlir::AffineExpr;
using mlir::AffineExprKind;

namespace {

/// Prints affine expressions over symbols.
class Printer {
public:
  Printer(kb::ExprAttr space, kb::NestOp nest) : space(space), nest(nest) {}

  /// \p wide: the first operand is made 64 bits wide. \p factor: it is multiplied with what is as
  /// wide already.
  std::string print(AffineExpr expr, bool wide, bool factor = false) {
    if (auto number = mlir::dyn_cast<mlir::AffineConstantExpr>(expr))
      return (wide ? "(long long)" : "") + std::to_string(number.getValue());
    if (auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(expr))
      return printSymbol(symbol.getPosition(), wide, factor);
    auto binary = mlir::dyn_cast<mlir::AffineBinaryOpExpr>(expr);
    if (!binary) {
      failed = true; // a dimension
      return "";
    }
    switch (expr.getKind()) {
    case AffineExprKind::Mul: {
      auto number = mlir::dyn_cast<mlir::AffineConstantExpr>(binary.getRHS());
      if (number && number.getValue() == -1)
        return "-" + asOperand(print(binary.getLHS(), wide));
      return operand(binary.getLHS(), !factor, AffineExprKind::Mul, factor) + " * " +
             operand(binary.getRHS(), false, AffineExprKind::Mul, /*factor=*/true);
    }
    case AffineExprKind::Add: {
      std::string left = print(binary.getLHS(), true), right = print(binary.getRHS(), false);
      return StringRef(right).starts_with("-") ? left + " - " + right.substr(1)
                                               : left + " + " + right;
    }
    case AffineExprKind::Mod:
    case AffineExprKind::FloorDiv: {
      bool isMod = expr.getKind() == AffineExprKind::Mod;
      std::string left = operand(binary.getLHS(), hasNegative(binary.getLHS()), expr.getKind()),
                  right = operand(binary.getRHS(), false, expr.getKind());
      if (!hasNegative(binary.getLHS()))
        return left + (isMod ? " % " : " / ") + right;
      // C++ rounds towards zero.
      return isMod ? "(" + left + " % " + right + " + " + right + ") % " + right
                   : "(" + left + " >= 0 ? " + left + " / " + right + " : -((" + right + " - 1 - " +
                         left + ") / " + right + "))";
    }
    case AffineExprKind::CeilDiv: {
      std::string divisor = operand(binary.getRHS(), false, AffineExprKind::FloorDiv);
      return "(" + print(binary.getLHS(), true) + " + " + divisor + " - 1) / " + divisor;
    }
    default:
      failed = true;
      return "";
    }
  }

  bool failed = false;

private:
  /// Whether a term of \p expr is subtracted, so that it may be below 0.
  static bool hasNegative(AffineExpr expr) {
    auto binary = mlir::dyn_cast<mlir::AffineBinaryOpExpr>(expr);
    if (!binary)
      return mlir::isa<mlir::AffineConstantExpr>(expr) &&
             mlir::cast<mlir::AffineConstantExpr>(expr).getValue() < 0;
    bool isDivision =
        expr.getKind() == AffineExprKind::Mod || expr.getKind() == AffineExprKind::FloorDiv;
    return !isDivision && (hasNegative(binary.getLHS()) || hasNegative(binary.getRHS()));
  }

  std::string operand(AffineExpr expr, bool wide, AffineExprKind around, bool factor = false) {
    std::string text = print(expr, wide, factor);
    AffineExprKind kind = expr.getKind();
    bool isLeaf = mlir::isa<mlir::AffineSymbolExpr, mlir::AffineConstantExpr>(expr);
    return isLeaf || (kind == AffineExprKind::Mul && around == kind) ? text : "(" + text + ")";
  }

  std::string printSymbol(unsigned position, bool wide, bool factor) {
    if (position <
        kb::firstNamedSymbol) // unsigned: comparisons with what may be negative need more bits
      return std::string(factor ? "" : "(long long)") +
             (position < kb::gdimSymbol ? "blockDim." : "gridDim.") +
             std::string(1, "xyz"[position % 3]);
    StringRef name = kb::symbolName(position, space.getSymbols());
    for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>())
      if (symbol.getName() == name) {
        failed |= symbol.getOrigin() == kb::SymbolOrigin::Varying;
        wide |= !symbol.getIsSigned() && (symbol.getBits() > 32 || !factor);
      }
    return (wide ? "(long long)" : "") + asOperand(name);
  }

  kb::ExprAttr space;
  kb::NestOp nest;
};

/// The terms of a sum with their coefficients.
void addTerms(AffineExpr expr, int64_t factor, std::vector<std::pair<AffineExpr, int64_t>> &terms) {
  if (auto binary = mlir::dyn_cast<mlir::AffineBinaryOpExpr>(expr)) {
    if (expr.getKind() == AffineExprKind::Add) {
      addTerms(binary.getLHS(), factor, terms);
      return addTerms(binary.getRHS(), factor, terms);
    }
    if (expr.getKind() == AffineExprKind::Mul)
      if (auto number = mlir::dyn_cast<mlir::AffineConstantExpr>(binary.getRHS()))
        return addTerms(binary.getLHS(), factor * number.getValue(), terms);
  }
  terms.emplace_back(expr, factor);
}

} // namespace

std::optional<std::string> kbopt::hostText(kb::ExprAttr expr, kb::NestOp nest) {
  Printer printer(expr, nest);
  std::string text = printer.print(expr.getExpr(), false);
  return printer.failed ? std::nullopt : std::optional<std::string>(text);
}

std::optional<std::string> kbopt::atLeastZero(kb::ExprAttr requirement, kb::NestOp nest) {
  std::vector<std::pair<AffineExpr, int64_t>> terms;
  addTerms(requirement.getExpr(), 1, terms);
  Printer printer(requirement, nest);
  int64_t constant = 0;
  std::vector<std::pair<AffineExpr, int64_t>> more, less; // more >= less
  for (auto [expr, factor] : terms)
    if (auto number = mlir::dyn_cast<mlir::AffineConstantExpr>(expr))
      constant += factor * number.getValue();
    else if (factor > 0)
      more.emplace_back(expr, factor);
    else if (factor < 0)
      less.emplace_back(expr, -factor);
  // -(n mod 4) >= 0: n is a multiple of 4.
  if (more.empty() && constant == 0 && less.size() == 1 &&
      less[0].first.getKind() == AffineExprKind::Mod) {
    std::string text = printer.print(less[0].first, false);
    return printer.failed ? std::nullopt : std::optional<std::string>(text + " == 0");
  }
  auto side = [&](llvm::ArrayRef<std::pair<AffineExpr, int64_t>> parts, int64_t rest) {
    std::string text;
    bool wide = parts.size() + (rest != 0) > 1;
    for (auto [expr, factor] : parts) {
      AffineExpr scaled = factor == 1 ? expr : expr * factor;
      text += (text.empty() ? "" : " + ") + printer.print(scaled, wide && text.empty());
    }
    if (rest)
      text += (text.empty() ? "" : " + ") + std::to_string(rest);
    return text.empty() ? "0" : text;
  };
  std::string result;
  if (less.empty() && constant == -1)
    result = side(more, 0) + " > 0";
  else if (more.empty())
    result = side(less, 0) + " <= " + std::to_string(constant);
  else if (constant < 0)
    result = side(more, 0) + " >= " + side(less, -constant);
  else
    result = side(more, constant) + " >= " + side(less, 0);
  return printer.failed ? std::nullopt : std::optional<std::string>(result);
}
