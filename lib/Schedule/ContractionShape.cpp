//===- ContractionShape.cpp - Which tiles can be printed --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what a block tile costs, and which ones fit a chip and a contraction.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;
using namespace mlir;

ContractionShape::ContractionShape(const Schedule &schedule)
    : bm(schedule.integer("bm")), bn(schedule.integer("bn")), bk(schedule.integer("bk")),
      tm(schedule.integer("tm")), tn(schedule.integer("tn")), stages(schedule.integer("stages", 2)),
      group(schedule.integer("group", 1)), split(schedule.integer("split", 1)),
      isVector(schedule.integer("vector", 4) > 1),
      core(schedule.has("core") ? schedule.string("core").str() : "simt"),
      unit(schedule.has("unit") ? schedule.string("unit").str() : "mma"),
      load(schedule.has("load") ? schedule.string("load").str() : "async") {}

Schedule ContractionShape::schedule() const {
  Schedule schedule("contraction");
  if (isOfHalves())
    schedule.set("unit", unit);
  if (isWgmma())
    schedule.set("load", load);
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
static int64_t words(StringRef type) {
  return type.contains("double") || type.contains("long") ? 2 : 1;
}

int64_t ContractionShape::registers(const Contraction &contraction) const {
  if (isWgmma()) // sums of 64 rows, shared by 128 threads
    return tn / 2 + 40;
  if (onMatrixUnits()) { // sums, and two sets of fragments
    int64_t count = tm * tn / 32 + (tm + tn) / 2 + (contraction.length ? 80 : 50);
    for (const ContractionTile &tile : contraction.tiles)
      count += isSingle(tile) ? 12 : 0;
    return count;
  }
  int64_t count = stages > 2 ? 56 : 26;
  for (const auto &[sum, type] : contraction.sums)
    count += tm * tn * words(type);
  for (const ContractionTile &tile : contraction.tiles)
    count += tile.hasDigits ? 12 : 0;
  for (const ContractionTile &tile : contraction.tiles)
    count += (stages > 2 ? (tile.isRow ? tm : tn) * (isVector && tile.alongDepth ? 4 : 1)
                         : 2 * (tile.isRow ? tm : tn) + (tile.isRow ? bm : bn) * bk / threads()) *
             words(tile.operand.getType());
  return count;
}

int64_t ContractionShape::tileBytes(const Contraction &contraction) const {
  int64_t bytes = 0;
  for (const ContractionTile &tile : contraction.tiles)
    if (int64_t side = tile.isRow ? bm : bn; core == "tf32") // rows are padded
      bytes +=
          stages * (tile.alongSide ? bk * (side + 8) : side * (bk + 4)) * tile.operand.getBytes();
    else if (onMatrixUnits())
      bytes += stages * side * bk * tile.operand.getBytes();
    else if (stages > 2 && isVector && tile.alongDepth)
      bytes += stages * side * (bk + 4) * tile.operand.getBytes();
    else
      bytes += stages * bk * (side + (tile.alongSide ? 0 : 4)) * tile.operand.getBytes();
  constexpr int64_t barrierBytes = 16; // of a stage
  bytes += isTma() ? stages * barrierBytes : 0;
  constexpr int64_t describedBytes = 20; // of a term, where its digits are needed
  for (const ContractionTile &tile : contraction.tiles)
    bytes += tile.hasDigits ? 2 * bk * describedBytes : 0;
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
    return llvm::formatv("the sums of {0} parts need {1} bytes of shared memory", split,
                         partBytes(contraction));
  return "";
}

int64_t ContractionShape::residentBlocks(const Contraction &contraction,
                                         const ChipInfo &chip) const {
  int64_t byRegisters =
      static_cast<int64_t>(chip.registersPerSm / (threads() * (0.95 * registers(contraction))));
  int64_t byShared = static_cast<int64_t>(
      chip.sharedBytesPerSm / (sharedBytes(contraction) + chip.sharedBytesReservedPerBlock));
  return std::max<int64_t>(1, std::min({byRegisters, byShared, 768 / threads(), int64_t(4)}));
}

std::string ContractionShape::whyNotOnMatrixUnits(const Contraction &contraction,
                                                  const ChipInfo &chip) const {
  if (std::string reason = whyNoMatrixUnits(contraction, core); !reason.empty())
    return reason;
  const bool isTf32 = core == "tf32";
  if (isTf32 && !contraction.asGiven && !contraction.isPlain())
    return "tf32 takes one dimension on each side, and a sum of one loop without conditions";
  if (chip.computeMajor < 8)
    return chip.arch() + " has no cp.async";
  if (unit != "mma")
    return whyNotWgmma(contraction, chip);
  if (split != 1 && split != 2 && (split != 4 || isTf32))
    return llvm::formatv("{0} parts are not one of 1, 2 and 4, which matrix units sum", split);
  if (split != 1 && (isTf32 || contraction.length))
    return "sums in tf32, or of different lengths, are not split";
  const int64_t terms = isTf32 ? 32 : 64, elements = isTf32 ? 4 : 8; // of a tile, and of 16 bytes
  const int64_t least = isTf32 ? 64 : 16;
  if ((isTf32 && !isVector) || stages < 3 || stages > 4 || bk != terms || bm % least ||
      bn % least || bm <= 0 || bn <= 0)
    return llvm::formatv("{0} matrix units need tiles of multiples of {2} x {2} x {1}{3} and 3 or "
                         "4 stages",
                         core, terms, least, isTf32 ? ", 16 bytes per access" : "");
  for (const ContractionTile &tile : contraction.tiles)
    if (tile.alongSide && !isSingle(tile) && (tile.isRow ? bm : bn) % 64)
      return llvm::formatv("rows of {0} elements of {1} do not lie in different banks",
                           tile.isRow ? bm : bn, tile.operand.getBase().getName());
  auto isWarpSide = [](int64_t side) { return side == 16 || side == 32 || side == 64; };
  if (!isWarpSide(tm) || !isWarpSide(tn) || bm % tm || bn % tn ||
      threads() > chip.maxThreadsPerBlock || bm * bk / elements % threads() ||
      bn * bk / elements % threads())
    return llvm::formatv(
        "a warp's tile of {0} x {1} does not divide {2} x {3} into warps of equal work", tm, tn, bm,
        bn);
  // Rows of one thread's chunks are a multiple of 8 apart, so that they change places alike. A
  // thread that loads single elements of neighbouring rows has one of them.
  for (const ContractionTile &tile : contraction.tiles)
    if (int64_t side = tile.isRow ? bm : bn; tile.alongSide && isSingle(tile) && threads() % side)
      return llvm::formatv("{0} threads do not copy whole {1} of {2}", threads(),
                           tile.isRow ? "columns" : "rows", tile.operand.getBase().getName());
  for (const ContractionTile &tile : contraction.tiles)
    if (int64_t inner = (tile.alongSide ? tile.isRow ? bm : bn : bk) / elements;
        !(tile.alongSide && isSingle(tile)) && threads() % (isTf32 ? inner : 8 * inner))
      return llvm::formatv("{0} threads do not copy whole groups of 8 rows of {1}", threads(),
                           tile.operand.getBase().getName());
  return whyNotFitting(contraction, chip);
}

std::string ContractionShape::whyNotWgmma(const Contraction &contraction,
                                          const ChipInfo &chip) const {
  if (unit != "wgmma")
    return "the unit '" + unit + "' is not one of 'mma' and 'wgmma'";
  if (!isOfHalves())
    return "wgmma multiplies halves and bf16 here, not " + core;
  if (!contraction.asGiven && !contraction.isPlain())
    return "wgmma takes one dimension on each side, and a sum of one loop without conditions";
  if (chip.computeMajor != 9)
    return chip.arch() + " has no wgmma";
  if (!chip.isOwnArch)
    return "wgmma needs a program that is compiled for " + chip.arch() + "a and nothing else";
  if (load != "async" && load != "tma")
    return "the load '" + load + "' is not one of 'async' and 'tma'";
  const int64_t mostStages = isTma() ? 8 : 4;
  if (!isVector || stages < 3 || stages > mostStages || bk != 64 || split != 1)
    return llvm::formatv(
        "wgmma needs tiles of 64 terms, 16 bytes per access, 3 to {0} stages and one part",
        mostStages);
  if (isTma() && (contraction.selectsPoints() || contraction.length))
    return "tensor maps copy whole tiles, and a condition selects outputs or terms";
  if (isTma() && contraction.batch.size() > 1)
    return "a tensor map has one dimension of batches here";
  if (tm != 64 || tn != bn || bm % 64 || bm <= 0 || bm > 256 || bn % 64 || bn <= 0 || bn > 256)
    return llvm::formatv("four warps multiply 64 rows and all {0} columns by wgmma, of tiles of up "
                         "to 256 x 256 in multiples of 64",
                         bn);
  // Copies of one thread are whole groups of 8 rows apart, and all threads have equally many.
  for (const ContractionTile &tile : contraction.tiles)
    if (int64_t side = tile.isRow ? bm : bn, inner = tile.alongSide ? side / 8 : 8;
        !isTma() && (threads() % (8 * inner) || side * 8 % threads()))
      return llvm::formatv("{0} threads do not share out tiles of {1} elements of {2}", threads(),
                           side, tile.operand.getBase().getName());
  if (registers(contraction) * threads() > chip.registersPerSm)
    return llvm::formatv("a block needs about {0} registers", registers(contraction) * threads());
  return whyNotFitting(contraction, chip);
}

std::string ContractionShape::whyNotFitting(const Contraction &contraction,
                                            const ChipInfo &chip) const {
  if (registers(contraction) > chip.registersPerThread)
    return llvm::formatv("a thread needs about {0} registers", registers(contraction));
  if (sharedBytes(contraction) > chip.sharedBytesPerBlockOptIn)
    return llvm::formatv("a block needs {0} bytes of shared memory", sharedBytes(contraction));
  return "";
}

std::string ContractionShape::whyNot(const Contraction &contraction, const ChipInfo &chip) const {
  if (onMatrixUnits())
    return whyNotOnMatrixUnits(contraction, chip);
  auto isOneOf = [](int64_t value, std::initializer_list<int64_t> values) {
    return llvm::is_contained(values, value);
  };
  if (!isOneOf(tm, {4, 8, 16}) || !isOneOf(tn, {4, 8, 16}))
    return llvm::formatv("a thread tile of {0} x {1} is not one of 4, 8 or 16 by 4, 8 or 16", tm,
                         tn);
  if (bm <= 0 || bn <= 0 || bm % (4 * tm) || bn % (8 * tn))
    return llvm::formatv("a block tile of {0} x {1} is not a multiple of a warp's {2} x {3}", bm,
                         bn, 4 * tm, 8 * tn);
  if (std::string reason = whyNotSplit(contraction); !reason.empty())
    return reason;
  if (threads() > chip.maxThreadsPerBlock)
    return llvm::formatv("{0} threads do not fit a block", threads());
  if (!isOneOf(stages, {2, 3, 4}))
    return llvm::formatv("{0} stages are not one of 2, 3 and 4", stages);
  if (stages > 2 && chip.computeMajor < 8)
    return chip.arch() + " has no cp.async";
  for (const ContractionTile &tile : contraction.tiles)
    if (stages > 2 && tile.operand.getBytes() != contraction.tiles.front().operand.getBytes())
      return "cp.async needs elements of one size here";
  for (const ContractionTile &tile : contraction.tiles)
    if (stages > 2 && tile.operand.getBytes() != 4 && tile.operand.getBytes() != 8)
      return "cp.async copies 4, 8 or 16 bytes, not the " +
             std::to_string(tile.operand.getBytes()) + " of " +
             tile.operand.getBase().getName().str();
  if (!isOneOf(bk, {8, 16, 32}))
    return llvm::formatv("{0} terms per tile are not one of 8, 16 and 32", bk);
  for (const ContractionTile &tile : contraction.tiles)
    if (int64_t each = (tile.isRow ? bm : bn) * bk /
                       (isVector ? 16 / std::max<int64_t>(tile.operand.getBytes(), 4) : 1);
        each % threads())
      return llvm::formatv("{0} loads of a tile are not shared evenly among {1} threads", each,
                           threads());
  for (const ContractionTile &tile : contraction.tiles)
    if (int64_t side = tile.isRow ? bm : bn; tile.hasDigits && tile.alongSide && threads() % side)
      return llvm::formatv("{0} threads do not copy whole {1} of {2}", threads(),
                           tile.isRow ? "columns" : "rows", tile.operand.getBase().getName());
  if (registers(contraction) > chip.registersPerThread)
    return llvm::formatv("a thread needs about {0} registers", registers(contraction));
  if (sharedBytes(contraction) >
      (stages > 2 ? chip.sharedBytesPerBlockOptIn : chip.sharedBytesPerBlock))
    return llvm::formatv("a block needs {0} bytes of shared memory", sharedBytes(contraction));
  return "";
}
