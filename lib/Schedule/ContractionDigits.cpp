//===- ContractionDigits.cpp - From term to term by their digits ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how a thread copies its row or column of a tile whose terms have several digits (channel and
// place in a window): the digits of the row or column are computed once, those of the term move on.
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "ContractionPrinter.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using namespace mlir;

static std::string asFactor(std::string text) {
  return CudaText::isAtom(text) ? text : "(" + text + ")";
}

std::string ContractionPrinter::zeroOf(const NamedTile &tile) {
  StringRef type = tile.tile->operand.getType();
  type.consume_front("const ");
  return type == "float"    ? "0.0f"
         : type == "double" ? "0.0"
         : type == "int"    ? "0"
                            : type.str() + "()";
}

/// Whether \p expr is computed in more than 32 bits.
static bool isWide(kb::NestOp nest, kb::ExprAttr expr) {
  for (auto [index, name] : llvm::enumerate(expr.getSymbols()))
    for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>())
      if (symbol.getName() == name.getValue() && symbol.getBits() > 32 &&
          expr.getExpr().isFunctionOfSymbol(kb::firstNamedSymbol + index))
        return true;
  return false;
}

/// The conditions of \p tile's element in the names of its digits. A value that must lie between
/// two bounds is compared once.
std::string ContractionPrinter::guardOf(const NamedTile &tile) {
  std::string all;
  auto add = [&](const std::string &one) { all += (all.empty() ? "" : " && ") + one; };
  std::vector<kb::ExprAttr> guards = tile.tile->guards;
  while (!guards.empty()) {
    kb::ExprAttr guard = guards.front();
    guards.erase(guards.begin());
    auto opposite = llvm::find_if(guards, [&](kb::ExprAttr other) {
      kb::ExprAttr range = combined(guard, 1, other, 0);
      return range.getExpr().isSymbolicOrConstant() && !text.hostExpression(range).empty();
    });
    if (opposite == guards.end()) {
      add(comparison(text, guard, false));
      continue;
    }
    kb::ExprAttr range = combined(guard, 1, *opposite, 0);
    // The shorter one of the two: `row` rather than `height - 1 - row`.
    std::string value = text.expression(guard), other = text.expression(*opposite);
    value = other.size() < value.size() ? other : value;
    if (!range.getConstant())
      needs.expression(text.hostExpression(range) + " >= 0");
    bool isNever = range.getConstant() && *range.getConstant() < 0;
    std::string type = isWide(text.nest(), guard) || isWide(text.nest(), *opposite)
                           ? "(unsigned long long)"
                           : "(unsigned)";
    kb::ExprAttr size = withExpr(range, range.getExpr() + 1);
    add(isNever ? "false"
                : type + asFactor(value) + " < " + type + asFactor(text.expression(size)));
    guards.erase(opposite);
  }
  return all;
}

/// The lambda that moves the digits of \p tile's term on to the next term of the thread.
void ContractionPrinter::printMove(const NamedTile &tile, kb::ExprAttr offset) {
  const std::vector<NestDim> &depth = contraction.depth;
  auto digit = [&](size_t k) { return tile.digits.at(depth[k].name); };
  auto extent = [&](size_t k) { return sizeOf(depth[k]); };
  auto gain = [&](size_t k) {
    kb::ExprAttr gain = gainAlong(offset, depth[k].name);
    return gain ? gain : withExpr(offset, getAffineConstantExpr(0, offset.getContext()));
  };
  // What the place gains when digit k begins anew and the one before it moves on.
  auto carry = [&](size_t k) {
    AffineExpr size = contraction.spread(depth[k].extent).getExpr();
    return text.offset(withExpr(offset, gain(k - 1).getExpr() - gain(k).getExpr() * size));
  };
  int64_t side = tile.tile->isRow ? shape.bm : shape.bn, apart = shape.threads() / side;
  size_t last = depth.size() - 1;
  code.line("auto " + tile.move + " = [&] {").indent();
  if (apart == 1) {
    code.line(tile.place + " += " + text.offset(gain(last)) + ";");
    for (size_t k = last; k > 0; --k) {
      code.open("if (++" + digit(k) + " == " + extent(k) + ")");
      code.line(digit(k) + " = 0;");
      if (std::string more = carry(k); more != "0")
        code.line(tile.place + " += " + more + ";");
    }
    if (!digit(0).empty())
      code.line("++" + digit(0) + ";");
    for (size_t k = last; k > 0; --k)
      code.close();
  } else {
    std::string inner;
    for (size_t k = depth.size(); k-- > 0;) {
      std::string each = tile.apart + (inner.empty() ? "" : " / " + asFactor(inner)),
                  step = k ? each + " % " + extent(k) : each;
      inner = inner.empty() ? extent(k) : extent(k) + " * " + inner;
      std::string more = text.offset(gain(k));
      bool isSum = more.find_first_of("+-") != std::string::npos;
      if (more != "0")
        code.line(tile.place + " += " + step +
                  (more == "1" ? "" : " * " + (isSum ? "(" + more + ")" : more)) + ";");
      if (digit(k).empty())
        continue;
      code.line(digit(k) + " += " + step + ";");
      if (!k)
        continue;
      code.open("if (" + digit(k) + " >= " + extent(k) + ")");
      code.line(digit(k) + " -= " + extent(k) + ";");
      if (std::string more = carry(k); more != "0")
        code.line(tile.place + " += " + more + ";");
      if (!digit(k - 1).empty())
        code.line("++" + digit(k - 1) + ";");
      code.close();
    }
  }
  code.outdent().line("};");
}

