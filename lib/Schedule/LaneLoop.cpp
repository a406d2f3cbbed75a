//===- LaneLoop.cpp - A dimension shared out among threads ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LaneLoop.h"
#include "Accesses.h"
#include "Packs.h"

using namespace kbopt;
using namespace mlir;

void Needs::expression(StringRef text) {
  LaunchCondition condition{LaunchCondition::Expression, text.str(), {}, 0};
  if (!text.empty() && !llvm::is_contained(conditions, condition))
    conditions.push_back(condition);
}

void Needs::aligned(kb::BaseAttr base, unsigned bytes) {
  for (LaunchCondition &known : conditions)
    if (known.kind == LaunchCondition::Aligned && known.text == base.getName()) {
      known.bytes = std::max(known.bytes, bytes);
      return;
    }
  conditions.push_back({LaunchCondition::Aligned, base.getName().str(), {}, bytes});
}

void Needs::disjoint(kb::BaseAttr a, kb::BaseAttr b) {
  std::string first = std::min(a.getName(), b.getName()).str(),
              second = std::max(a.getName(), b.getName()).str();
  LaunchCondition condition{LaunchCondition::Disjoint, first, second, 0};
  if (!llvm::is_contained(conditions, condition))
    conditions.push_back(condition);
}

llvm::StringSet<> kbopt::keepApart(CudaText &text, Needs &needs) {
  llvm::SetVector<kb::BaseAttr> stored, all;
  text.nest().walk([&](Operation *op) {
    for (kb::OperandAttr load : loadsOf(op))
      all.insert(load.getBase());
    if (auto store = dyn_cast<kb::StoreOp>(op)) {
      all.insert(store.getTarget().getBase());
      stored.insert(store.getTarget().getBase());
    }
  });
  auto isParameter = [](kb::BaseAttr base) {
    return base.getKind() == kb::BaseKind::Argument && base.getByteOffset() == 0;
  };
  llvm::StringSet<> names;
  for (kb::BaseAttr base : all) {
    if (isParameter(base))
      names.insert(base.getName());
    for (kb::BaseAttr other : stored)
      if (base != other && isParameter(base) && isParameter(other) &&
          mayOverlap(text.kernel(), base, other))
        needs.disjoint(base, other);
  }
  return names;
}

std::string kbopt::arrayName(CudaText &text, kb::OperandAttr operand) {
  std::string name = operand.getBase().getName().str();
  return text.freshName(name + (StringRef(name).ends_with("s") ? "es" : "s"));
}

bool kbopt::isOnlyElement(CudaText &text, Block &body, StringRef dim, kb::BaseAttr base,
                          StringRef key) {
  bool isStored = false, isOnly = true;
  auto look = [&](Operation *op, kb::OperandAttr operand) {
    if (operand.getBase() == base)
      isOnly &= op->getBlock() == &body && elementKey(text, operand, dim) == key;
  };
  body.walk([&](Operation *op) {
    for (kb::OperandAttr load : loadsOf(op))
      look(op, load);
    if (auto store = dyn_cast<kb::StoreOp>(op)) {
      isStored |= store.getTarget().getBase() == base;
      isOnly &= !store.getAtomic() || store.getTarget().getBase() != base;
      look(op, store.getTarget());
    }
  });
  return !isStored || isOnly;
}

bool kbopt::isVector(CudaText &text, kb::OperandAttr operand, Block &body, StringRef dim,
                     int64_t vector, Needs *needs) {
  kb::BaseAttr base = operand.getBase();
  int64_t bytes = vector * operand.getBytes();
  if (vector == 1 || operand.getKind() != kb::OperandKind::Element ||
      strideAlong(operand.getOffset(), dim) != 1 || base.getKind() != kb::BaseKind::Argument ||
      base.getByteOffset() != 0 || usesNameOf(operand.getOffset(), body, &text) ||
      !llvm::isPowerOf2_64(bytes) || bytes > 64)
    return false;
  std::vector<std::string> met;
  for (const LaunchCondition &condition :
       needs ? ArrayRef(needs->conditions) : ArrayRef<LaunchCondition>())
    met.push_back(condition.text);
  auto conditions = multipleConditions(text.nest(), operand.getOffset(), dim, vector, met);
  if (!conditions)
    return false;
  if (needs) {
    for (const std::string &condition : *conditions)
      needs->expression(condition);
    needs->aligned(base, std::min<int64_t>(bytes, 16));
  }
  return true;
}

