//===- ContractionSides.cpp - Rows, columns and terms as one number ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns which dimensions of a nest a row or a column numbers (the pixels of all images), and which
// tiles move on by one stride where a term has several digits.
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "Contraction.h"

using namespace kbopt;
using namespace mlir;

bool Contraction::isPlain() const {
  return depth.size() == 1 && rowParts.empty() && columnParts.empty() && !leavesOut &&
         llvm::all_of(tiles, [](const ContractionTile &tile) { return tile.guards.empty(); });
}

bool Contraction::isConvolution() const {
  return depth.size() > 1 || rowParts.size() > 2 || columnParts.size() > 2 ||
         llvm::any_of(tiles, [](const ContractionTile &tile) { return !tile.guards.empty(); });
}

kb::ExprAttr Contraction::spread(kb::ExprAttr expr) const {
  SmallVector<StringAttr> loops, symbols;
  for (const NestDim &dim :
       llvm::concat<const NestDim>(partsOf(true), partsOf(false), batch, depth))
    loops.push_back(StringAttr::get(expr.getContext(), dim.name));
  kb::NestOp op = nest;
  for (auto symbol : op.getSymbols().getAsRange<kb::SymbolAttr>())
    symbols.push_back(StringAttr::get(expr.getContext(), symbol.getName()));
  return inSpace(expr, loops, symbols);
}

kb::ExprAttr Contraction::termCount() const {
  kb::ExprAttr product = spread(depth.front().extent);
  for (const NestDim &dim : llvm::drop_begin(depth))
    product = withExpr(product, product.getExpr() * spread(dim.extent).getExpr());
  return product;
}

kb::ExprAttr Contraction::dividedTerms() const {
  kb::ExprAttr count = termCount();
  auto channels = llvm::find_if(depth, [&](const NestDim &dim) {
    return llvm::none_of(tiles, [&](const ContractionTile &tile) {
      return llvm::any_of(tile.guards,
                          [&](kb::ExprAttr guard) { return dependsOn(guard, dim.name); });
    });
  });
  return count.getConstant()       ? count
         : channels != depth.end() ? channels->extent
                                   : depth.front().extent;
}

bool Contraction::dependsOnSide(kb::ExprAttr expr, bool isRow) const {
  return llvm::any_of(partsOf(isRow),
                      [&](const NestDim &part) { return dependsOn(expr, part.name); });
}

bool kbopt::isPhase(const NestDim &dim, ArrayRef<Operation *> term) {
  constexpr int64_t few = 64;
  return dim.extent.getConstant().value_or(few + 1) <= few &&
         llvm::any_of(term, [&](Operation *op) {
           return llvm::any_of(operandsOf(op).getAsRange<kb::OperandAttr>(),
                               [&](kb::OperandAttr operand) {
                                 return dependsOn(operand.getOffset(), dim.name) &&
                                        !gainAlong(operand.getOffset(), dim.name);
                               });
         });
}

void kbopt::joinSides(ArrayRef<NestDim> parallel, Contraction &contraction) {
  if (contraction.selectsPoints() || contraction.length)
    return;
  const std::string row = contraction.row.name, column = contraction.column.name;
  CudaText names(contraction.nest);
  for (bool isRow : {true, false}) {
    NestDim &side = isRow ? contraction.row : contraction.column;
    const std::string last = side.name;
    std::vector<NestDim> parts;
    for (const NestDim &dim : parallel) {
      if (dim.name == row || dim.name == column)
        continue;
      bool isOwn = false, isOther = false;
      for (Operation *op : contraction.term)
        for (auto operand : operandsOf(op).getAsRange<kb::OperandAttr>())
          if (dependsOn(operand.getOffset(), dim.name))
            (dependsOn(operand.getOffset(), last) ? isOwn : isOther) = true;
      if (isOwn && !isOther && !isPhase(dim, contraction.term))
        parts.push_back(dim);
    }
    if (parts.empty())
      continue;
    llvm::erase_if(contraction.batch, [&](const NestDim &dim) {
      return llvm::any_of(parts, [&](const NestDim &part) { return part.name == dim.name; });
    });
    parts.push_back(side); // the one with unit stride
    for (NestDim &part : parts)
      part.extent = inSpace(part.extent, side.extent.getLoops(), side.extent.getSymbols());
    kb::ExprAttr product = parts.front().extent;
    for (const NestDim &part : llvm::drop_begin(parts))
      product = withExpr(product, product.getExpr() * part.extent.getExpr());
    side = {names.freshName("point"), product};
    (isRow ? contraction.rowParts : contraction.columnParts) = std::move(parts);
  }
}

