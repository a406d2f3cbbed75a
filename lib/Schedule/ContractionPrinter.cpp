//===- ContractionPrinter.cpp - What all contraction kernels print ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "ContractionPrinter.h"
#include "Bounds.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using namespace mlir;

ContractionPrinter::ContractionPrinter(const Contraction &contraction,
                                       const ContractionShape &shape, StringRef name)
    : contraction(contraction), shape(shape), text(contraction.nest) {
  kernel.name = name.str();
  auto fresh = [&](const llvm::Twine &wanted) { return text.freshName(wanted.str()); };
  bm = fresh("BM"), bn = fresh("BN"), bk = fresh("BK"), tm = fresh("TM"), tn = fresh("TN"),
  threads = fresh("THREADS");
  row0 = fresh(contraction.row.name + "0"), column0 = fresh(contraction.column.name + "0");
  depth = contraction.depth.size() == 1 ? contraction.depth[0].name : fresh("depth");
  depth0 = fresh(depth + "0");
  rowOfThread = fresh(contraction.row.name + "OfThread"),
  columnOfThread = fresh(contraction.column.name + "OfThread");
  stage = fresh("stage"), slot = fresh("slot"), lane = fresh("lane"), warp = fresh("warp");
  at = fresh("at"), chunk = fresh("chunk"), step = fresh("step"), left = fresh("left");
  if (isSplit())
    split = fresh("SPLIT"), part = fresh("part"), firstTerm = fresh("firstTerm");
  auto index = [&](StringRef wanted, StringRef other) {
    std::string name = text.freshName(wanted);
    return name == wanted ? name : text.freshName(other);
  };
  i = index("i", "u"), j = index("j", "v");
  for (const ContractionTile &tile : contraction.tiles) {
    std::string base;
    collectIdentifiers(tile.operand.getBase().getName(),
                       [&](StringRef word) { base = word.str(); });
    NamedTile &named = tiles.emplace_back();
    named.tile = &tile, named.shared = fresh(base + "Tile"), named.registers = fresh(base + "Regs");
    named.next = shape.stages > 2 ? "" : fresh(base + "Next");
    named.from = fresh(base + "From"), named.apart = fresh(base + "Apart");
    named.side = fresh(base + (tile.isRow ? "Row" : "Column")), named.term = fresh(base + "Term");
  }
  for (const auto &[sum, type] : contraction.sums)
    sums[sum] = fresh(sum + "s");
  for (Operation *op : contraction.term)
    for (auto operand : operandsOf(op).getAsRange<kb::OperandAttr>())
      usesDepth |= !contraction.tileOf(operand);
  usesDepth |= bool(contraction.length);
  edge = contraction.length ? fresh("isEdge") : "";
  chooseWidths();
  for (NamedTile &tile : tiles) {
    // cp.async cannot transpose 16 bytes: such tiles keep their rows, and threads read four terms
    // of a row at once. All of them hold equally many: elements of one size.
    tile.isTransposed = shape.onMatrixUnits()
                            ? tile.isVector() && tile.tile->alongSide
                            : shape.stages <= 2 || !tile.isVector() || !tile.tile->alongDepth;
    (tile.tile->isRow ? rowsApart : columnsApart) |= !tile.isTransposed;
  }
  chooseWalks();
}

void ContractionPrinter::chooseWidths() {
  Block &body = text.nest().getBody().front();
  for (NamedTile &named : tiles) {
    const ContractionTile &tile = *named.tile;
    const NestDim &along =
        tile.alongDepth ? contraction.depth.back() : contraction.partsOf(tile.isRow).back();
    int64_t width = 16 / std::max<int64_t>(tile.operand.getBytes(), 1);
    named.terms = shape.onMatrixUnits() && shape.core != "tf32" ? 8 : 1;
    if (!shape.isVector || (tile.hasDigits && tile.alongSide) ||
        (!tile.alongDepth && !tile.alongSide) || width < 2 ||
        width > (shape.onMatrixUnits() ? 8 : 4))
      continue;
    kb::ExprAttr extent =
        tile.alongDepth && !tile.hasDigits ? contraction.dividedTerms() : along.extent;
    kb::OperandAttr moved = tile.hasDigits ? tile.operand : tile.flat;
    auto whole = multipleConditions(text.nest(), extent, "", width);
    Needs more = needs;
    for (const std::string &condition : whole.value_or(std::vector<std::string>()))
      more.expression(condition);
    if (!whole || !moved || !isVector(text, moved, body, along.name, width, &more))
      continue;
    needs = more;
    named.width = width, named.terms = 1;
  }
}

std::string ContractionPrinter::vectorOf(const NamedTile &tile) const {
  return vectorType(tile.tile->operand.getType(), 16);
}