namespace {

/// Finds the streams of a loop and what their order requires.
struct StreamFinder {
  CudaText &text;
  Block &body;
  StringRef dim;
  const LaneShape &shape;
  ArrayRef<Stream> cached;
  Needs &needs;
  std::vector<Stream> streams;
  SmallVector<std::pair<kb::BaseAttr, bool>>
      stored; ///< so far, and whether the store waits to the end

  Stream *find(kb::OperandAttr operand) {
    std::string key = elementKey(text, operand, dim);
    for (Stream &stream : streams)
      if (stream.key == key)
        return &stream;
    for (const Stream &each : cached)
      if (each.key == key) {
        streams.push_back(each);
        streams.back().operand = operand; // the same element in this loop's names
        streams.back().loads = streams.back().stores = false;
        streams.back().isVector = isVector(text, operand, body, dim, shape.vector, &needs);
        return &streams.back();
      }
    if (!isOnlyElement(text, body, dim, operand.getBase(), key) ||
        !isVector(text, operand, body, dim, shape.vector, &needs))
      return nullptr;
    streams.push_back({key, "", operand, Stream::Local});
    streams.back().isVector = true;
    return &streams.back();
  }

  void load(Operation *op, kb::OperandAttr operand) {
    Stream *stream =
        op->getBlock() == &body && !isReadUnderCondition(op, operand) ? find(operand) : nullptr;
    if (stream && !stream->stores)
      stream->loads = true;
    for (auto [base, waits] : stored)
      if (base != operand.getBase() && (waits || stream) &&
          mayOverlap(text.kernel(), base, operand.getBase()))
        needs.disjoint(base, operand.getBase());
  }

  /// The elements that \p op adds to, if one atomic can add to a vector of them.
  Stream *vectorSum(kb::StoreOp op) {
    kb::OperandAttr target = op.getTarget();
    unsigned uses = 0;
    text.nest().walk([&](Operation *each) {
      for (kb::OperandAttr load : loadsOf(each))
        uses += load.getBase() == target.getBase();
      if (auto store = dyn_cast<kb::StoreOp>(each))
        uses += store.getTarget().getBase() == target.getBase();
    });
    if (!shape.addsVectors || *op.getAtomic() != "atomicAdd" || target.getType() != "float" ||
        shape.vector > 4 || uses != 1 || !isVector(text, target, body, dim, shape.vector, &needs))
      return nullptr;
    streams.push_back({elementKey(text, target, dim), "", target, Stream::Local});
    streams.back().isVector = streams.back().adds = true;
    return &streams.back();
  }

  void store(kb::StoreOp op) {
    kb::OperandAttr target = op.getTarget();
    Stream *stream = op->getBlock() != &body ? nullptr
                     : op.getAtomic()        ? vectorSum(op)
                                             : find(target);
    if (stream && stream->isOld)
      stream = nullptr;
    if (stream)
      stream->stores = true;
    for (auto [base, waits] : stored)
      if (base != target.getBase() && waits != bool(stream) &&
          mayOverlap(text.kernel(), base, target.getBase()))
        needs.disjoint(base, target.getBase());
    stored.push_back({target.getBase(), bool(stream)});
  }

  void run() {
    body.walk<WalkOrder::PreOrder>([&](Operation *op) {
      for (kb::OperandAttr operand : loadsOf(op))
        load(op, operand);
      if (auto each = dyn_cast<kb::StoreOp>(op))
        store(each);
    });
    for (Stream &stream : streams)
      if (stream.array.empty())
        stream.array = arrayName(text, stream.operand);
  }
};

std::string elementType(kb::OperandAttr operand) {
  StringRef type = operand.getType();
  type.consume_front("const ");
  return type.str();
}

std::string elementType(const Stream &stream) { return elementType(stream.operand); }

} // namespace

