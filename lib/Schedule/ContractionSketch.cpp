//===- ContractionSketch.cpp - Tiling with reuse ----------------------------===//

#include "Contraction.h"
#include "Sketches.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;
using namespace mlir;

ContractionShape::ContractionShape(const Schedule &schedule)
    : bm(schedule.integer("bm")), bn(schedule.integer("bn")), bk(schedule.integer("bk")), tm(schedule.integer("tm")),
      tn(schedule.integer("tn")), stages(schedule.integer("stages", 2)), group(schedule.integer("group", 1)),
      isVector(schedule.integer("vector", 4) > 1), core(schedule.has("core") ? schedule.string("core").str() : "simt") {
}

Schedule ContractionShape::schedule() const {
  Schedule schedule("contraction");
  return schedule.set("bm", bm)
      .set("bn", bn)
      .set("bk", bk)
      .set("tm", tm)
      .set("tn", tn)
      .set("stages", stages)
      .set("group", group)
      .set("vector", isVector ? 4 : 1)
      .set("core", core);
}

/// Registers that hold a value of \p type.
static int64_t words(StringRef type) { return type.contains("double") || type.contains("long") ? 2 : 1; }

int64_t ContractionShape::registers(const Contraction &contraction) const {
  if (onMatrixUnits()) // sums, and two sets of fragments
    return tm * tn / 32 + (tm + tn) / 2 + 50;
  int64_t count = stages > 2 ? 56 : 26;
  for (const auto &[sum, type] : contraction.sums)
    count += tm * tn * words(type);
  for (const ContractionTile &tile : contraction.tiles)
    count += (stages > 2 ? (tile.isRow ? tm : tn) * (isVector && tile.alongDepth ? 4 : 1)
                         : 2 * (tile.isRow ? tm : tn) + (tile.isRow ? bm : bn) * bk / threads()) *
             words(tile.operand.getType());
  return count;
}

int64_t ContractionShape::sharedBytes(const Contraction &contraction) const {
  int64_t bytes = 0;
  for (const ContractionTile &tile : contraction.tiles)
    if (int64_t side = tile.isRow ? bm : bn; onMatrixUnits())
      bytes += stages * side * bk * tile.operand.getBytes();
    else if (stages > 2 && isVector && tile.alongDepth)
      bytes += stages * side * (bk + 4) * tile.operand.getBytes();
    else
      bytes += stages * bk * (side + (tile.alongSide ? 0 : 4)) * tile.operand.getBytes();
  return bytes;
}

int64_t ContractionShape::residentBlocks(const Contraction &contraction, const ChipInfo &chip) const {
  int64_t byRegisters = static_cast<int64_t>(chip.registersPerSm / (threads() * (0.95 * registers(contraction))));
  int64_t byShared =
      static_cast<int64_t>(chip.sharedBytesPerSm / (sharedBytes(contraction) + chip.sharedBytesReservedPerBlock));
  return std::max<int64_t>(1, std::min({byRegisters, byShared, 768 / threads(), int64_t(4)}));
}

std::string ContractionShape::whyNotOnMatrixUnits(const Contraction &contraction, const ChipInfo &chip) const {
  if (std::string reason = whyNoMatrixUnits(contraction, core); !reason.empty())
    return reason;
  if (chip.computeMajor < 8)
    return chip.product + " has no cp.async";
  if (!isVector || stages < 3 || stages > 4 || bk != 64 || bm % 64 || bn % 64 || bm <= 0 || bn <= 0)
    return "matrix units need tiles of multiples of 64 x 64 x 64, 16 bytes per access and 3 or 4 stages";
  if (tm <= 0 || tn <= 0 || tm % 16 || tn % 16 || bm % tm || bn % tn || threads() > chip.maxThreadsPerBlock ||
      bm * bk / 8 % threads() || bn * bk / 8 % threads())
    return llvm::formatv("a warp's tile of {0} x {1} does not divide {2} x {3} into warps of equal work", tm, tn, bm,
                         bn);
  if (registers(contraction) > chip.registersPerThread)
    return llvm::formatv("a thread needs about {0} registers", registers(contraction));
  if (sharedBytes(contraction) > chip.sharedBytesPerBlockOptIn)
    return llvm::formatv("a block needs {0} bytes of shared memory", sharedBytes(contraction));
  return "";
}

