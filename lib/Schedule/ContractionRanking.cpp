//===- ContractionRanking.cpp - Which tile is best ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ContractionRanking.h"
#include "kb-opt/Schedule/OwnArch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;
using namespace mlir;

namespace {

/// What a tile reaches on large sizes, as a share of cuBLAS (measured on an H200), with 16 bytes
/// per access and with single elements.
struct MeasuredTile {
  int64_t bm, bn, bk, tm, tn, stages;
  double efficiency, scalar;
  int64_t split = 1;
};
/// On matrix units, tm x tn is a warp's tile; relative to the rest as half products are.
constexpr int64_t groupOnMatrixUnits =
    4; // rows of tiles (measured: 1, 8 and 16 are up to 1 % slower)
constexpr MeasuredTile onMatrixUnits[] = {
    {128, 256, 64, 64, 64, 4, 8.92, 0},  {256, 128, 64, 64, 64, 3, 8.81, 0},
    {128, 128, 64, 64, 64, 3, 8.83, 0},  {128, 64, 64, 64, 32, 3, 7.37, 0},
    {64, 128, 64, 64, 32, 3, 7.20, 0},   {64, 128, 64, 32, 64, 3, 7.16, 0},
    {64, 64, 64, 32, 32, 4, 5.85, 0},    {32, 64, 64, 32, 32, 4, 5.15, 0, 2},
    {32, 32, 64, 32, 32, 4, 4.20, 0, 4}, {16, 64, 64, 16, 64, 4, 3.30, 0, 4},
};
/// By wgmma, four warps of a block have a tile of 64 x bn (measured on an H100). The second figure
/// is for a right operand whose columns are neighbours in memory: wgmma is then slower with 256
/// columns.
constexpr int64_t groupOnWgmma = 8; // measured: 4 is up to 2 % slower, 16 the same
constexpr MeasuredTile byWgmma[] = {
    {128, 256, 64, 64, 256, 4, 14.0, 12.8}, {256, 128, 64, 64, 128, 4, 13.7, 13.7},
    {128, 128, 64, 64, 128, 3, 12.6, 12.7}, {128, 64, 64, 64, 64, 4, 9.4, 9.4},
    {64, 128, 64, 64, 128, 3, 9.1, 9.1},    {64, 64, 64, 64, 64, 3, 8.3, 8.3},
};
/// The same with tiles that tensor maps describe (measured on an H200).
constexpr MeasuredTile byTma[] = {
    {256, 128, 64, 64, 128, 4, 14.1, 14.1}, {128, 256, 64, 64, 256, 4, 14.0, 14.0},
    {128, 192, 64, 64, 192, 5, 14.1, 14.3}, {128, 128, 64, 64, 128, 6, 13.6, 13.9},
    {128, 64, 64, 64, 64, 8, 9.5, 9.5},
};
/// Of convolutions on matrix units, with weights 16 bytes at a time and with single elements: the
/// inverse times of 128 filters of 3 x 3, dilated by 2, on 32 images of 64 x 56 x 56.
constexpr MeasuredTile convolutions[] = {
    {128, 64, 64, 64, 32, 3, 5.00, 3.25},   {128, 256, 64, 64, 64, 3, 4.46, 0},
    {128, 128, 64, 64, 64, 3, 4.37, 0},     {64, 128, 64, 32, 64, 3, 4.19, 0},
    {64, 128, 64, 64, 32, 3, 4.07, 3.08},   {64, 64, 64, 32, 32, 3, 4.05, 3.00},
    {128, 128, 64, 64, 32, 3, 3.86, 3.44},  {64, 64, 64, 32, 32, 4, 3.39, 0},
    {64, 64, 64, 32, 32, 4, 3.22, 0, 2},    {32, 128, 64, 32, 32, 3, 2.84, 0},
    {32, 64, 64, 32, 32, 4, 2.08, 1.87, 2},
};
/// What single elements leave of the rate of other products, as of convolutions.
constexpr double shareOfSingles = 0.75;
/// Of floats that are rounded to tf32.
constexpr MeasuredTile inTf32[] = {
    {128, 256, 32, 64, 64, 3, 3.7, 0}, {128, 128, 32, 64, 64, 3, 3.5, 0},
    {128, 64, 32, 64, 32, 3, 3.0, 0},  {64, 128, 32, 32, 64, 3, 3.0, 0},
    {64, 64, 32, 32, 32, 3, 2.5, 0},
};
constexpr MeasuredTile measured[] = {
    {64, 128, 16, 8, 8, 2, 0.94, 0.86},   {128, 128, 8, 16, 8, 2, 0.93, 0.87},
    {128, 64, 16, 8, 8, 2, 0.91, 0.88},   {256, 128, 8, 16, 8, 2, 0.91, 0.87},
    {128, 128, 8, 8, 8, 2, 0.89, 0.74},   {64, 128, 32, 8, 8, 3, 0.86, 0.77},
    {64, 64, 32, 8, 4, 3, 0.84, 0.74, 2}, {64, 128, 16, 8, 4, 2, 0.84, 0.81},
    {64, 64, 32, 8, 4, 3, 0.83, 0.74},    {64, 64, 16, 8, 4, 2, 0.82, 0.76},
    {128, 64, 32, 8, 4, 3, 0.81, 0.73},   {64, 64, 32, 8, 8, 3, 0.81, 0.70},
    {64, 64, 16, 8, 4, 2, 0.80, 0.70, 2}, {32, 64, 32, 4, 8, 3, 0.80, 0.64, 2},
    {64, 64, 32, 4, 8, 4, 0.79, 0.68},    {32, 64, 32, 4, 8, 3, 0.77, 0.66},
    {64, 64, 16, 4, 8, 2, 0.74, 0.74},    {32, 64, 32, 4, 4, 3, 0.74, 0.60},
    {32, 32, 32, 4, 4, 3, 0.72, 0.53},    {32, 64, 32, 4, 8, 3, 0.72, 0.55, 4},
    {32, 32, 32, 4, 4, 3, 0.70, 0.51, 2}, {16, 32, 32, 4, 4, 3, 0.69, 0.44},
    {32, 64, 32, 4, 4, 3, 0.66, 0.56, 2}, {64, 64, 16, 4, 4, 2, 0.64, 0.64},
    {32, 32, 32, 4, 4, 3, 0.64, 0.49, 4}, {16, 32, 32, 4, 4, 3, 0.62, 0.43, 4},
    {32, 64, 16, 4, 4, 2, 0.62, 0.60},    {32, 32, 16, 4, 4, 2, 0.55, 0.54},
    {16, 32, 16, 4, 4, 2, 0.49, 0.45},
};

/// How many outputs a launch has.
struct OutputCounts {
  int64_t rows = 1, columns = 1, batches = 1;
};

/// A part of a size (a head of an attention) is small, and there are several of them.
constexpr int64_t partOfSize = 64, partsOfSize = 4;
bool isPartOfSize(kb::ExprAttr extent, const LaunchSizes &sizes) {
  return !valueOf(extent, sizes) && extent.getExpr().getKind() == AffineExprKind::FloorDiv;
}

/// Channels of a convolution, which are few beside its pixels.
constexpr int64_t channelCount = 64;

/// Whether elements of the rows, or of the columns, are a window of an image.
bool hasWindow(const Contraction &contraction, bool isRow) {
  bool hasDigits = llvm::any_of(contraction.tiles, [&](const ContractionTile &tile) {
    return tile.hasDigits && tile.isRow == isRow;
  });
  return hasDigits && contraction.partsOf(isRow).size() > 1;
}

bool hasDigitsOf(const Contraction &contraction) {
  return llvm::any_of(contraction.tiles,
                      [](const ContractionTile &each) { return each.hasDigits; });
}

/// Those of the launch at hand, of a square of \p side where nothing is known, or of a convolution
/// with as many outputs.
OutputCounts countsOf(const Contraction &contraction, const LaunchSizes &sizes, int64_t side) {
  bool hasPart = false;
  auto sizeOf = [&](bool isRow) {
    kb::ExprAttr extent = isRow ? contraction.row.extent : contraction.column.extent;
    auto known = valueOf(extent, sizes);
    bool isPart = isPartOfSize(extent, sizes);
    hasPart |= isPart;
    int64_t usual = hasWindow(contraction, isRow)    ? side * side / channelCount
                    : hasWindow(contraction, !isRow) ? channelCount
                                                     : side;
    return std::max<int64_t>(1, known.value_or(isPart ? partOfSize : usual));
  };
  OutputCounts counts;
  counts.rows = sizeOf(true), counts.columns = sizeOf(false);
  for (const NestDim &dim : contraction.batch)
    counts.batches *=
        std::max<int64_t>(1, valueOf(dim.extent, sizes).value_or(hasPart ? partsOfSize : 1));
  return counts;
}

int64_t blocksOf(const ContractionShape &shape, const OutputCounts &counts) {
  return int64_t(llvm::divideCeil(counts.rows, shape.bm)) *
         int64_t(llvm::divideCeil(counts.columns, shape.bn)) * counts.batches;
}

/// Warps of a multiprocessor that reach 63 % of the rate of a full one (measured: blocks of one
/// multiprocessor share what they wait for, and tiles that are copied ahead by cp.async wait less).
double warpsToFill(const ContractionShape &shape) {
  return shape.onMatrixUnits() || (shape.stages > 2 && shape.tm * shape.tn >= 64) ? 2.6 : 5;
}

/// Share of the chip's rate with so many outputs, of which a full multiprocessor reaches \p
/// efficiency.
double expectedRate(const ContractionShape &shape, double efficiency, int64_t resident,
                    const ChipInfo &chip, const OutputCounts &counts) {
  int64_t mostTiles = llvm::divideCeil(blocksOf(shape, counts), chip.smCount),
          rest = mostTiles % resident;
  double fill = double(shape.workingWarps()) / warpsToFill(shape);
  auto timeOf = [&](int64_t blocks) { // that one multiprocessor runs at once
    return double(blocks) * (1 - std::exp(-double(resident) * fill)) /
           (1 - std::exp(-double(blocks) * fill));
  };
  double time = double(mostTiles / resident) * timeOf(resident) + (rest ? timeOf(rest) : 0);
  double outputs = double(counts.rows) * double(counts.columns) * double(counts.batches);
  return efficiency * outputs / (time * double(shape.bm * shape.bn) * double(chip.smCount));
}

/// The same for the launch at hand, a square of \p side where nothing is known.
double expectedRate(const Contraction &contraction, const ContractionShape &shape,
                    double efficiency, const ChipInfo &chip, const LaunchSizes &sizes,
                    int64_t side) {
  return expectedRate(shape, efficiency, shape.residentBlocks(contraction, chip), chip,
                      countsOf(contraction, sizes, side));
}

/// What is left of the rate where a sum has few terms: a block then spends its time waiting for its
/// first tiles and storing its results, and only other warps hide that. Measured on an H200 with
/// sums of 64 terms: 8 warps on a multiprocessor reached 0.65 of the rate of long sums, 16 warps
/// 0.85, 24 warps 0.88.
double shortSumShare(const Contraction &contraction, const ContractionShape &shape,
                     const ChipInfo &chip, const LaunchSizes &sizes) {
  constexpr double fewTerms = 256, termsOfAWarp = 276;
  double terms = 1;
  for (const NestDim &dim : contraction.depth) {
    auto known = valueOf(dim.extent, sizes);
    if (!known && !isPartOfSize(dim.extent, sizes))
      return 1;
    terms *= double(known.value_or(partOfSize));
  }
  double warps = double(shape.residentBlocks(contraction, chip) * shape.threads()) / 32;
  return terms <= fewTerms && !shape.onMatrixUnits() ? terms / (terms + termsOfAWarp / warps) : 1;
}

/// What is left of the rate where the sums of parts are added up in the end. Without sizes nothing
/// shows that the other order of terms would pay.
double splitShare(const Contraction &contraction, const ContractionShape &shape,
                  const LaunchSizes &sizes) {
  if (shape.split > 1 &&
      !(valueOf(contraction.row.extent, sizes) && valueOf(contraction.column.extent, sizes)))
    return 0.5;
  double terms = 1;
  for (const NestDim &dim : contraction.depth)
    terms *= double(valueOf(dim.extent, sizes).value_or(1024));
  return shape.split > 1 ? terms / (terms + 8.0 * double(shape.split)) : 1;
}

/// What is left of the rate where terms have digits: a thread spends so many instructions on each
/// element of such a tile (counted in machine code for sm_90).
double digitsShare(const Contraction &contraction, const ContractionShape &shape) {
  constexpr double instructions = 10;
  double copies = 0;
  for (const ContractionTile &tile : contraction.tiles)
    copies += tile.hasDigits && tile.alongSide
                  ? instructions / double(tile.isRow ? shape.bn : shape.bm)
                  : 0;
  return 1 / (1 + copies);
}

/// What is left of the rate where the last tile has few terms: they are not read ahead.
double restShare(const Contraction &contraction, const ContractionShape &shape,
                 const LaunchSizes &sizes) {
  auto terms = valueOf(contraction.termCount(), sizes);
  return terms && *terms > 0 && !contraction.length
             ? double(*terms) / (double(*terms) + 0.5 * double(*terms % shape.bk))
             : 1;
}

bool mayUseVectors(const Contraction &contraction, const LaunchSizes &sizes) {
  bool any = false;
  for (const ContractionTile &tile : contraction.tiles) {
    auto extent = valueOf(tile.hasDigits    ? contraction.depth.back().extent
                          : tile.alongDepth ? contraction.dividedTerms()
                                            : contraction.partsOf(tile.isRow).back().extent,
                          sizes);
    any |= (tile.alongDepth || (tile.alongSide && !tile.hasDigits)) &&
           tile.operand.getBytes() >= 2 && tile.operand.getBytes() <= 8 &&
           (!extent || *extent % (16 / tile.operand.getBytes()) == 0);
  }
  return any;
}

/// The tile \p measured with accesses of 16 bytes or of single elements.
ContractionShape shapeOf(const MeasuredTile &measured, bool isVector) {
  ContractionShape shape;
  shape.bm = measured.bm, shape.bn = measured.bn, shape.bk = measured.bk, shape.tm = measured.tm,
  shape.tn = measured.tn;
  shape.stages = measured.stages, shape.isVector = isVector, shape.split = measured.split;
  return shape;
}

/// What \p tile reaches. Elements of terms with digits are copied one by one, also where those of
/// the other side are not.
double efficiencyOf(const MeasuredTile &tile, bool isVector, const Contraction &contraction) {
  constexpr double ofOneSide = 0.02;
  return !isVector                  ? tile.scalar
         : hasDigitsOf(contraction) ? tile.scalar + ofOneSide
                                    : tile.efficiency;
}

/// Tiles that fit, with the share of the chip's rate that each reaches where it has enough blocks.
std::vector<RankedShape> fittingShapes(const Contraction &contraction, const ChipInfo &chip,
                                       const LaunchSizes &sizes, const Freedom &freedom) {
  std::vector<RankedShape> fitting;
  for (const MeasuredTile &tile : measured)
    for (bool isVector : {true, false}) {
      ContractionShape shape = shapeOf(tile, isVector);
      if ((shape.split > 1 && !freedom.reassociate) ||
          (isVector && !mayUseVectors(contraction, sizes)) ||
          !shape.whyNot(contraction, chip).empty())
        continue;
      fitting.push_back({shape, efficiencyOf(tile, isVector, contraction) *
                                    splitShare(contraction, shape, sizes) *
                                    digitsShare(contraction, shape) *
                                    restShare(contraction, shape, sizes) *
                                    shortSumShare(contraction, shape, chip, sizes)});
    }
  const bool hasDigits = hasDigitsOf(contraction);
  const bool hasColumnsSideBySide = llvm::any_of(
      contraction.tiles, [](const ContractionTile &tile) { return !tile.isRow && tile.alongSide; });
  auto addHalves = [&](ContractionShape shape, StringRef unit, int64_t group, double rate,
                       StringRef load = "async") {
    shape.group = group, shape.unit = unit.str(), shape.load = load.str();
    for (StringRef core : {"half", "bf16"}) {
      shape.core = core.str();
      if (freedom.reassociate && rate && (!shape.isVector || mayUseVectors(contraction, sizes)) &&
          shape.whyNot(contraction, chip).empty())
        fitting.push_back({shape, rate});
    }
  };
  for (const MeasuredTile &tile : byTma)
    addHalves(shapeOf(tile, true), "wgmma", groupOnWgmma,
              hasColumnsSideBySide ? tile.scalar : tile.efficiency, "tma");
  for (const MeasuredTile &tile : byWgmma)
    addHalves(shapeOf(tile, true), "wgmma", groupOnWgmma,
              hasColumnsSideBySide ? tile.scalar : tile.efficiency);
  for (const MeasuredTile &tile :
       hasDigits ? ArrayRef(convolutions) : ArrayRef<MeasuredTile>(onMatrixUnits))
    for (bool isVector : {true, false})
      addHalves(shapeOf(tile, isVector), "mma", groupOnMatrixUnits,
                isVector    ? tile.efficiency
                : hasDigits ? tile.scalar
                            : shareOfSingles * tile.efficiency);
  for (const MeasuredTile &tile : inTf32) {
    ContractionShape shape = shapeOf(tile, true);
    shape.group = groupOnMatrixUnits, shape.core = "tf32";
    if (freedom.lowerPrecision && mayUseVectors(contraction, sizes) &&
        shape.whyNot(contraction, chip).empty())
      fitting.push_back({shape, tile.efficiency});
  }
  return fitting;
}

} // namespace