static bool isPlainInt(CudaText &text, kb::ExprAttr expr) {
  if (expr.getConstant())
    return true;
  auto symbol = dyn_cast<AffineSymbolExpr>(expr.getExpr());
  if (!symbol || symbol.getPosition() < kb::firstNamedSymbol)
    return false;
  StringRef name = expr.getSymbols()[symbol.getPosition() - kb::firstNamedSymbol].getValue();
  for (auto known : text.nest().getSymbols().getAsRange<kb::SymbolAttr>())
    if (known.getName() == name)
      return known.getOrigin() == kb::SymbolOrigin::Param && known.getBits() == 32 &&
             known.getIsSigned() && CudaText::isAtom(name);
  return false;
}

std::string ContractionPrinter::extentOf(const NestDim &dim) {
  std::string extent = text.expression(dim.extent);
  if (isPlainInt(text, dim.extent))
    return extent;
  std::string name = text.freshName(dim.name + "Count");
  code.line("const int " + name + " = " + extent + ";");
  std::string host = hostExtent(dim);
  for (StringAttr symbol : dim.extent.getSymbols())
    for (auto known : text.nest().getSymbols().getAsRange<kb::SymbolAttr>())
      if (known.getName() == symbol.getValue() && (known.getBits() > 32 || !known.getIsSigned()))
        return needs.expression(host + " <= 2147483647"), name;
  return name;
}

std::string ContractionPrinter::hostExtent(const NestDim &dim) {
  std::string host = text.hostExpression(dim.extent);
  fails |= host.empty();
  return CudaText::isAtom(host) ? host : "(" + host + ")";
}

std::string ContractionPrinter::constants() const {
  auto is = [](StringRef name, int64_t value) {
    return name.str() + " = " + std::to_string(value) + ", ";
  };
  return is(bm, shape.bm) + is(bn, shape.bn) + is(bk, shape.bk) + is(tm, shape.tm) +
         is(tn, shape.tn) + (isSplit() ? is(split, shape.split) : "") + threads + " = " + bm +
         " / " + tm + " * (" + bn + " / " + tn + ")" + (isSplit() ? " * " + split : "");
}

std::string ContractionPrinter::rowAt(StringRef i) const {
  return row0 + " + " + rowOfThread + " + " + i.str() +
         (rowsApart ? " * 4" : " / 4 * 16 + " + i.str() + " % 4");
}

std::string ContractionPrinter::columnAt(StringRef j) const {
  return column0 + " + " + columnOfThread + " + " + j.str() +
         (columnsApart ? " * 8" : " / 4 * 32 + " + j.str() + " % 4");
}

std::string ContractionPrinter::sumAt(StringRef array, StringRef i, StringRef j) const {
  return (array + "[" + i + "][" + j + "]").str();
}

void ContractionPrinter::printThread() {
  std::string across = "(" + bn + " / (8 * " + tn + "))";
  std::string each = threads + " / " + split;
  code.line("const int " + lane + " = threadIdx.x % 32, " + warp + " = threadIdx.x / 32" +
            (isSplit() ? " % (" + each + " / 32)" : "") + "; // 4 x 8 lanes of a warp");
  if (isSplit())
    code.line("const int " + part + " = threadIdx.x / (" + each + "), " + firstTerm + " = " + part +
              " * (" + bk + " / " + split + "); // of the terms of a tile");
  code.line("const int " + rowOfThread + " = " + warp + " / " + across + " * (4 * " + tm + ") + " +
            lane + " / 8" + (rowsApart ? ";" : " * 4;"));
  code.line("const int " + columnOfThread + " = " + warp + " % " + across + " * (8 * " + tn +
            ") + " + lane + " % 8" + (columnsApart ? ";" : " * 4;"));
}

void ContractionPrinter::printTerm(llvm::function_ref<std::string(const NamedTile &)> registersOf) {
  bool byRow = contraction.length && dependsOn(contraction.length, contraction.row.name);
  bool byColumn = contraction.length && dependsOn(contraction.length, contraction.column.name);
  code.unroll().open("for (int " + i + " = 0; " + i + " < " + tm + "; ++" + i + ")");
  if (byRow)
    code.line("const int " + contraction.row.name + " = " + rowAt(i) + ";");
  code.unroll().open("for (int " + j + " = 0; " + j + " < " + tn + "; ++" + j + ")");
  if (byColumn)
    code.line("const int " + contraction.column.name + " = " + columnAt(j) + ";");
  if (contraction.length)
    code.open("if (" + edge + " && " + depth + " >= " + text.expression(contraction.length) + ")")
        .line("continue;")
        .close();
  StatementPrinter print{text, code};
  print.replaced = [&](kb::OperandAttr operand) -> std::string {
    for (const NamedTile &tile : tiles)
      if (tile.tile->operand == operand)
        return registersOf(tile);
    return "";
  };
  for (const auto &[sum, array] : sums)
    print.partial[sum] = sumAt(array, i, j);
  for (Operation *op : contraction.term)
    print.print(op);
  code.close().close();
}

