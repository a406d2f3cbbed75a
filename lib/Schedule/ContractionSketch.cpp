//===- ContractionSketch.cpp - Tiling with reuse ----------------------------===//

#include "Contraction.h"
#include "Sketches.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;
using namespace mlir;

ContractionShape::ContractionShape(const Schedule &schedule)
    : bm(schedule.integer("bm")), bn(schedule.integer("bn")), bk(schedule.integer("bk")), tm(schedule.integer("tm")),
      tn(schedule.integer("tn")), stages(schedule.integer("stages", 2)), group(schedule.integer("group", 1)),
      split(schedule.integer("split", 1)), isVector(schedule.integer("vector", 4) > 1), core(schedule.has("core") ? schedule.string("core").str() : "simt") {
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
      .set("split", split)
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

int64_t ContractionShape::tileBytes(const Contraction &contraction) const {
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

int64_t ContractionShape::partBytes(const Contraction &contraction) const {
  int64_t bytes = 0;
  for (const auto &[sum, type] : contraction.sums)
    bytes += (split - 1) * bm * bn * 4 * words(type);
  return bytes;
}

std::string ContractionShape::whyNotSplit(const Contraction &contraction) const {
  if (split == 1)
    return "";
  if (split != 2 && split != 4 && split != 8)
    return llvm::formatv("{0} parts are not one of 1, 2, 4 and 8", split);
  if (bk / split < 4)
    return llvm::formatv("{0} terms do not make {1} parts of 4", bk, split);
  for (Operation *op : contraction.term)
    if (auto reduce = dyn_cast<kb::ReduceOp>(op); reduce && reduce.getReduction() != "add")
      return ("parts of " + reduce.getName() + " are not added").str();
  if (contraction.length)
    return "the length of its sum differs between outputs";
  if (partBytes(contraction) > 32 * 1024)
    return llvm::formatv("the sums of {0} parts need {1} bytes of shared memory", split, partBytes(contraction));
  return "";
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
  if (split != 1)
    return "sums on matrix units are not split";
  if (!isVector || stages < 3 || stages > 4 || bk != 64 || bm % 64 || bn % 64 || bm <= 0 || bn <= 0)
    return "matrix units need tiles of multiples of 64 x 64 x 64, 16 bytes per access and 3 or 4 stages";
  auto isWarpSide = [](int64_t side) { return side == 16 || side == 32 || side == 64; };
  if (!isWarpSide(tm) || !isWarpSide(tn) || bm % tm || bn % tn || threads() > chip.maxThreadsPerBlock ||
      bm * bk / 8 % threads() || bn * bk / 8 % threads())
    return llvm::formatv("a warp's tile of {0} x {1} does not divide {2} x {3} into warps of equal work", tm, tn, bm,
                         bn);
  // Rows of one thread's chunks are a multiple of 8 apart, so that they change places alike.
  for (const ContractionTile &tile : contraction.tiles)
    if (int64_t inner = (tile.alongSide ? tile.isRow ? bm : bn : bk) / 8; threads() % (8 * inner))
      return llvm::formatv("{0} threads do not copy whole groups of 8 rows of {1}", threads(),
                           tile.operand.getBase().getName());
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
  if (std::string reason = whyNotSplit(contraction); !reason.empty())
    return reason;
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

/// What a tile reaches on large sizes, as a share of cuBLAS (measured on an H200), with 16 bytes per access and with
/// single elements.
struct MeasuredTile {
  int64_t bm, bn, bk, tm, tn, stages;
  double efficiency, scalar;
  int64_t split = 1;
};
/// On matrix units, tm x tn is a warp's tile; relative to the rest as half products are.
constexpr MeasuredTile onMatrixUnits[] = {
    {128, 256, 64, 64, 64, 4, 8.92, 0}, {256, 128, 64, 64, 64, 3, 8.81, 0}, {128, 128, 64, 64, 64, 3, 8.83, 0},
    {128, 64, 64, 64, 32, 3, 7.37, 0},  {64, 128, 64, 64, 32, 3, 7.20, 0},  {64, 128, 64, 32, 64, 3, 7.16, 0},
    {64, 64, 64, 32, 32, 4, 5.85, 0},
};
constexpr MeasuredTile measured[] = {
    {64, 128, 16, 8, 8, 2, 0.94, 0.86},       {128, 128, 8, 16, 8, 2, 0.93, 0.87},      {128, 64, 16, 8, 8, 2, 0.91, 0.88},
    {256, 128, 8, 16, 8, 2, 0.91, 0.87},      {128, 128, 8, 8, 8, 2, 0.89, 0.74},       {64, 128, 32, 8, 8, 3, 0.86, 0.77},
    {64, 64, 32, 8, 4, 3, 0.84, 0.74, 2},     {64, 128, 16, 8, 4, 2, 0.84, 0.81},       {64, 64, 32, 8, 4, 3, 0.83, 0.74},
    {64, 64, 16, 8, 4, 2, 0.82, 0.76},        {128, 64, 32, 8, 4, 3, 0.81, 0.73},       {64, 64, 32, 8, 8, 3, 0.81, 0.70},
    {64, 64, 16, 8, 4, 2, 0.80, 0.70, 2},     {32, 64, 32, 4, 8, 3, 0.80, 0.64, 2},     {64, 64, 32, 4, 8, 4, 0.79, 0.68},
    {32, 64, 32, 4, 8, 3, 0.77, 0.66},        {64, 64, 16, 4, 8, 2, 0.74, 0.74},        {32, 64, 32, 4, 4, 3, 0.74, 0.60},
    {32, 32, 32, 4, 4, 3, 0.72, 0.53},        {32, 64, 32, 4, 8, 3, 0.72, 0.55, 4},     {32, 32, 32, 4, 4, 3, 0.70, 0.51, 2},
    {16, 32, 32, 4, 4, 3, 0.69, 0.44},        {32, 64, 32, 4, 4, 3, 0.66, 0.56, 2},     {64, 64, 16, 4, 4, 2, 0.64, 0.64},
    {32, 32, 32, 4, 4, 3, 0.64, 0.49, 4},     {16, 32, 32, 4, 4, 3, 0.62, 0.43, 4},     {32, 64, 16, 4, 4, 2, 0.62, 0.60},
    {32, 32, 16, 4, 4, 2, 0.55, 0.54},        {16, 32, 16, 4, 4, 2, 0.49, 0.45},
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

/// Warps of a multiprocessor that reach 63 % of the rate of a full one (measured: blocks of one multiprocessor share
/// what they wait for, and tiles that are copied ahead by cp.async wait less).
double warpsToFill(const ContractionShape &shape) {
  return shape.onMatrixUnits() || (shape.stages > 2 && shape.tm * shape.tn >= 64) ? 2.6 : 5;
}

/// Share of the chip's rate with so many outputs, of which a full multiprocessor reaches \p efficiency.
double expectedRate(const ContractionShape &shape, double efficiency, int64_t resident, const ChipInfo &chip,
                    int64_t rows, int64_t columns, int64_t batches) {
  int64_t tiles = int64_t(llvm::divideCeil(rows, shape.bm)) * int64_t(llvm::divideCeil(columns, shape.bn)) * batches;
  int64_t mostTiles = llvm::divideCeil(tiles, chip.smCount), rest = mostTiles % resident;
  double fill = double(shape.threads()) / 32 / warpsToFill(shape);
  auto timeOf = [&](int64_t blocks) { // that one multiprocessor runs at once
    return double(blocks) * (1 - std::exp(-double(resident) * fill)) / (1 - std::exp(-double(blocks) * fill));
  };
  double time = double(mostTiles / resident) * timeOf(resident) + (rest ? timeOf(rest) : 0);
  double outputs = double(rows) * double(columns) * double(batches);
  return efficiency * outputs / (time * double(shape.bm * shape.bn) * double(chip.smCount));
}

/// The same for the launch at hand; where nothing is known, the mean for squares of usual sizes.
double expectedRate(const Contraction &contraction, const ContractionShape &shape, double efficiency,
                    const ChipInfo &chip, const LaunchSizes &sizes) {
  // A part of a size (a head of an attention) is small, and there are several of them.
  constexpr int64_t partOfSize = 64, parts = 4;
  bool hasPart = false;
  auto sizeOf = [&](kb::ExprAttr extent) {
    auto known = valueOf(extent, sizes);
    bool isPart = !known && extent.getExpr().getKind() == AffineExprKind::FloorDiv;
    hasPart |= isPart;
    return isPart ? std::optional(partOfSize) : known;
  };
  auto rows = sizeOf(contraction.row.extent), columns = sizeOf(contraction.column.extent);
  int64_t batches = 1, resident = shape.residentBlocks(contraction, chip);
  for (const NestDim &dim : contraction.batch)
    batches *= std::max<int64_t>(1, valueOf(dim.extent, sizes).value_or(hasPart ? parts : 1));
  double logarithms = 0;
  const int64_t squares[] = {1024, 2048, 4096};
  for (int64_t side : squares)
    logarithms += std::log(expectedRate(shape, efficiency, resident, chip, std::max<int64_t>(1, rows.value_or(side)),
                                        std::max<int64_t>(1, columns.value_or(side)), batches));
  return std::exp(logarithms / double(std::size(squares)));
}

/// Whether even small tiles leave multiprocessors idle; other sketches may do better then.
bool isSmall(const Contraction &contraction, const ChipInfo &chip, const LaunchSizes &sizes) {
  auto rows = valueOf(contraction.row.extent, sizes), columns = valueOf(contraction.column.extent, sizes);
  int64_t tiles = rows && columns ? llvm::divideCeil(*rows, 32) * llvm::divideCeil(*columns, 64) : chip.smCount;
  for (const NestDim &dim : contraction.batch)
    tiles *= valueOf(dim.extent, sizes).value_or(1);
  return tiles < chip.smCount;
}

/// What is left of the rate where the sums of parts are added up in the end. Without sizes nothing shows that the
/// other order of terms would pay.
double splitShare(const Contraction &contraction, const ContractionShape &shape, const LaunchSizes &sizes) {
  if (shape.split > 1 && !(valueOf(contraction.row.extent, sizes) && valueOf(contraction.column.extent, sizes)))
    return 0.5;
  double terms = 1;
  for (const NestDim &dim : contraction.depth)
    terms *= double(valueOf(dim.extent, sizes).value_or(1024));
  return shape.split > 1 ? terms / (terms + 8.0 * double(shape.split)) : 1;
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
        shape.stages = tile.stages, shape.isVector = isVector, shape.split = tile.split;
        if (shape.split > 1 && !freedom.reassociate)
          continue;
        if ((isVector && !mayUseVectors(contraction, sizes)) || !shape.whyNot(contraction, chip).empty())
          continue;
        double efficiency = (isVector ? tile.efficiency : tile.scalar) * splitShare(contraction, shape, sizes);
        ranked.emplace_back(expectedRate(contraction, shape, efficiency, chip, sizes), shape);
      }
    for (const MeasuredTile &tile : onMatrixUnits)
      for (StringRef core : {"half", "bf16"}) {
        ContractionShape shape;
        shape.bm = tile.bm, shape.bn = tile.bn, shape.bk = tile.bk, shape.tm = tile.tm, shape.tn = tile.tn;
        shape.stages = tile.stages, shape.group = 8, shape.core = core.str();
        if (freedom.reassociate && mayUseVectors(contraction, sizes) && shape.whyNot(contraction, chip).empty())
          ranked.emplace_back(expectedRate(contraction, shape, tile.efficiency, chip, sizes), shape);
      }
    llvm::stable_sort(ranked, [](const auto &a, const auto &b) { return a.first > b.first; });
    std::vector<Schedule> all;
    bool areKnown = valueOf(contraction.row.extent, sizes) && valueOf(contraction.column.extent, sizes);
    for (const NestDim &dim : contraction.depth)
      areKnown &= valueOf(dim.extent, sizes).has_value();
    for (const auto &[value, shape] : ranked)
      if (value >= 0.3 * ranked.front().first && all.size() < (isSmall(contraction, chip, sizes) ? 6 : 24))
        all.push_back(shape.schedule().set("otherwise", !areKnown && shape.isVector));
    return all;
  }

  /// Single elements, for sizes that do not divide and pointers that are not aligned.
  std::optional<Schedule> otherwise(kb::NestOp nest, const ChipInfo &chip, const Schedule &schedule) const override {
    if (schedule.integer("vector") <= 1)
      return std::nullopt;
    for (Schedule &each : schedules(nest, chip, {}, Freedom{false, false}))
      if (each.integer("vector") == 1)
        return each;
    return std::nullopt;
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
