//===- Transpose.cpp - Maps that read along one dimension and write along another ----===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the sketch `transpose`: a block takes a square of points. It reads the elements that lie
// side by side along one dimension into a tile in shared memory, and writes along the other:
//
//   ins[u][threadIdx.x] = in[(iFirst + u) * m + jFirst + threadIdx.x];
//   __syncthreads();
//   out[(jFirst + u) * n + iFirst + threadIdx.x] = ins[threadIdx.x][u];
//
// A row of the tile has one element more than are used, so that a column of it lies in all banks
// (Ruetsch and Micikevicius, Optimizing Matrix Transpose in CUDA, 2009).
//
//===----------------------------------------------------------------------===//
#include "Transpose.h"
#include "Accesses.h"
#include "MapNest.h"
#include "Separate.h"
#include "Sketches.h"

using namespace kbopt;
using namespace mlir;

namespace {

/// Fewer iterations of a dimension leave most of a tile empty.
constexpr int64_t fewestIterations = 16;

/// Elements that lie as far apart as this are in other sectors.
constexpr int64_t nearestFar = 8;

/// A nest whose points read along `reads` and write along `writes`.
struct TransposeNest {
  MapNest map;
  StringRef reads, writes;
  SmallVector<kb::OperandAttr> staged; ///< the elements that go through tiles
  std::string reason;                  ///< why there are none; empty if there are some

  explicit TransposeNest(kb::NestOp nest) : map(nest, true), nest(nest) { reason = find(); }

  /// The bytes that one tile of \p side elements squared takes, of each of the arrays.
  int64_t tileBytes(int64_t side) const {
    int64_t bytes = 0;
    for (kb::OperandAttr operand : staged)
      bytes += side * (side + 1) * operand.getBytes();
    return bytes;
  }

private:
  kb::NestOp nest;

  std::string find() {
    if (std::string why = whyNoBox(nest); !why.empty())
      return why;
    if (nest.getDomain())
      return "its points are not a box";
    if (map.hasInnerLoops())
      return "each point runs a loop";
    if (map.box.size() < 2)
      return "its points have one dimension";
    for (StringRef dim : map.box.names)
      if (storesAlong(dim))
        findReads(dim);
    return staged.empty() ? "it does not read along one dimension and write along another" : "";
  }

  bool storesAlong(StringRef dim) {
    bool has = false, areAll = isLong(dim);
    nest.walk([&](kb::StoreOp store) {
      has = true;
      kb::ExprAttr at = store.getTarget().getOffset();
      areAll &= !store.getAtomic() && strideAlong(at, dim) == 1;
    });
    return has && areAll;
  }

  bool isLong(StringRef dim) const {
    auto constant = map.extent(dim).getConstant();
    return !constant || *constant >= fewestIterations;
  }

  bool isStored(kb::BaseAttr base) {
    bool found = false;
    nest.walk([&](kb::StoreOp store) { found |= store.getTarget().getBase() == base; });
    return found;
  }

  /// Takes the dimension along which most bytes are read that lie far apart along \p dim.
  void findReads(StringRef dim) {
    auto bytesOf = [](ArrayRef<kb::OperandAttr> operands) {
      int64_t bytes = 0;
      for (kb::OperandAttr each : operands)
        bytes += each.getBytes();
      return bytes;
    };
    for (StringRef other : map.box.names) {
      SmallVector<kb::OperandAttr> found;
      for (Operation &op : *map.body)
        for (kb::OperandAttr load : loadsOf(&op)) {
          auto far = strideAlong(load.getOffset(), dim);
          bool isFar = dependsOn(load.getOffset(), dim) && (!far || std::abs(*far) > nearestFar);
          if (!isa<kb::WhenOp>(op) && !isReadUnderCondition(&op, load) && isFar &&
              strideAlong(load.getOffset(), other) == 1 && !isStored(load.getBase()) &&
              !usesNameOf(load.getOffset(), nest.getBody().front()) &&
              !llvm::is_contained(found, load))
            found.push_back(load);
        }
      if (other != dim && isLong(other) && bytesOf(found) > bytesOf(staged))
        staged = found, reads = other, writes = dim;
    }
  }
};

class TransposePrinter {
public:
  TransposePrinter(kb::NestOp nest, StringRef name, const ChipInfo &chip)
      : nest(nest), chip(chip), transposed(nest), schedule(nest.getScheduleAttr()), text(nest),
        name(name.str()) {}