/// The number of points of \p parts for the host, in size_t.
std::string ContractionPrinter::wideProduct(ArrayRef<NestDim> parts) {
  std::string product;
  for (const NestDim &part : parts)
    product += (product.empty() ? "(size_t)" : " * ") + hostExtent(part);
  return product;
}

void ContractionPrinter::addConditions() {
  SmallVector<kb::BaseAttr> stored, read;
  text.nest().walk([&](Operation *op) {
    for (kb::OperandAttr load : loadsOf(op))
      if (!llvm::is_contained(read, load.getBase()))
        read.push_back(load.getBase());
    if (auto store = dyn_cast<kb::StoreOp>(op);
        store && !llvm::is_contained(stored, store.getTarget().getBase()))
      stored.push_back(store.getTarget().getBase());
  });
  for (kb::BaseAttr to : stored)
    for (kb::BaseAttr from : read)
      if (to != from && mayOverlap(text.kernel(), to, from))
        needs.disjoint(to, from);
  if (stored.size() == 1)
    for (kb::BaseAttr base : llvm::concat<kb::BaseAttr>(stored, read))
      unaliased.insert(base.getName());
  for (kb::ExprAttr condition : contraction.launchConditions) {
    std::string host = text.hostExpression(condition);
    fails |= host.empty();
    needs.expression(host + " >= 0");
  }
  for (bool isRow : {true, false})
    if (ArrayRef<NestDim> parts = contraction.partsOf(isRow); parts.size() > 1) {
      const NestDim &side = isRow ? contraction.row : contraction.column;
      for (const NestDim &part : parts)
        if (!part.extent.getConstant())
          needs.expression(hostExtent(part) + " > 0");
      if (auto count = side.extent.getConstant())
        fails |= *count > mostPoints;
      else
        needs.expression(wideProduct(parts) + " <= 0x7fff0000"); // tiles round them up
    }
  // One number counts the terms of all loops, and the inner ones divide it.
  if (contraction.depth.size() > 1 && !contraction.termCount().getConstant()) {
    for (const NestDim &dim : contraction.depth)
      if (!dim.extent.getConstant())
        needs.expression(hostExtent(dim) + (&dim == &contraction.depth.front() ? " >= 0" : " > 0"));
    needs.expression(wideProduct(contraction.depth) + " <= 0x7fff0000"); // tables go on past them
  }
  std::vector<const NestDim *> dims;
  for (const NestDim *dim : {&contraction.row, &contraction.column})
    if (contraction.partsOf(dim == &contraction.row).size() == 1)
      dims.push_back(dim);
  for (const NestDim &dim : contraction.batch)
    dims.push_back(&dim);
  for (const NestDim *dim : dims)
    if (!dim->extent.getConstant())
      needs.expression(hostExtent(*dim) + " > 0");
}

llvm::Expected<GeneratedKernel> ContractionPrinter::finish(StringRef comment, int64_t blocks) {
  addConditions();
  auto tilesOf = [&](const NestDim &dim, int64_t size) {
    std::string extent = hostExtent(dim);
    if (llvm::none_of(extent, [](char c) { return StringRef("?/%").contains(c); }) &&
        extent.front() == '(')
      extent = extent.substr(1, extent.size() - 2); // a sum or a product
    return "(" + extent + " + " + std::to_string(size - 1) + ") / " + std::to_string(size);
  };
  kernel.gridX =
      tilesOf(contraction.row, shape.bm) + " * (" + tilesOf(contraction.column, shape.bn) + ")";
  for (const NestDim &dim : contraction.batch)
    kernel.gridX += " * " + hostExtent(dim);
  if (fails)
    return llvm::createStringError("an extent is only known on the device");
  kernel.blockX = std::to_string(shape.threads());
  kernel.extraParameters = text.extraParameters();
  kernel.reassociates |= isSplit();
  kernel.conditions = needs.conditions;
  kernel.threads = shape.threads();
  std::string header = text.nest().getHeader() ? text.nest().getHeader()->str() + "\n" : "";
  kernel.sharedBytes = shape.sharedBytes(contraction);
  kernel.estimatedRegisters = shape.registers(contraction);
  kernel.definition += comment.str() + header + "__global__ void __launch_bounds__(" +
                       std::to_string(shape.threads()) + ", " + std::to_string(blocks) + ")\n" +
                       kernel.name + "(" + text.parameters(unaliased) + ") {\n" + code.take() +
                       "}\n";
  return kernel;
}