void kbopt::printVector(CodeLines &code, kb::OperandAttr operand, int64_t vector,
                        const std::string &array, const std::string &memory, bool isLoad) {
  int64_t bytes = vector * operand.getBytes();
  std::string type = vectorType(elementType(operand), std::min<int64_t>(bytes, 16));
  auto cast = [&](const std::string &pointer, bool isConst) {
    return "reinterpret_cast<" + std::string(isConst ? "const " : "") + type + " *>(" + pointer +
           ")";
  };
  std::string to = cast(isLoad ? array : "&" + memory, false),
              from = cast(isLoad ? "&" + memory : array, true);
  if (bytes <= 16)
    code.line("*" + to + " = *" + from + ";");
  for (int64_t part = 0; bytes > 16 && part < bytes / 16; ++part)
    code.line(to + "[" + std::to_string(part) + "] = " + from + "[" + std::to_string(part) + "];");
}

namespace {

std::string held(const Stream &stream, const LaneShape &shape, StringRef element);

/// Adds the vector of \p stream, whose elements begin at \p first of \p dim, to memory.
void addVector(CudaText &text, CodeLines &code, const Stream &stream, StringRef dim,
               StringRef first, const LaneShape &shape) {
  std::string type = elementType(stream) + std::to_string(shape.vector);
  text.setName(dim, first);
  code.line("atomicAdd(reinterpret_cast<" + type + " *>(&" + text.operand(stream.operand) +
            "), *reinterpret_cast<const " + type + " *>(" + held(stream, shape, "") + "));");
}

/// Opens the loop over turns or with a step and declares the first iteration of each; `close` ends
/// it.
struct TurnLoop {
  CodeLines &code;
  const LaneShape &shape;
  std::string first;

  TurnLoop(CodeLines &code, const LaneShape &shape, StringRef dim, StringRef extent)
      : code(code), shape(shape), first(shape.vector == 1 ? dim.str() : shape.first) {
    std::string counter = shape.counter.empty() ? first : shape.counter;
    if (shape.isSingle) {
      code.line("const int " + counter + " = " + times(shape.lane) + ";");
      code.line("if (" + counter + " >= " + extent + ")").indent().line("return;").outdent();
    } else if (shape.turns > 0) {
      std::string turn = shape.chunk + " * " + shape.lanes + " + " + shape.lane;
      code.unroll().open("for (int " + shape.chunk + " = 0; " + shape.chunk + " < " + shape.chunks +
                         "; ++" + shape.chunk + ")");
      code.line("const int " + counter + " = " + times(turn) + ";");
      code.open("if (" + counter + " < " + extent + ")");
    } else {
      if (shape.inflight > 1)
        code.unroll(shape.inflight);
      code.open("for (int " + counter + " = " + times(shape.lane) + "; " + counter + " < " +
                extent + "; " + counter + " += " + times(shape.lanes) + ")");
    }
    if (shape.declare)
      shape.declare(code);
  }

  std::string times(const std::string &number) const {
    if (shape.vector == 1)
      return number;
    return (StringRef(number).contains(' ') ? "(" + number + ")" : number) + " * " + shape.width;
  }
  void close() {
    if (shape.isSingle)
      return;
    code.close();
    if (shape.turns > 0)
      code.close();
  }
};

/// `xs[k][e]`, without the parts that the stream or the shape lacks.
std::string held(const Stream &stream, const LaneShape &shape, StringRef element) {
  std::string text = stream.array;
  if (stream.place == Stream::Registers)
    text += "[" + shape.chunk + "]";
  if (shape.vector > 1)
    text += element.empty() ? "" : "[" + element.str() + "]";
  return text;
}

} // namespace

std::vector<Stream> kbopt::streamsOf(CudaText &text, Block &body, StringRef dim,
                                     const LaneShape &shape, ArrayRef<Stream> cached,
                                     Needs &needs) {
  StreamFinder finder{text, body, dim, shape, cached, needs, {}, {}};
  finder.streams.reserve(64);
  finder.run();
  if (shape.packs && shape.vector == 1)
    for (Stream &pack : packsOf(text, body, finder.streams, dim, needs))
      finder.streams.push_back(std::move(pack));
  return std::move(finder.streams);
}

std::string kbopt::declaration(const Stream &stream, const LaneShape &shape) {
  if (!stream.parts.empty())
    return "alignas(16) " + elementType(stream) + " " + stream.array + "[" +
           std::to_string(stream.parts.size()) + "];";
  std::string text =
      (shape.vector > 1 ? "alignas(16) " : "") + elementType(stream) + " " + stream.array;
  if (stream.place == Stream::Registers)
    text += "[" + shape.chunks + "]";
  return text + (shape.vector > 1 ? "[" + shape.width + "];" : ";");
}