std::string ContractionShape::whyNot(const Contraction &contraction, const ChipInfo &chip) const {
  if (onMatrixUnits())
    return whyNotOnMatrixUnits(contraction, chip);
  auto isOneOf = [](int64_t value, std::initializer_list<int64_t> values) { return llvm::is_contained(values, value); };
  if (!isOneOf(tm, {4, 8, 16}) || !isOneOf(tn, {4, 8, 16}))
    return llvm::formatv("a thread tile of {0} x {1} is not one of 4, 8 or 16 by 4, 8 or 16", tm, tn);
  if (bm <= 0 || bn <= 0 || bm % (4 * tm) || bn % (8 * tn))
    return llvm::formatv("a block tile of {0} x {1} is not a multiple of a warp's {2} x {3}", bm, bn, 4 * tm, 8 * tn);
  if (threads() > chip.maxThreadsPerBlock)
    return llvm::formatv("{0} threads do not fit a block", threads());
  if (!isOneOf(stages, {2, 3, 4}))
    return llvm::formatv("{0} stages are not one of 2, 3 and 4", stages);
  if (stages > 2 && chip.computeMajor < 8)
    return chip.product + " has no cp.async";
  for (const ContractionTile &tile : contraction.tiles)
    if (stages > 2 && tile.operand.getBytes() != contraction.tiles.front().operand.getBytes())
      return "cp.async needs elements of one size here";
  for (const ContractionTile &tile : contraction.tiles)
    if (stages > 2 && tile.operand.getBytes() != 4 && tile.operand.getBytes() != 8)
      return "cp.async copies 4, 8 or 16 bytes, not the " + std::to_string(tile.operand.getBytes()) + " of " +
             tile.operand.getBase().getName().str();
  if (!isOneOf(bk, {8, 16, 32}))
    return llvm::formatv("{0} terms per tile are not one of 8, 16 and 32", bk);
  for (const ContractionTile &tile : contraction.tiles)
    if (int64_t each =
            (tile.isRow ? bm : bn) * bk / (isVector ? 16 / std::max<int64_t>(tile.operand.getBytes(), 4) : 1);
        each % threads())
      return llvm::formatv("{0} loads of a tile are not shared evenly among {1} threads", each, threads());
  if (registers(contraction) > chip.registersPerThread)
    return llvm::formatv("a thread needs about {0} registers", registers(contraction));
  if (sharedBytes(contraction) > (stages > 2 ? chip.sharedBytesPerBlockOptIn : chip.sharedBytesPerBlock))
    return llvm::formatv("a block needs {0} bytes of shared memory", sharedBytes(contraction));
  return "";
}

namespace {

/// Share of the chip's multiply-add rate that a tile reaches on large sizes, relative to cuBLAS (measured on an H200).
struct MeasuredTile {
  int64_t bm, bn, bk, tm, tn, stages;
  double efficiency;
};
/// On matrix units, tm x tn is a warp's tile; relative to the rest as half products are.
constexpr MeasuredTile onMatrixUnits[] = {
    {128, 256, 64, 64, 64, 4, 8.9}, {256, 128, 64, 64, 64, 3, 8.8}, {128, 128, 64, 64, 64, 3, 8.6},
    {64, 128, 64, 32, 64, 3, 5.2},  {64, 64, 64, 32, 32, 4, 4.5},
};
constexpr MeasuredTile measured[] = {
    {256, 128, 8, 16, 8, 2, 0.92}, {128, 128, 8, 8, 8, 2, 0.89}, {64, 128, 32, 8, 8, 3, 0.88},
    {64, 64, 32, 8, 8, 3, 0.81},   {128, 64, 32, 8, 8, 3, 0.80}, {64, 64, 32, 4, 8, 4, 0.79},
    {64, 128, 16, 8, 8, 3, 0.79},  {64, 128, 16, 8, 8, 2, 0.77}, {32, 64, 32, 4, 4, 3, 0.73},
    {64, 64, 16, 4, 8, 2, 0.72},   {64, 64, 16, 4, 4, 2, 0.64},  {32, 64, 16, 4, 4, 2, 0.5},
    {32, 32, 16, 4, 4, 2, 0.35},   {16, 32, 16, 4, 4, 2, 0.2},
};

std::optional<int64_t> valueOf(kb::ExprAttr expr, const LaunchSizes &sizes) {
  SmallVector<AffineExpr> dims, symbols;
  MLIRContext *context = expr.getContext();
  for (unsigned i = 0; i < expr.getMap().getNumDims(); ++i)
    dims.push_back(getAffineDimExpr(i, context));
  for (unsigned i = 0; i < expr.getMap().getNumSymbols(); ++i) {
    auto known = sizes.find(kb::symbolName(i, expr.getSymbols()));
    symbols.push_back(known == sizes.end() ? getAffineSymbolExpr(i, context)
                                           : getAffineConstantExpr(known->second, context));
  }
  AffineExpr value =
      simplifyAffineExpr(expr.getExpr().replaceDimsAndSymbols(dims, symbols), dims.size(), symbols.size());
  if (auto constant = dyn_cast<AffineConstantExpr>(value))
    return constant.getValue();
  return std::nullopt;
}

/// Share of the tile's efficiency that is left with so many outputs: part tiles and waves.
double usefulShare(const Contraction &contraction, const ContractionShape &shape, const ChipInfo &chip,
                   const LaunchSizes &sizes) {
  // A middling size where nothing is known: small tiles lose less on large sizes than large ones on small sizes.
  int64_t middling = shape.onMatrixUnits() ? 2048 : 1024;
  int64_t rows = std::max<int64_t>(1, valueOf(contraction.row.extent, sizes).value_or(middling));
  int64_t columns = std::max<int64_t>(1, valueOf(contraction.column.extent, sizes).value_or(middling));
  double tiles = double(llvm::divideCeil(rows, shape.bm)) * double(llvm::divideCeil(columns, shape.bn));
  double covered = double(rows) * double(columns) / (tiles * double(shape.bm * shape.bn));
  for (const NestDim &dim : contraction.batch)
    tiles *= double(valueOf(dim.extent, sizes).value_or(1));
  double rounds = std::ceil(tiles / chip.smCount);
  return covered * tiles / (rounds * chip.smCount);
}

bool mayUseVectors(const Contraction &contraction, const LaunchSizes &sizes) {
  bool any = false;
  for (const ContractionTile &tile : contraction.tiles) {
    const NestDim &along = tile.alongDepth ? contraction.depth.back()
                           : tile.isRow    ? contraction.row
                                           : contraction.column;
    auto extent = valueOf(along.extent, sizes);
    any |= (tile.alongDepth || tile.alongSide) && tile.operand.getBytes() >= 2 && tile.operand.getBytes() <= 8 &&
           (!extent || *extent % (16 / tile.operand.getBytes()) == 0);
  }
  return any;
}

class ContractionSketch : public Sketch {
public:
  StringRef name() const override { return "contraction"; }