/// \p tile's operand where the innermost dimension of the sum counts all terms; null if there is no
/// such stride.
static kb::OperandAttr flatOperand(const Contraction &contraction, const ContractionTile &tile) {
  const std::vector<NestDim> &depth = contraction.depth;
  if (depth.size() == 1)
    return tile.operand;
  kb::ExprAttr offset = contraction.spread(tile.operand.getOffset());
  kb::ExprAttr inner;
  for (size_t k = depth.size(); k-- > 0;) {
    kb::ExprAttr gain = gainAlong(offset, depth[k].name);
    if (!gain)
      return {};
    if (k + 1 < depth.size()) {
      AffineExpr extent = contraction.spread(depth[k + 1].extent).getExpr();
      if (!areEqual(gain.getExpr(), inner.getExpr() * extent))
        return {};
      offset = withDim(offset, depth[k].name, getAffineConstantExpr(0, offset.getContext()));
    }
    inner = gain;
  }
  return kb::OperandAttr::get(tile.operand.getContext(), tile.operand.getKind(),
                              tile.operand.getBase(), tile.operand.getType(),
                              tile.operand.getBytes(), offset, {}, {});
}

/// Whether neighbouring terms of \p tile, whose terms have digits, lie side by side and exist
/// alike: the channels of a pixel, where they are the innermost dimension. The conditions must fit
/// a word with a bit for each place.
static bool hasRunsOfTerms(const Contraction &contraction, const ContractionTile &tile) {
  constexpr int64_t mostBits = 31;
  StringRef inner = contraction.depth.back().name;
  if (!tile.hasDigits || strideAlong(tile.operand.getOffset(), inner) != 1)
    return false;
  int64_t bits = 0;
  for (const NestDim &dim : contraction.depth)
    if (llvm::any_of(tile.guards, [&](kb::ExprAttr guard) { return dependsOn(guard, dim.name); }))
      bits += dim.extent.getConstant().value_or(1);
  return bits <= mostBits && llvm::all_of(tile.guards, [&](kb::ExprAttr guard) {
           return !dependsOn(guard, inner) &&
                  llvm::count_if(contraction.depth, [&](const NestDim &dim) {
                    return dependsOn(guard, dim.name);
                  }) <= 1;
         });
}

/// Moves the channels of a pixel to the end of the terms, where they lie side by side.
static void sortTerms(Contraction &contraction) {
  for (const ContractionTile &tile : contraction.tiles)
    for (const NestDim &dim : llvm::drop_end(contraction.depth))
      if (!tile.flat && strideAlong(tile.operand.getOffset(), dim.name) == 1 &&
          llvm::none_of(tile.guards,
                        [&](kb::ExprAttr guard) { return dependsOn(guard, dim.name); })) {
        auto *at = &contraction.depth[&dim - contraction.depth.data()];
        std::rotate(at, at + 1, contraction.depth.data() + contraction.depth.size());
        return;
      }
}

void kbopt::orderTerms(Contraction &contraction) {
  sortTerms(contraction);
  flattenTiles(contraction);
}

void kbopt::flattenTiles(Contraction &contraction) {
  for (ContractionTile &tile : contraction.tiles) {
    StringRef side = contraction.partsOf(tile.isRow).back().name;
    auto isShort = [&](StringRef dim) {
      constexpr int64_t longest = 8; // elements between neighbours
      auto stride = strideAlong(tile.operand.getOffset(), dim);
      return stride && std::abs(*stride) <= longest;
    };
    tile.flat = tile.guards.empty() ? flatOperand(contraction, tile) : kb::OperandAttr();
    tile.alongDepth =
        tile.flat && strideAlong(tile.flat.getOffset(), contraction.depth.back().name) == 1;
    tile.hasDigits = !tile.flat && llvm::all_of(contraction.depth, [&](const NestDim &dim) {
      return !dependsOn(tile.operand.getOffset(), dim.name) ||
             gainAlong(tile.operand.getOffset(), dim.name);
    });
    if (hasRunsOfTerms(contraction, tile))
      tile.alongDepth = true; // channels of a pixel
    // Elsewhere a thread copies a single row or column where terms have digits.
    tile.alongSide = !tile.alongDepth &&
                     (!tile.flat || isShort(side) || !isShort(contraction.depth.back().name));
  }
}