static void fillOne(CudaText &text, CodeLines &code, StringRef dim, const LaneShape &shape,
                    const Stream &stream, StringRef first) {
  text.setName(dim, first);
  std::string memory = text.operand(stream.operand);
  if (!stream.parts.empty()) {
    printVector(code, stream.operand, stream.parts.size(), stream.array, memory, true);
  } else if (shape.vector == 1) {
    code.line(held(stream, shape, "") + " = " + memory + ";");
  } else if (stream.isVector) {
    printVector(code, stream.operand, shape.vector, held(stream, shape, ""), memory, true);
  } else {
    text.setName(dim, first.str() + " + " + shape.element);
    code.unroll().line("for (int " + shape.element + " = 0; " + shape.element + " < " +
                       shape.width + "; ++" + shape.element + ")");
    code.indent()
        .line(held(stream, shape, shape.element) + " = " + text.operand(stream.operand) + ";")
        .outdent();
  }
  text.setName(dim, dim);
}

void kbopt::printFill(CudaText &text, CodeLines &code, StringRef dim, StringRef extent,
                      const LaneShape &shape, ArrayRef<Stream> streams) {
  TurnLoop loop(code, shape, dim, extent);
  for (const Stream &stream : streams)
    fillOne(text, code, dim, shape, stream, loop.first);
  loop.close();
}

/// Every thread adds its sums to memory as it holds them.
static void addSums(CudaText &text, CodeLines &code, StringRef extent, const LaneShape &shape,
                    ArrayRef<std::pair<Stream, std::string>> sums) {
  TurnLoop loop(code, shape, sums.front().second, extent);
  if (shape.vector > 1)
    code.unroll().open("for (int " + shape.element + " = 0; " + shape.element + " < " +
                       shape.width + "; ++" + shape.element + ")");
  for (const auto &[stream, dim] : sums) {
    text.setName(dim, shape.vector > 1 ? loop.first + " + " + shape.element : loop.first);
    code.line("atomicAdd(&" + text.operand(stream.operand) + ", " +
              held(stream, shape, shape.element) + ");");
    text.setName(dim, dim);
  }
  if (shape.vector > 1)
    code.close();
  loop.close();
}

int64_t kbopt::printSums(CudaText &text, CodeLines &code, StringRef extent, const LaneShape &shape,
                         int64_t lanes, ArrayRef<std::pair<Stream, std::string>> sums) {
  constexpr int64_t mostBytes = 32 << 10;
  std::map<std::string, std::string> rows; // by type
  int64_t bytes = 0;
  for (const auto &[stream, dim] : sums)
    if (rows.try_emplace(elementType(stream)).second)
      bytes += shape.turns * lanes * shape.vector * stream.operand.getBytes();
  if (shape.vector == 1 || bytes > mostBytes) {
    addSums(text, code, extent, shape, sums);
    return 0;
  }
  // A thread has neighbouring elements: they change hands, so that the lanes of a warp add to
  // neighbouring ones.
  for (auto &[type, row] : rows) {
    row = text.freshName("ofRow");
    code.line("__shared__ " + type + " " + row + "[" + shape.chunks + " * " + shape.lanes + " * " +
              shape.width + "];");
  }
  for (const auto &[stream, dim] : sums) {
    const std::string &row = rows[elementType(stream)];
    if (&stream != &sums.front().first)
      code.line("__syncthreads();");
    TurnLoop loop(code, shape, dim, extent);
    code.unroll().line("for (int " + shape.element + " = 0; " + shape.element + " < " +
                       shape.width + "; ++" + shape.element + ")");
    code.indent()
        .line(row + "[" + loop.first + " + " + shape.element +
              "] = " + held(stream, shape, shape.element) + ";")
        .outdent();
    loop.close();
    code.line("__syncthreads();");
    code.line("for (int " + dim + " = " + shape.lane + "; " + dim + " < " + extent + "; " + dim +
              " += " + shape.lanes + ")");
    code.indent()
        .line("atomicAdd(&" + text.operand(stream.operand) + ", " + row + "[" + dim + "]);")
        .outdent();
  }
  return bytes;
}

