//===- ContractionPosition.cpp - Which outputs a block computes -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns where a block's tile of outputs lies in the nest: its batch, rows and columns, the
// dimensions that these number, and how many terms its sums have.
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "ContractionPrinter.h"

using namespace kbopt;
using namespace mlir;

void ContractionPrinter::declareSizes() {
  auto declare = [&](ArrayRef<NestDim> dims) {
    for (const NestDim &dim : dims)
      if (dims.size() > 1)
        sizes[dim.name] = CudaText::isAtom(text.expression(dim.extent))
                              ? text.expression(dim.extent)
                              : extentOf(dim);
  };
  declare(contraction.partsOf(true)), declare(contraction.partsOf(false)),
      declare(contraction.depth);
}

/// How many rows or columns there are, as a name or number; declares one if it is longer.
std::string ContractionPrinter::sideCount(bool isRow) {
  const NestDim &side = isRow ? contraction.row : contraction.column;
  if (contraction.partsOf(isRow).size() == 1)
    return extentOf(side);
  if (auto count = side.extent.getConstant())
    return std::to_string(*count);
  std::string product, name = text.freshName(side.name + "s");
  for (const NestDim &part : contraction.partsOf(isRow))
    product += (product.empty() ? "" : " * ") + sizeOf(part);
  code.line("const int " + name + " = " + product + ";");
  return name;
}

void ContractionPrinter::declareParts(bool isRow, StringRef side,
                                      llvm::function_ref<std::string(const NestDim &)> nameOf) {
  ArrayRef<NestDim> parts = contraction.partsOf(isRow);
  std::string inner, all; // the points that share the parts so far
  for (size_t k = parts.size(); k-- > 0;) {
    const std::string &extent = sizeOf(parts[k]);
    std::string name = nameOf(parts[k]);
    std::string value = side.str();
    if (!inner.empty())
      value += " / " + (inner.find(' ') != std::string::npos ? "(" + inner + ")" : inner);
    if (k > 0)
      value += " % " + extent;
    if (!name.empty())
      all = name + " = " + value + (all.empty() ? "" : ", " + all);
    inner = inner.empty() ? extent : extent + " * " + inner;
  }
  if (!all.empty())
    code.line("const int " + all + ";");
}

void ContractionPrinter::declareSide(bool isRow, const llvm::Twine &value) {
  const std::string &name = isRow ? contraction.row.name : contraction.column.name;
  code.line("const int " + name + " = " + value + ";");
  if (contraction.partsOf(isRow).size() > 1)
    declareParts(isRow, name, [](const NestDim &part) { return part.name; });
}

void ContractionPrinter::printDigits() {
  if (contraction.depth.size() == 1)
    return;
  std::string rest = depth;
  for (size_t k = contraction.depth.size(); k-- > 0;) {
    const NestDim &dim = contraction.depth[k];
    const std::string &extent = sizeOf(dim);
    code.line("const int " + dim.name + " = " + rest + (k ? " % " + extent : "") + ";");
    rest += " / " + extent;
  }
}

/// The batch of this block and its tile, of \p tiles in each batch.
void ContractionPrinter::printBatch(const std::string &tiles, bool isLongestFirst,
                                    std::string &tile) {
  std::string batch = "blockIdx.x / (" + tiles + ")", inBatch = "blockIdx.x % (" + tiles + ")";
  if (isLongestFirst) {
    std::string each = "blockIdx.x";
    if (!contraction.batch.empty()) {
      std::string batches = text.freshName("batches");
      code.line("const int " + batches + " = gridDim.x / (" + tiles + ");");
      batch = "blockIdx.x % " + batches;
      each += " / " + batches;
    }
    inBatch = tiles + " - 1 - " + each;
  }
  for (size_t k = contraction.batch.size(); k-- > 0;) {
    const NestDim &dim = contraction.batch[k];
    std::string extent = k ? extentOf(dim) : "";
    code.line("const int " + dim.name + " = " + batch + (k ? " % " + extent : "") + ";");
    batch += " / " + extent;
  }
  if (contraction.batch.empty() && !isLongestFirst)
    return;
  tile = text.freshName("tile");
  code.line("const int " + tile + " = " + inBatch + ";" +
            (isLongestFirst ? " // the longest sums first" : ""));
}