  std::string whyNot(kb::NestOp nest) const override {
    Contraction contraction;
    return findContraction(nest, contraction);
  }

  std::vector<Schedule> schedules(kb::NestOp nest, const ChipInfo &chip, const LaunchSizes &sizes,
                                  const Freedom &freedom) const override {
    Contraction contraction;
    if (!findContraction(nest, contraction).empty())
      return {};
    std::vector<std::pair<double, ContractionShape>> ranked;
    for (const MeasuredTile &tile : measured)
      for (bool isVector : {true, false}) {
        ContractionShape shape;
        shape.bm = tile.bm, shape.bn = tile.bn, shape.bk = tile.bk, shape.tm = tile.tm, shape.tn = tile.tn;
        shape.stages = tile.stages, shape.isVector = isVector;
        if ((isVector && !mayUseVectors(contraction, sizes)) || !shape.whyNot(contraction, chip).empty())
          continue;
        double value = tile.efficiency * usefulShare(contraction, shape, chip, sizes);
        // Copies of 4 bytes cost cp.async more than loads through registers.
        ranked.emplace_back(value * (isVector ? 1 : shape.stages > 2 ? 0.85 : 0.96), shape);
      }
    for (const MeasuredTile &tile : onMatrixUnits)
      for (StringRef core : {"half", "bf16"}) {
        ContractionShape shape;
        shape.bm = tile.bm, shape.bn = tile.bn, shape.bk = tile.bk, shape.tm = tile.tm, shape.tn = tile.tn;
        shape.stages = tile.stages, shape.group = 8, shape.core = core.str();
        if (freedom.reassociate && mayUseVectors(contraction, sizes) && shape.whyNot(contraction, chip).empty())
          ranked.emplace_back(tile.efficiency * usefulShare(contraction, shape, chip, sizes), shape);
      }
    llvm::stable_sort(ranked, [](const auto &a, const auto &b) { return a.first > b.first; });
    std::vector<Schedule> all;
    for (const auto &[value, shape] : ranked)
      if (value >= 0.3 * ranked.front().first && all.size() < 24)
        all.push_back(shape.schedule());
    return all;
  }

  llvm::Expected<GeneratedKernel> print(kb::NestOp nest, StringRef name, const ChipInfo &chip) const override {
    Contraction contraction;
    if (std::string reason = findContraction(nest, contraction); !reason.empty())
      return llvm::createStringError(reason);
    Schedule schedule = nest.getSchedule() ? Schedule(*nest.getSchedule()) : Schedule();
    ContractionShape shape(schedule);
    if (std::string reason = shape.whyNot(contraction, chip); !reason.empty())
      return llvm::createStringError(reason);
    if (shape.onMatrixUnits())
      return printMmaContraction(contraction, shape, name, chip);
    return (shape.stages > 2 ? printAsyncContraction : printSimtContraction)(contraction, shape, name, chip);
  }
};

} // namespace

const Sketch &kbopt::contractionSketch() {
  static const ContractionSketch sketch;
  return sketch;
}
