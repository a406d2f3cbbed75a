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

/// Declares which places of the window do not exist for the thread's row or column, a bit for each.
void ContractionPrinter::printMask(NamedTile &tile, ArrayRef<const NestDim *> masked,
                                   std::string &bits) {
  std::string shift;
  if (tile.tile->guards.empty()) {
    bits = "0u";
    return;
  }
  const std::string outside = tile.outside + (tile.tile->alongSide ? "" : "[" + chunk + "]");
  code.line((tile.tile->alongSide ? "unsigned " : "") + outside +
            " = 1u << 31; // places of the window that do not exist, by dimension");
  std::vector<kb::ExprAttr> others = tile.tile->guards;
  for (const NestDim *dim : masked) {
    std::vector<kb::ExprAttr> own;
    llvm::copy_if(tile.tile->guards, std::back_inserter(own),
                  [&](kb::ExprAttr guard) { return dependsOn(guard, dim->name); });
    llvm::erase_if(others, [&](kb::ExprAttr guard) { return llvm::is_contained(own, guard); });
    std::string place = shift.empty() ? dim->name : "(" + shift + " + " + dim->name + ")";
    code.open("for (int " + dim->name + " = 0; " + dim->name + " < " + sizeOf(*dim) + "; ++" +
              dim->name + ")");
    code.open("if (!(" + guardText(own) + "))")
        .line(outside + " |= 1u << " + place + ";")
        .close()
        .close();
    bits = joined(bits, "1u << " + place, " | ");
    shift = joined(shift, sizeOf(*dim), " + ");
  }
  if (!others.empty())
    code.open("if (!(" + guardText(others) + "))").line(outside + " = ~0u;").close();
  bits = bits.empty() ? "1u" : bits;
}

void ContractionPrinter::declareShared(StringRef type, StringRef name, const std::string &extents,
                                       StringRef comment) {
  if (dynamicMemory.empty()) {
    code.line("__shared__ __align__(16) " + type + " " + name + extents + ";" + comment);
    return;
  }
  code.line("auto &" + name + " = *reinterpret_cast<" + type + " (*)" + extents + ">(" +
            dynamicMemory + ");" + comment);
  dynamicMemory += (" + sizeof(" + name + ")").str();
}

/// Adds to \p needs that no factor in \p expr, a part of \p whole, is negative; false if one is.
static bool requireNotNegative(CudaText &text, kb::ExprAttr whole, AffineExpr expr, Needs &needs) {
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return number.getValue() >= 0;
  if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
      binary && (expr.getKind() == AffineExprKind::Add || expr.getKind() == AffineExprKind::Mul))
    return requireNotNegative(text, whole, binary.getLHS(), needs) &&
           requireNotNegative(text, whole, binary.getRHS(), needs);
  std::string host = text.hostExpression(withExpr(whole, expr));
  needs.expression(host + " >= 0");
  return !host.empty();
}

/// Whether the distances \p apart between terms fit an int, for which the launch tests sizes that
/// are not known.
bool ContractionPrinter::fitsInt(kb::ExprAttr apart) {
  if (text.fitsInt(apart))
    return true;
  Needs more = needs;
  for (const NestDim &dim : contraction.depth) {
    kb::ExprAttr gain = gainAlong(apart, dim.name);
    if (!gain || !requireNotNegative(text, gain, gain.getExpr(), more))
      return false;
    AffineExpr last = inSpace(dim.extent, apart.getLoops(), apart.getSymbols()).getExpr() - 1;
    apart = withDim(apart, dim.name, last);
  }
  std::string most = text.hostExpression(apart, /*wide=*/true);
  if (most.empty())
    return false;
  more.expression(most + " <= 2147483647");
  needs = more;
  return true;
}