std::optional<int64_t> kbopt::valueOf(kb::ExprAttr expr, const LaunchSizes &sizes) {
  SmallVector<AffineExpr> dims, symbols;
  MLIRContext *context = expr.getContext();
  for (unsigned i = 0; i < expr.getMap().getNumDims(); ++i)
    dims.push_back(getAffineDimExpr(i, context));
  for (unsigned i = 0; i < expr.getMap().getNumSymbols(); ++i) {
    auto known = sizes.find(kb::symbolName(i, expr.getSymbols()));
    symbols.push_back(known == sizes.end() ? getAffineSymbolExpr(i, context)
                                           : getAffineConstantExpr(known->second, context));
  }
  AffineExpr value = simplifyAffineExpr(expr.getExpr().replaceDimsAndSymbols(dims, symbols),
                                        dims.size(), symbols.size());
  if (auto constant = dyn_cast<AffineConstantExpr>(value))
    return constant.getValue();
  return std::nullopt;
}

std::vector<RankedShape> kbopt::rankShapes(const Contraction &contraction, const ChipInfo &chip,
                                           const LaunchSizes &sizes, const Freedom &freedom,
                                           ArrayRef<int64_t> sides) {
  std::vector<RankedShape> ranked = fittingShapes(contraction, chip, sizes, freedom);
  for (RankedShape &each : ranked) {
    double logarithms = 0;
    for (int64_t side : sides)
      logarithms += std::log(expectedRate(contraction, each.shape, each.rate, chip, sizes, side));
    each.rate = std::exp(logarithms / double(sides.size()));
  }
  llvm::stable_sort(ranked,
                    [](const RankedShape &a, const RankedShape &b) { return a.rate > b.rate; });
  return ranked;
}