  llvm::Expected<GeneratedKernel> run() {
    if (!transposed.reason.empty())
      return llvm::createStringError(transposed.reason);
    for (auto step : {&TransposePrinter::chooseShape, &TransposePrinter::require})
      if (std::string reason = (this->*step)(); !reason.empty())
        return llvm::createStringError(reason);
    nameThings();
    streams = streamsOf(text, *transposed.map.body, transposed.writes, shape, tiles, needs);
    CodeLines inner(1);
    printFill(inner);
    inner.line("__syncthreads();");
    printPoints(inner);
    std::string body = inner.take();
    CodeLines start(1);
    printIndices(start, body);
    return finish(start.take() + body);
  }

private:
  kb::NestOp nest;
  const ChipInfo &chip;
  TransposeNest transposed;
  Schedule schedule;
  CudaText text;
  std::string name;
  Needs needs;
  LaneShape shape;
  int64_t side = 32, threads = 256, lanes = 32, rows = 8;
  std::vector<Stream> tiles;      ///< with the name of what a thread took from the tile
  std::vector<std::string> names; ///< of the tiles
  std::vector<Stream> streams;
  std::string tile, rowsName, readFirst, writeFirst, step, row;
  llvm::StringSet<> unaliased;

  std::string chooseShape() {
    side = schedule.integer("tile", 32), threads = schedule.integer("block", 256);
    shape.vector = schedule.integer("vector", 1);
    if (!llvm::is_contained({16, 32, 64}, side))
      return "the key 'tile' must be 16, 32 or 64";
    if (!llvm::isPowerOf2_64(shape.vector) || shape.vector > 16)
      return "the key 'vector' must be a power of two up to 16";
    lanes = side / shape.vector;
    if (!llvm::isPowerOf2_64(threads) || threads < 32 || threads > 1024 || threads < lanes ||
        threads / lanes > side)
      return "the key 'block' must be a power of two that has a thread for each vector of a row, "
             "and at most one for each of the tile";
    rows = threads / lanes;
    int64_t most = std::min<int64_t>(48 << 10, int64_t(chip.sharedBytesPerBlock));
    if (int64_t bytes = transposed.tileBytes(side); bytes > most)
      return "the tiles take " + std::to_string(bytes) + " bytes of shared memory";
    return "";
  }

  std::string require() {
    if (std::string reason = requireInts(text, needs); !reason.empty())
      return reason;
    for (StringRef dim : {transposed.reads, transposed.writes}) {
      kb::ExprAttr extent = transposed.map.extent(dim);
      auto conditions = multipleConditions(nest, extent, "", shape.vector);
      auto constant = extent.getConstant();
      if (!conditions || (constant && *constant % shape.vector))
        return "the extent of '" + dim.str() + "' is not known to be a multiple of " +
               std::to_string(shape.vector);
      for (const std::string &condition : *conditions)
        needs.expression(condition);
    }
    for (kb::OperandAttr each : transposed.staged)
      if (shape.vector > 1 &&
          !isVector(text, each, *transposed.map.body, transposed.reads, shape.vector, &needs))
        return "'" + each.getBase().getName().str() + "' cannot be read several elements at a time";
    return "";
  }