/// The lambda that describes the terms of one tile, from the first one on.
void ContractionPrinter::printTable(NamedTile &tile, kb::ExprAttr apart, const std::string &bits) {
  std::string first = text.freshName("first"), at = "[" + slot + "][threadIdx.x]";
  tile.hasIntPlaces = fitsInt(apart);
  declareShared(tile.hasIntPlaces ? "int" : "size_t", tile.place, "[2][" + bk + "]");
  if (tile.digits.empty())
    declareShared("unsigned", tile.bits, "[2][" + bk + "]");
  for (const auto &[dim, array] : tile.digits)
    declareShared("int", array, "[2][" + bk + "]");
  code.line("auto " + tile.describe + " = [&](int " + slot + ", int " + first + ") {").indent();
  code.open("if (threadIdx.x >= " + bk + ")").line("return;").close();
  code.line("const int " + depth + " = " + first + " + threadIdx.x;");
  printDigits();
  std::string distance = text.offset(apart);
  code.line(tile.place + at + " = " +
            (tile.hasIntPlaces && distance.find("size_t") != std::string::npos
                 ? "(int)(" + distance + ")"
                 : distance) +
            ";");
  if (tile.digits.empty())
    code.line(tile.bits + at + " = " + depth + " < " + length + " ? " + bits + " : 1u << 31;");
  for (const auto &[dim, array] : tile.digits)
    code.line(array + at + " = " + dim + ";");
  code.outdent().line("};");
}

std::string ContractionPrinter::loadAt(const NamedTile &tile, const llvm::Twine &address) {
  StringRef type = tile.tile->operand.getType();
  type.consume_front("const ");
  bool isKnown = llvm::is_contained(
      {"float", "double", "int", "unsigned int", "half", "__half", "__nv_bfloat16"}, type);
  return ((isKnown ? "__ldg(" : "*(") + address + ")").str();
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

  tile.place = nameFor("place"), tile.bits = nameFor("bits"), tile.outside = nameFor("outside"),
  tile.describe = nameFor("describe");
  std::string side = nameFor(sideName(of)), pointer = "const " + of.operand.getType().str() + " *",
              from = tile.from + (of.alongSide ? "" : "[" + chunk + "]");
  if (!of.alongSide) {
    code.line(pointer + tile.from + "[" + perThread(tile) + "];");
    if (!of.guards.empty())
      code.line("unsigned " + tile.outside + "[" + perThread(tile) + "];");
    openTileLoop(tile);
  }
  code.line("const int " + side + " = min(" + side0(of) + " + " + placeOf(tile).first + ", " +
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
  code.line((of.alongSide ? pointer : "") + from + " = &" +
            text.elementAt(of.operand, text.offset(start)) + ";");
  code.line("asm(\"\" : \"+l\"(" + from + ")); // nvcc would add it up anew for each element");
  std::string place = placeOf(tile).second + (tile.isSingle() ? " + " + tile.element : ""),
              term = "[" + slot + "][" + place + "]", bits;
  auto masked = maskedDigits(tile);
  if (masked) {
    printMask(tile, *masked, bits);
    std::string wanted = tile.bits + term;
    std::string outside = tile.outside + (of.alongSide ? "" : "[" + chunk + "]");
    tile.guard = (of.guards.empty() ? wanted : "(" + outside + " & " + wanted + ")") + " == 0";
  }
  if (!masked) {
    for (const NestDim &dim : contraction.depth)
      if (llvm::any_of(of.guards, [&](kb::ExprAttr guard) { return dependsOn(guard, dim.name); }))
        text.setName(dim.name, (tile.digits[dim.name] = nameFor(dim.name)) + term);
    tile.guard = place + " < " + left + " && " + guardText(of.guards);
    for (const auto &[dim, array] : tile.digits)
      text.setName(dim, dim);
  }
  if (!of.alongSide)
    code.close();
  kb::ExprAttr apart = combined(offset, -1, start, 0);
  printTable(tile, apart, bits);
  for (const NestDim &part : parts)
    text.setName(part.name, part.name);
}
