//===- ContractionDigits.cpp - Tiles whose terms have several digits --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how a thread copies its row or column of a tile whose terms have several digits (channel and
// place in a window). The digits of its row or column are computed once. Those of the terms are
// computed once for a block, one tile ahead, and wait in a table.
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

static std::string joined(const std::string &all, const llvm::Twine &one, StringRef with) {
  return all + (all.empty() ? "" : with.str()) + one.str();
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

/// \p guards as a condition. A value that must lie between two bounds is compared once.
std::string ContractionPrinter::guardText(std::vector<kb::ExprAttr> guards) {
  std::string all;
  while (!guards.empty()) {
    kb::ExprAttr guard = guards.front();
    guards.erase(guards.begin());
    auto opposite = llvm::find_if(guards, [&](kb::ExprAttr other) {
      kb::ExprAttr range = combined(guard, 1, other, 0);
      return range.getExpr().isSymbolicOrConstant() && !text.hostExpression(range).empty();
    });
    if (opposite == guards.end()) {
      all = joined(all, comparison(text, guard, false), " && ");
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
    std::string one =
        isNever ? "false" : type + asFactor(value) + " < " + type + asFactor(text.expression(size));
    all = joined(all, one, " && ");
    guards.erase(opposite);
  }
  return all;
}

/// The dimensions of the sum on which \p tile's conditions depend, if each condition depends on one
/// of them at most and a word has a bit for each value of each of them, and one more.
std::optional<std::vector<const NestDim *>>
ContractionPrinter::maskedDigits(const NamedTile &tile) {
  constexpr int64_t mostBits = 31;
  std::vector<const NestDim *> masked;
  int64_t bits = 0;
  std::string unknown;
  for (const NestDim &dim : contraction.depth) {
    auto dependsOnIt = [&](kb::ExprAttr guard) { return dependsOn(guard, dim.name); };
    if (llvm::none_of(tile.tile->guards, dependsOnIt))
      continue;
    masked.push_back(&dim);
    if (auto extent = dim.extent.getConstant())
      bits += *extent;
    else if (std::string host = hostExtent(dim); !host.empty())
      unknown = joined(unknown, (unknown.empty() ? "(size_t)" : "") + host, " + ");
  }
  for (kb::ExprAttr guard : tile.tile->guards)
    if (llvm::count_if(masked, [&](const NestDim *dim) { return dependsOn(guard, dim->name); }) > 1)
      return std::nullopt;
  if (bits > mostBits)
    return std::nullopt;
  if (!unknown.empty())
    needs.expression(unknown + " <= " + std::to_string(mostBits - bits));
  return masked;
}

/// Declares which places of the window exist for the thread's row or column, a bit for each.
void ContractionPrinter::printMask(NamedTile &tile, ArrayRef<const NestDim *> masked,
                                   std::string &bits) {
  std::string shift;
  if (tile.tile->guards.empty()) {
    bits = "1u";
    return;
  }
  code.line("unsigned " + tile.inside + " = " + (masked.empty() ? "1" : "0") + ";" +
            (masked.empty() ? "" : " // places of the window that exist, by dimension"));
  std::vector<kb::ExprAttr> others = tile.tile->guards;
  for (const NestDim *dim : masked) {
    std::vector<kb::ExprAttr> own;
    llvm::copy_if(tile.tile->guards, std::back_inserter(own),
                  [&](kb::ExprAttr guard) { return dependsOn(guard, dim->name); });
    llvm::erase_if(others, [&](kb::ExprAttr guard) { return llvm::is_contained(own, guard); });
    std::string place = shift.empty() ? dim->name : "(" + shift + " + " + dim->name + ")";
    code.open("for (int " + dim->name + " = 0; " + dim->name + " < " + sizeOf(*dim) + "; ++" +
              dim->name + ")");
    code.open("if (" + guardText(own) + ")")
        .line(tile.inside + " |= 1u << " + place + ";")
        .close()
        .close();
    bits = joined(bits, "1u << " + place, " | ");
    shift = joined(shift, sizeOf(*dim), " + ");
  }
  if (!others.empty())
    code.open("if (!(" + guardText(others) + "))").line(tile.inside + " = 0;").close();
  bits = bits.empty() ? "1u" : bits;
}

/// The lambda that describes the terms of one tile, from the first one on.
void ContractionPrinter::printTable(const NamedTile &tile, kb::ExprAttr apart,
                                    const std::string &bits) {
  std::string first = text.freshName("first"), at = "[" + slot + "][threadIdx.x]";
  code.line("__shared__ __align__(16) size_t " + tile.place + "[2][" + bk + "];");
  if (tile.digits.empty())
    code.line("__shared__ __align__(16) unsigned " + tile.bits + "[2][" + bk + "];");
  for (const auto &[dim, array] : tile.digits)
    code.line("__shared__ __align__(16) int " + array + "[2][" + bk + "];");
  code.line("auto " + tile.describe + " = [&](int " + slot + ", int " + first + ") {").indent();
  code.open("if (threadIdx.x >= " + bk + ")").line("return;").close();
  code.line("const int " + depth + " = " + first + " + threadIdx.x;");
  printDigits();
  code.line(tile.place + at + " = " + text.offset(apart) + ";");
  if (tile.digits.empty())
    code.line(tile.bits + at + " = " + depth + " < " + length + " ? " + bits + " : 1u << 31;");
  for (const auto &[dim, array] : tile.digits)
    code.line(array + at + " = " + dim + ";");
  code.outdent().line("};");
}

void ContractionPrinter::printDescribe(const llvm::Twine &half, const llvm::Twine &first) {
  std::string arguments = "(" + half.str() + ", " + first.str() + ");";
  for (const NamedTile &tile : tiles)
    if (tile.hasDigits)
      code.line(tile.describe + arguments);
}

void ContractionPrinter::printDigitCopies(NamedTile &tile) {
  const ContractionTile &of = *tile.tile;
  std::string base = StringRef(tile.from).drop_back(StringRef("From").size()).str();
  auto nameFor = [&](StringRef word) {
    std::string name = word.str();
    name[0] = llvm::toUpper(name[0]);
    return text.freshName(base + name);
  };
  kb::ExprAttr offset = contraction.spread(of.operand.getOffset()), start = offset;
  for (const NestDim &dim : contraction.depth)
    start = withDim(start, dim.name, getAffineConstantExpr(0, start.getContext()));

  std::string side = nameFor(sideName(of));
  code.line("const int " + side + " = min(" + side0(of) + " + " + tile.side + ", " +
            sideExtent(of) + " - 1);");
  ArrayRef<NestDim> parts = contraction.partsOf(of.isRow);
  std::map<std::string, std::string> names;
  for (const NestDim &part : parts)
    if (dependsOn(offset, part.name) ||
        llvm::any_of(of.guards, [&](kb::ExprAttr guard) { return dependsOn(guard, part.name); }))
      names[part.name] = parts.size() == 1 ? side : nameFor(part.name);
  if (parts.size() > 1)
    declareParts(of.isRow, side, [&](const NestDim &part) { return names[part.name]; });
  for (const NestDim &part : parts)
    text.setName(part.name, names[part.name]);
  code.line("const " + of.operand.getType().str() + " *const " + tile.from + " = &" +
            text.elementAt(of.operand, text.offset(start)) + ";");

  tile.place = nameFor("place"), tile.bits = nameFor("bits"), tile.inside = nameFor("inside"),
  tile.describe = nameFor("describe");
  std::string term = "[" + slot + "][" + placeOf(tile).second + "]", bits;
  auto masked = maskedDigits(tile);
  if (masked) {
    printMask(tile, *masked, bits);
    std::string wanted = tile.bits + term;
    tile.guard = of.guards.empty() ? wanted + " == 1"
                                   : "(" + tile.inside + " & " + wanted + ") == " + wanted;
  }
  if (!masked) {
    for (const NestDim &dim : contraction.depth)
      if (llvm::any_of(of.guards, [&](kb::ExprAttr guard) { return dependsOn(guard, dim.name); }))
        text.setName(dim.name, (tile.digits[dim.name] = nameFor(dim.name)) + term);
    tile.guard = placeOf(tile).second + " < " + left + " && " + guardText(of.guards);
    for (const auto &[dim, array] : tile.digits)
      text.setName(dim, dim);
  }
  kb::ExprAttr apart = combined(offset, -1, start, 0);
  printTable(tile, apart, bits);
  for (const NestDim &part : parts)
    text.setName(part.name, part.name);
}