  void nameThings() {
    tile = text.freshName("tile"), rowsName = text.freshName("rows"),
    shape.width = text.freshName("width"), shape.element = text.freshName("e"),
    readFirst = text.freshName(transposed.reads.str() + "First"),
    writeFirst = text.freshName(transposed.writes.str() + "First"), step = text.freshName("step"),
    row = text.freshName("u");
    shape.first = shape.vector > 1 ? text.freshName("first") : transposed.writes.str();
    for (kb::OperandAttr each : transposed.staged) {
      names.push_back(arrayName(text, each));
      Stream stream{elementKey(text, each, transposed.writes), arrayName(text, each), each};
      stream.place = Stream::Shared;
      tiles.push_back(stream);
    }
  }

  std::string lane() const {
    return shape.vector > 1 ? "threadIdx.x * " + shape.width : "threadIdx.x";
  }

  std::string tilesOf(StringRef dim) {
    std::string extent = text.intExpression(transposed.map.extent(dim));
    return "(" + extent + " + " + tile + " - 1) / " + tile;
  }

  /// Which tile the block has.
  void printIndices(CodeLines &code, StringRef body) {
    std::string constants =
        tile + " = " + std::to_string(side) + ", " + rowsName + " = " + std::to_string(rows);
    if (shape.vector > 1)
      constants += ", " + shape.width + " = " + std::to_string(shape.vector);
    code.line("constexpr int " + constants + ";");
    for (const auto &[each, array] : llvm::zip(transposed.staged, names)) {
      StringRef type = each.getType();
      type.consume_front("const ");
      code.line("__shared__ " + type + " " + array + "[" + tile + "][" + tile + " + 1];");
    }
    std::string across = text.freshName(transposed.reads.str() + "Tiles");
    code.line("const int " + across + " = " + tilesOf(transposed.reads) + ";");
    code.line("const int " + readFirst + " = blockIdx.x % " + across + " * " + tile + ";");
    Box others = otherDims();
    if (!others.size()) {
      code.line("const int " + writeFirst + " = blockIdx.x / " + across + " * " + tile + ";");
      return;
    }
    std::string down = text.freshName(transposed.writes.str() + "Tiles"),
                rest = others.size() > 1 ? text.freshName("rest") : others.names.front().str();
    code.line("const int " + down + " = " + tilesOf(transposed.writes) + ";");
    code.line("const int " + writeFirst + " = blockIdx.x / " + across + " % " + down + " * " +
              tile + ";");
    code.line("const int " + rest + " = blockIdx.x / (" + across + " * " + down + ");");
    if (others.size() > 1)
      others.declare(text, code, rest, others.names.back(),
                     [&](StringRef dim) { return mentions(body, dim); });
  }

  Box otherDims() const {
    Box others = transposed.map.box;
    for (StringRef dim : {transposed.reads, transposed.writes}) {
      size_t at = llvm::find(others.names, dim) - others.names.begin();
      others.names.erase(others.names.begin() + at);
      others.extents.erase(others.extents.begin() + at);
    }
    return others;
  }

  /// Opens a loop over the rows of the tile, \p along the tile's rows and \p across, from \p first
  /// on.
  void open(CodeLines &code, StringRef along, StringRef alongFirst, StringRef across,
            StringRef acrossFirst, StringRef first) {
    bool isOne = rows == side;
    std::string at = isOne ? "threadIdx.y" : row;
    if (!isOne) {
      code.unroll().open("for (int " + step + " = 0; " + step + " < " + tile + "; " + step +
                         " += " + rowsName + ")");
      code.line("const int " + row + " = " + step + " + threadIdx.y;");
    }
    code.line("const int " + along + " = " + alongFirst + " + " + at + ";");
    code.line("const int " + first + " = " + acrossFirst + " + " + lane() + ";");
    code.open("if (" + along + " < " + text.expression(transposed.map.extent(along)) + " && " +
              first + " < " + text.expression(transposed.map.extent(across)) + ")");
  }

  void close(CodeLines &code) {
    code.close();
    rows == side ? code.outdent().line("}") : code.close();
  }

  std::string rowOfTile() const { return rows == side ? "threadIdx.y" : row; }