void kbopt::printLaneLoop(CudaText &text, CodeLines &code, Block &body, StringRef dim,
                          StringRef extent, const LaneShape &shape, ArrayRef<Stream> streams,
                          const std::map<std::string, std::string> &partial) {
  TurnLoop loop(code, shape, dim, extent);
  printTurn(text, code, body, dim, loop.first, shape, streams, partial);
  loop.close();
}

void kbopt::printLaneLoops(CudaText &text, CodeLines &code, ArrayRef<LaneBody> bodies,
                           StringRef extent, const LaneShape &shape,
                           const std::map<std::string, std::string> &partial,
                           llvm::function_ref<void(size_t)> before) {
  TurnLoop loop(code, shape, bodies.front().dim, extent);
  for (const auto &[number, each] : llvm::enumerate(bodies)) {
    before(number);
    if (shape.vector == 1)
      text.setName(each.dim, loop.first);
    printTurn(text, code, *each.body, each.dim, loop.first, shape, each.streams, partial);
    text.setName(each.dim, each.dim);
  }
  loop.close();
}

void kbopt::printTurn(CudaText &text, CodeLines &code, Block &body, StringRef dim, StringRef first,
                      const LaneShape &shape, ArrayRef<Stream> streams,
                      const std::map<std::string, std::string> &partial) {
  auto streamOf = [&](kb::OperandAttr operand) -> const Stream * {
    if (operand.getKind() != kb::OperandKind::Element)
      return nullptr;
    std::string key = elementKey(text, operand, dim);
    auto found = llvm::find_if(streams, [&](const Stream &each) { return each.key == key; });
    return found == streams.end() ? nullptr : &*found;
  };
  for (const Stream &stream : streams)
    if (stream.place == Stream::Local) {
      code.line(declaration(stream, shape));
      if (stream.loads)
        fillOne(text, code, dim, shape, stream, first);
    }
  auto goesToMemory = [&](kb::OperandAttr target) {
    const Stream *stream = streamOf(target);
    return stream && stream->isOld;
  };
  bool isVector = shape.vector > 1;
  if (isVector)
    code.unroll().open("for (int " + shape.element + " = 0; " + shape.element + " < " +
                       shape.width + "; ++" + shape.element + ")");
  bool usesTarget = false;
  body.walk([&](kb::StoreOp store) { usesTarget |= goesToMemory(store.getTarget()); });
  if (isVector && (usesTarget || usesDim(body, dim, [&](kb::OperandAttr operand) {
                     return streamOf(operand) != nullptr;
                   })))
    code.line("const int " + dim.str() + " = " + first + " + " + shape.element + ";");
  auto replaced = [&](kb::OperandAttr operand) {
    if (const Stream *stream = streamOf(operand); stream && stream->parts.empty())
      return held(*stream, shape, shape.element);
    if (std::string part = partOf(text, streams, operand, dim); !part.empty())
      return part;
    return shape.outside ? shape.outside(operand) : std::string();
  };
  StatementPrinter print{text, code, replaced, partial};
  print.staysInMemory = goesToMemory;
  if (shape.loop)
    print.loops = [&](kb::OverOp over) { return shape.loop(code, over, replaced); };
  print.atomics = [&](kb::StoreOp store) {
    const Stream *stream = streamOf(store.getTarget());
    if (!stream || !stream->adds)
      return false;
    code.line(held(*stream, shape, shape.element) + " = " +
              text.fill(store.getText(), store.getOperands(), replaced) + ";");
    return true;
  };
  print.print(body);
  auto writeBack = [&](const Stream &stream, bool vectors) {
    if (!stream.stores || !stream.writesBack || (isVector && stream.isVector) != vectors)
      return;
    text.setName(dim, vectors || !isVector ? first.str() : first.str() + " + " + shape.element);
    std::string memory = text.operand(stream.operand);
    if (!stream.parts.empty())
      printVector(code, stream.operand, stream.parts.size(), stream.array, memory, false);
    else if (stream.adds)
      addVector(text, code, stream, dim, first, shape);
    else if (vectors)
      printVector(code, stream.operand, shape.vector, held(stream, shape, ""), memory, false);
    else
      code.line(memory + " = " + held(stream, shape, shape.element) + ";");
    text.setName(dim, dim);
  };
  for (const Stream &stream : streams)
    writeBack(stream, false);
  if (isVector)
    code.close();
  for (const Stream &stream : streams)
    writeBack(stream, true);
}
