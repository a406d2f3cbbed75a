//===- ContractionSketch.cpp - Tiling with reuse ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ContractionRanking.h"
#include "Sketches.h"

using namespace kbopt;
using namespace mlir;

namespace {

/// Whether even small tiles leave multiprocessors idle; other sketches may do better then.
bool isSmall(const Contraction &contraction, const ChipInfo &chip, const LaunchSizes &sizes) {
  auto rows = valueOf(contraction.row.extent, sizes),
       columns = valueOf(contraction.column.extent, sizes);
  int64_t tiles =
      rows && columns ? llvm::divideCeil(*rows, 32) * llvm::divideCeil(*columns, 64) : chip.smCount;
  for (const NestDim &dim : contraction.batch)
    tiles *= valueOf(dim.extent, sizes).value_or(1);
  return tiles < chip.smCount;
}

/// The tiles of \p contraction, and those of the forms that matrix units take.
std::vector<RankedShape> rankAll(kb::NestOp nest, const Contraction &contraction,
                                 const ChipInfo &chip, const LaunchSizes &sizes,
                                 const Freedom &freedom) {
  std::vector<RankedShape> ranked = rankShapes(contraction, chip, sizes, freedom, largeSides);
  if (contraction.isPlain())
    return ranked;
  llvm::erase_if(ranked, [](const RankedShape &each) { return each.shape.onMatrixUnits(); });
  for (StringRef core : {"half", "bf16", "tf32"}) {
    Contraction other;
    if (!findContraction(nest, core, other).empty() || !whyNoMatrixUnits(other, core).empty())
      continue;
    for (RankedShape &each : rankShapes(other, chip, sizes, freedom, largeSides))
      if (each.shape.core == core)
        ranked.push_back(std::move(each));
  }
  llvm::stable_sort(ranked,
                    [](const RankedShape &a, const RankedShape &b) { return a.rate > b.rate; });
  return ranked;
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
    bool areKnown =
        valueOf(contraction.row.extent, sizes) && valueOf(contraction.column.extent, sizes);
    for (const NestDim &dim : contraction.depth)
      areKnown &= valueOf(dim.extent, sizes).has_value();
    auto list = [&](const Freedom &allowed, bool isLower) {
      std::vector<RankedShape> ranked = rankAll(nest, contraction, chip, sizes, allowed);
      llvm::erase_if(
          ranked, [&](const RankedShape &each) { return (each.shape.core == "tf32") != isLower; });
      std::vector<Schedule> promising;
      for (const auto &[shape, rate] : ranked)
        if (rate >= 0.3 * ranked.front().rate)
          promising.push_back(shape.schedule().set("otherwise", !areKnown));
      return promising;
    };
    std::vector<Schedule> exact = list({freedom.reassociate, false}, false), lower, all;
    if (freedom.lowerPrecision)
      lower = list(freedom, true);
    // In turns: a search that judges four of them learns what the lower precision gains, and has a
    // schedule if it is refused.
    for (size_t i = 0; i < std::max(exact.size(), lower.size()); ++i)
      for (const std::vector<Schedule> *each : {&exact, &lower})
        if (i < each->size() && all.size() < (isSmall(contraction, chip, sizes) ? 6 : 24))
          all.push_back((*each)[i]);
    return all;
  }

  /// A tile for few blocks beside one for many; after these single elements, for sizes that do not
  /// divide and pointers that are not aligned.
  std::optional<Schedule> otherwise(kb::NestOp nest, const ChipInfo &chip,
                                    const Schedule &schedule) const override {
    ContractionShape shape(schedule);
    Contraction contraction;
    if (!findContraction(nest, shape.core, contraction).empty())
      return std::nullopt;
    if (auto few = tileForFewBlocks(contraction, shape, chip))
      return few->shape.schedule().set("otherwise", int64_t(shape.isVector));
    const Freedom freedom{shape.onMatrixUnits(), false};
    if (shape.isVector)
      for (const RankedShape &each : rankShapes(contraction, chip, {}, freedom, usualSides))
        if (!each.shape.isVector)
          return each.shape.schedule().set("otherwise", int64_t(0));
    return std::nullopt;
  }

  llvm::Expected<GeneratedKernel> print(kb::NestOp nest, StringRef name,
                                        const ChipInfo &chip) const override {
    Schedule schedule = nest.getSchedule() ? Schedule(*nest.getSchedule()) : Schedule();
    ContractionShape shape(schedule);
    Contraction contraction;
    if (std::string reason = findContraction(nest, shape.core, contraction); !reason.empty())
      return llvm::createStringError(reason);
    if (std::string reason = shape.whyNot(contraction, chip); !reason.empty())
      return llvm::createStringError(reason);
    auto print = shape.isTma()           ? printTmaContraction
                 : shape.isWgmma()       ? printWgmmaContraction
                 : shape.onMatrixUnits() ? printMmaContraction
                 : shape.stages > 2      ? printAsyncContraction
                                         : printSimtContraction;
    llvm::Expected<GeneratedKernel> kernel = print(contraction, shape, name, chip);
    if (kernel && schedule.integer("otherwise"))
      if (auto few = tileForFewBlocks(contraction, shape, chip))
        kernel->preferences.push_back(kernel->gridX + " >= " + std::to_string(few->enough));
    if (kernel && shape.isTma()) // its blocks loop over the tiles
      kernel->gridX =
          std::to_string(int64_t(chip.smCount) * shape.residentBlocks(contraction, chip));
    return kernel;
  }
};

} // namespace

const Sketch &kbopt::contractionSketch() {
  static const ContractionSketch sketch;
  return sketch;
}