std::optional<TileForFewBlocks> kbopt::tileForFewBlocks(const Contraction &contraction,
                                                        const ContractionShape &shape,
                                                        const ChipInfo &chip) {
  const Freedom freedom{shape.onMatrixUnits() || shape.split > 1, shape.core == "tf32"};
  std::optional<ContractionShape> few;
  for (const RankedShape &each : rankShapes(contraction, chip, {}, freedom, smallSides))
    if (!few && each.shape.isVector == shape.isVector)
      few = each.shape;
  if (!few || few->bm * few->bn >= shape.bm * shape.bn)
    return std::nullopt;
  std::optional<double> largeShare, fewShare;
  for (const RankedShape &each : fittingShapes(contraction, chip, {}, freedom)) {
    largeShare = each.shape.schedule() == shape.schedule() ? each.rate : largeShare;
    fewShare = each.shape.schedule() == few->schedule() ? each.rate : fewShare;
  }
  if (!largeShare || !fewShare)
    return std::nullopt;
  // The number of blocks that loses least over squares of many sides: how well blocks fill the last
  // turn of a chip goes up and down with the side, and no single crossing would say much.
  constexpr int64_t step = 128, most = 8192;
  double gain = 0, best = 0; // of the tile for few blocks, on squares up to this one
  TileForFewBlocks result{*few, 0};
  for (int64_t side = step; side <= most; side += step) {
    gain += std::log(expectedRate(contraction, *few, *fewShare, chip, {}, side) /
                     expectedRate(contraction, shape, *largeShare, chip, {}, side));
    if (gain > best) {
      best = gain;
      result.enough = blocksOf(shape, countsOf(contraction, {}, side + step));
    }
  }
  // Where blocks fill the chip one and a half times, the large tile was the faster one at every
  // side that was measured.
  constexpr double filled = 1.5;
  result.enough = std::min<int64_t>(result.enough, filled * chip.smCount);
  return result.enough ? std::optional(result) : std::nullopt;
}

std::string kbopt::gainOfOwnArch(const Schedule &schedule, const ChipInfo &chip) {
  const ContractionShape shape(schedule);
  auto isShape = [&](const MeasuredTile &tile) {
    return tile.bm == shape.bm && tile.bn == shape.bn && tile.split == shape.split;
  };
  const auto *measuredAs = llvm::find_if(onMatrixUnits, isShape);
  const MeasuredTile &best = byWgmma[0];
  constexpr int64_t large = 128 * 128; // a tile that is chosen where there are many of them
  if (schedule.sketch() != "contraction" || !shape.isOfHalves() || shape.isWgmma() ||
      chip.computeMajor != 9 || chip.isOwnArch || measuredAs == std::end(onMatrixUnits) ||
      shape.bm * shape.bn < large)
    return "";
  return llvm::formatv(
      "compiled for {0}a and nothing else it would multiply by wgmma, about {1:f1} "
      "times as fast",
      chip.arch(), best.efficiency / measuredAs->efficiency);
}