void ContractionPrinter::printPosition() {
  code.line("constexpr int " + constants() + ";");
  declareSizes();
  rows = sideCount(true), columns = sideCount(false);
  std::string product;
  for (const NestDim &dim : contraction.depth)
    product += (product.empty() ? "" : " * ") +
               (contraction.depth.size() == 1 ? extentOf(dim) : sizeOf(dim));
  length = product;
  if (contraction.depth.size() > 1) {
    length = text.freshName("length");
    code.line("const int " + length + " = " + product + ";");
  }
  std::string across = text.freshName("columnTiles"), tile = "blockIdx.x";
  code.line("const int " + across + " = (" + columns + " + " + bn + " - 1) / " + bn + ";");
  // Where sums grow from row to row, blocks with the longest ones begin first: none of them is left
  // alone at the end.
  std::optional<int64_t> growth =
      contraction.length ? strideAlong(contraction.length, contraction.row.name) : 0;
  bool isLongestFirst = growth && *growth > 0;
  if (!contraction.batch.empty() || shape.group > 1 || isLongestFirst) {
    std::string down = text.freshName("rowTiles");
    code.line("const int " + down + " = (" + rows + " + " + bm + " - 1) / " + bm + ";");
    printBatch(across + " * " + down, isLongestFirst, tile);
    if (shape.group > 1) {
      std::string size = text.freshName("GROUP"), first = text.freshName("firstRow"),
                  many = text.freshName("groupRows"), in = text.freshName("inGroup");
      code.line("constexpr int " + size + " = " + llvm::Twine(shape.group) +
                "; // rows of tiles whose blocks run together");
      code.line("const int " + first + " = " + tile + " / (" + size + " * " + across + ") * " +
                size + ", " + in + " = " + tile + " % (" + size + " * " + across + "), " + many +
                " = min(" + down + " - " + first + ", " + size + ");");
      code.line("const int " + row0 + " = (" + first + " + " + in + " % " + many + ") * " + bm +
                ", " + column0 + " = " + in + " / " + many + " * " + bn + ";");
    }
  }
  if (shape.group <= 1)
    code.line("const int " + row0 + " = " + tile + " / " + across + " * " + bm + ", " + column0 +
              " = " + tile + " % " + across + " * " + bn + ";");
  printLimits();
  StatementPrinter print{text, code};
  for (kb::LetOp let : contraction.shared)
    print.print(let);
}

/// \p expr at the corner of the tile where it is largest or smallest.
std::string ContractionPrinter::corner(kb::ExprAttr expr, bool largest) {
  auto place = [&](const NestDim &dim, StringRef first, StringRef size, StringRef extent) {
    std::optional<int64_t> gain = strideAlong(expr, dim.name);
    bool atEnd = gain && *gain != 0 && (*gain > 0) == largest;
    // The last row is one less than min(row0 + BM, M): written into the expression, which then
    // often needs no "- 1".
    if (atEnd)
      expr = combined(expr, 0, expr, -*gain);
    text.setName(dim.name,
                 atEnd ? "min(" + first.str() + " + " + size.str() + ", " + extent.str() + ")"
                       : first.str());
  };
  place(contraction.row, row0, bm, rows);
  place(contraction.column, column0, bn, columns);
  return text.expression(expr);
}

void ContractionPrinter::printLimits() {
  limit = full = length;
  const std::string &row = contraction.row.name, &column = contraction.column.name;
  std::string most = length;
  if (contraction.length) {
    most = corner(contraction.length, true), full = text.freshName(depth + "Full");
    code.line("const int " + full + " = " + corner(contraction.length, false) +
              "; // terms that all outputs of the tile have");
  }
  for (kb::ExprAttr condition : contraction.conditions) {
    // A block whose tile has no point.
    std::optional<int64_t> byRow = directionAlong(condition, row),
                           byColumn = directionAlong(condition, column);
    text.setName(row, byRow && *byRow > 0 ? row0 + " + " + bm + " - 1" : row0);
    text.setName(column, byColumn && *byColumn > 0 ? column0 + " + " + bn + " - 1" : column0);
    std::string isEmpty = comparison(text, condition, true);
    if (contraction.besideBefore.empty() && contraction.besideAfter.empty())
      code.open("if (" + isEmpty + ")").line("return;").close();
    else
      most = isEmpty + " ? 0 : " + most;
  }
  text.setName(row, row), text.setName(column, column);
  if (most != length) {
    limit = text.freshName(depth + "Limit");
    code.line("const int " + limit + " = " + most + ";");
    full = contraction.length ? full : limit;
  }
}