  /// Reads the elements of a tile, neighbouring lanes those that are neighbours along `reads`.
  void printFill(CodeLines &code) {
    if (rows == side)
      code.line("{").indent();
    std::string first = shape.vector > 1 ? shape.first : transposed.reads.str();
    open(code, transposed.writes, writeFirst, transposed.reads, readFirst, first);
    for (const auto &[each, stream, array] : llvm::zip(transposed.staged, tiles, names)) {
      text.setName(transposed.reads, first);
      std::string memory = text.operand(each);
      text.setName(transposed.reads, transposed.reads);
      std::string to = array + "[" + rowOfTile() + "][" + lane();
      if (shape.vector == 1) {
        code.line(to + "] = " + memory + ";");
        continue;
      }
      code.line(declaration(stream, shape));
      printVector(code, each, shape.vector, stream.array, memory, true);
      code.unroll().open("for (int " + shape.element + " = 0; " + shape.element + " < " +
                         shape.width + "; ++" + shape.element + ")");
      code.line(to + " + " + shape.element + "] = " + stream.array + "[" + shape.element + "];");
      code.close();
    }
    close(code);
  }

  /// Computes the points of a tile, neighbouring lanes those that are neighbours along `writes`.
  void printPoints(CodeLines &code) {
    if (rows == side)
      code.line("{").indent();
    open(code, transposed.reads, readFirst, transposed.writes, writeFirst, shape.first);
    for (const auto &[stream, array] : llvm::zip(tiles, names)) {
      std::string declared = declaration(stream, shape), from = array + "[" + lane();
      if (shape.vector == 1) {
        code.line(StringRef(declared).drop_back() + " = " + from + "][" + rowOfTile() + "];");
        continue;
      }
      code.line(declared);
      code.unroll().open("for (int " + shape.element + " = 0; " + shape.element + " < " +
                         shape.width + "; ++" + shape.element + ")");
      code.line(stream.array + "[" + shape.element + "] = " + from + " + " + shape.element + "][" +
                rowOfTile() + "];");
      code.close();
    }
    for (Block *block : transposed.map.outer)
      for (Operation &op : llvm::drop_end(*block))
        StatementPrinter{text, code}.print(&op);
    printTurn(text, code, *transposed.map.body, transposed.writes, shape.first, shape, streams);
    close(code);
  }

  GeneratedKernel finish(const std::string &body) {
    GeneratedKernel kernel;
    kernel.name = name;
    transposed.map.box.count(text, needs); // for its conditions
    auto covers = [&](StringRef dim) {
      std::string size = text.hostExpression(transposed.map.extent(dim));
      return "(" + (CudaText::isAtom(size) ? size : "(" + size + ")") + " + " +
             std::to_string(side - 1) + ") / " + std::to_string(side);
    };
    kernel.gridX = covers(transposed.reads) + " * (" + covers(transposed.writes) + ")";
    if (Box others = otherDims(); others.size()) {
      Needs ignored;
      std::string count = others.count(text, ignored);
      kernel.gridX += " * " + (CudaText::isAtom(count) ? count : "(" + count + ")");
    }
    kernel.blockX = std::to_string(lanes), kernel.blockY = std::to_string(rows);
    unaliased = separateParameters(text, needs);
    std::string header = nest.getHeader() ? nest.getHeader()->str() + "\n" : "";
    kernel.definition = "// A block reads a tile along '" + transposed.reads.str() +
                        "' and writes it along '" + transposed.writes.str() +
                        "', neighbouring elements\n// both times.\n" + header +
                        "__global__ void __launch_bounds__(" + std::to_string(threads) + ") " +
                        name + "(" + text.parameters(unaliased) + ") {\n" + body + "}\n";
    kernel.extraParameters = text.extraParameters();
    kernel.conditions = needs.conditions;
    kernel.estimatedRegisters = 24 + shape.vector * (streams.size() + tiles.size());
    kernel.sharedBytes = transposed.tileBytes(side);
    kernel.threads = threads;
    return kernel;
  }
};

class TransposeSketch : public Sketch {
public:
  StringRef name() const override { return "transpose"; }
  std::string whyNot(kb::NestOp nest) const override { return TransposeNest(nest).reason; }