void ContractionPrinter::printDigitWalk(NamedTile &tile) {
  const ContractionTile &of = *tile.tile;
  std::string base = tile.from;
  StringRef(base).ends_with("From") ? base.resize(base.size() - 4) : void();
  auto nameFor = [&](StringRef dim) {
    std::string name = dim.str();
    name[0] = llvm::toUpper(name[0]);
    return text.freshName(base + name);
  };
  auto isGuarded = [&](StringRef dim) {
    return llvm::any_of(of.guards, [&](kb::ExprAttr guard) { return dependsOn(guard, dim); });
  };
  kb::ExprAttr offset = contraction.spread(of.operand.getOffset());

  std::string side = nameFor(sideName(of)), digits;
  code.line("const int " + side + " = min(" + side0(of) + " + " + tile.side + ", " +
            sideExtent(of) + " - 1);");
  ArrayRef<NestDim> parts = contraction.partsOf(of.isRow);
  for (const NestDim &part : parts)
    if (isGuarded(part.name) || dependsOn(offset, part.name))
      tile.digits[part.name] = parts.size() == 1 ? side : nameFor(part.name);
  if (parts.size() > 1)
    declareParts(of.isRow, side, [&](const NestDim &part) { return tile.digits[part.name]; });
  std::string inner;
  for (size_t k = contraction.depth.size(); k-- > 0;) {
    const NestDim &dim = contraction.depth[k];
    const std::string &extent = sizeOf(dim);
    std::string value =
        tile.term + (inner.empty() ? "" : " / " + asFactor(inner)) + (k ? " % " + extent : "");
    inner = inner.empty() ? extent : extent + " * " + inner;
    // The outermost digit is needed only where a condition asks for it.
    tile.digits[dim.name] = k || isGuarded(dim.name) ? nameFor(dim.name) : "";
    if (!tile.digits[dim.name].empty())
      digits = tile.digits[dim.name] + " = " + value + (digits.empty() ? "" : ", " + digits);
    text.setName(dim.name, tile.digits[dim.name].empty() ? value : tile.digits[dim.name]);
  }
  if (!digits.empty())
    code.line("int " + digits + ";");
  for (const NestDim &part : parts)
    text.setName(part.name, tile.digits[part.name]);
  tile.place = text.freshName(base + "At"), tile.move = text.freshName(base + "Move");
  bool isShort = text.fitsInt(offset) && llvm::all_of(contraction.depth, [&](const NestDim &dim) {
                   return std::abs(strideAlong(offset, dim.name).value_or(INT64_MAX)) < (1 << 24);
                 });
  code.line(std::string(isShort ? "int " : "size_t ") + tile.place + " = " + text.offset(offset) +
            ";");
  tile.guard = guardOf(tile);
  printMove(tile, offset);
  for (const NestDim &dim : llvm::concat<const NestDim>(parts, contraction.depth))
    text.setName(dim.name, dim.name);
}