  std::vector<Schedule> schedules(kb::NestOp nest, const ChipInfo &chip, const LaunchSizes &sizes,
                                  const Freedom &) const override {
    TransposeNest transposed(nest);
    auto read = valueAt(transposed.map.extent(transposed.reads), sizes),
         written = valueAt(transposed.map.extent(transposed.writes), sizes);
    std::vector<Schedule> all;
    auto add = [&](int64_t side, int64_t vector, int64_t block) {
      if (transposed.tileBytes(side) >
          std::min<int64_t>(48 << 10, int64_t(chip.sharedBytesPerBlock)))
        return;
      Schedule schedule("transpose");
      schedule.set("tile", side).set("vector", vector).set("block", block);
      schedule.set("otherwise", vector > 1 && !(read && written));
      if (!llvm::is_contained(all, schedule))
        all.push_back(schedule);
    };
    int64_t vector = widestVector(nest, transposed);
    while ((read && *read % vector) || (written && *written % vector))
      vector /= 2;
    // Measured on an H200 at 4096 x 4096: halves 21 us with 8 at a time, 24 with 2 and 29 with 4;
    // floats 37 us with 2 or 4 at a time and 40 in the smaller tile, where permutations of 32 by
    // 1024 took 40 us with 2, 44 with 4.
    if (vector > 4)
      add(64, vector, 256);
    if (vector > 1)
      add(64, 2, 256);
    for (int64_t side : {32, 64})
      if (vector > 2 && side / vector >= 8)
        add(side, vector, 256);
    for (int64_t side : {32, 64})
      for (int64_t block : {256, 512})
        add(side, 1, block);
    add(16, 1, 256);
    return all;
  }

  /// Where rows do not divide.
  std::optional<Schedule> otherwise(kb::NestOp, const ChipInfo &,
                                    const Schedule &schedule) const override {
    if (schedule.integer("vector", 1) == 1)
      return std::nullopt;
    return Schedule(schedule)
        .set("vector", int64_t(1))
        .set("tile", int64_t(32))
        .set("block", int64_t(256))
        .set("otherwise", int64_t(0));
  }

  llvm::Expected<GeneratedKernel> print(kb::NestOp nest, StringRef name,
                                        const ChipInfo &chip) const override {
    return TransposePrinter(nest, name, chip).run();
  }

private:
  /// How many neighbours one access of up to 16 bytes reads, and writes.
  static int64_t widestVector(kb::NestOp nest, const TransposeNest &transposed) {
    CudaText text(nest);
    int64_t vector = 8;
    auto look = [&](kb::OperandAttr operand, StringRef dim) {
      while (vector > 1 && (vector * operand.getBytes() > 16 ||
                            !isVector(text, operand, *transposed.map.body, dim, vector, nullptr)))
        vector /= 2;
    };
    for (kb::OperandAttr each : transposed.staged)
      look(each, transposed.reads);
    nest.walk([&](kb::StoreOp store) { look(store.getTarget(), transposed.writes); });
    for (StringRef dim : {transposed.reads, transposed.writes})
      while (vector > 1 && (!multipleConditions(nest, transposed.map.extent(dim), "", vector) ||
                            transposed.map.extent(dim).getConstant().value_or(0) % vector))
        vector /= 2;
    return vector;
  }
};

} // namespace

std::optional<TransposedDims> kbopt::transposedDims(kb::NestOp nest) {
  TransposeNest transposed(nest);
  if (!transposed.reason.empty())
    return std::nullopt;
  return TransposedDims{transposed.reads.str(), transposed.writes.str()};
}

const Sketch &kbopt::transposeSketch() {
  static const TransposeSketch sketch;
  return sketch;
}
