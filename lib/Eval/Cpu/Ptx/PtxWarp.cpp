//===- PtxWarp.cpp - Barriers, warp operations, matrices ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Matrix.h"
#include "PtxTranslator.h"

using namespace llvm;

namespace kbopt::cpu {

bool PtxTranslator::translateSynchronisation(const Instruction &i) {
  StringRef op = i.parts[0];
  auto input = [&](unsigned n, Type *type) -> Value * {
    return n < i.operands.size() ? read(i.operands[n], type) : nullptr;
  };
  Type *i32 = b.getInt32Ty();
  // Hints and waits for what has happened already.
  if (op == "prefetch" || op == "prefetchu" || op == "discard" || op == "applypriority" ||
      op == "griddepcontrol" || op == "pmevent" || op == "setmaxnreg" || op == "brkpt")
    return true;
  if (op == "membar" || op == "fence") {
    if (i.has("proxy") || i.has("mbarrier_init"))
      return false;
    b.CreateFence(AtomicOrdering::SequentiallyConsistent,
                  i.has("cta") ? b.getContext().getOrInsertSyncScopeID("block")
                               : SyncScope::System);
    return true;
  }
  if (op == "createpolicy") {
    write(i.operands[0], b.getInt64(0));
    return true;
  }
  if (op == "trap" || op == "exit") {
    if (op == "trap")
      b.CreateIntrinsic(Intrinsic::trap, {});
    else
      nvvm("exit", {});
    return true;
  }
  if (op == "nanosleep") {
    Value *time = input(0, i32);
    return time && nvvm("nanosleep", {time});
  }
  if (op == "isspacep" && i.operands.size() == 2) {
    Value *address = input(1, b.getPtrTy());
    Value *is = address
                    ? nvvm("isspacep." + StringRef(i.parts[1]).split("::").first.str(), {address})
                    : nullptr;
    if (is)
      write(i.operands[0], is);
    return is;
  }
  if (op == "bar" && i.has("warp")) {
    Value *mask = input(0, i32);
    return mask && nvvm("bar.warp.sync", {mask});
  }
  if (op == "bar" || op == "barrier") {
    if (i.has("cluster"))
      return false;
    bool reduces = i.has("red");
    unsigned first = reduces ? 1 : 0;
    unsigned arguments = i.operands.size() - first - (reduces ? 1 : 0);
    Value *id = input(first, i32);
    Value *count = arguments > 1 ? input(first + 1, i32) : nullptr;
    if (!id || (arguments > 1 && !count))
      return false;
    std::string suffix = count ? "count" : "all";
    SmallVector<Value *> values{id};
    if (count)
      values.push_back(count);
    if (i.has("arrive"))
      return nvvm("barrier.cta.arrive.aligned." + suffix, values);
    if (!reduces)
      return nvvm("barrier.cta.sync.aligned." + suffix, values);
    Value *predicate = readPredicate(i.operands.back());
    if (!predicate)
      return false;
    values.push_back(predicate);
    std::string kind = i.has("popc") ? "popc" : i.has("and") ? "and" : "or";
    Value *result = nvvm("barrier.cta.red." + kind + ".aligned." + suffix, values);
    if (result)
      write(i.operands[0], result);
    return result;
  }
  if (op == "activemask") {
    write(i.operands[0], nvvm("activemask", {}));
    return true;
  }
  if (op == "shfl" && i.has("sync") && i.operands.size() == 5) {
    Value *value = input(1, i32), *lane = input(2, i32), *clamp = input(3, i32),
          *mask = input(4, i32);
    if (!value || !lane || !clamp || !mask)
      return false;
    Value *pair = nvvm("shfl.sync." + i.parts[2] + ".i32p", {mask, value, lane, clamp});
    if (!pair)
      return false;
    Operand target = i.operands[0];
    target.elements.clear();
    if (!i.operands[0].elements.empty())
      write(i.operands[0].elements[0], b.CreateExtractValue(pair, 1));
    write(target, b.CreateExtractValue(pair, 0));
    return true;
  }
  if (op == "vote" && i.has("sync") && i.operands.size() == 3) {
    Value *predicate = readPredicate(i.operands[1]), *mask = input(2, i32);
    if (!predicate || !mask)
      return false;
    Value *result = nvvm("vote." + i.parts[2] + ".sync", {mask, predicate});
    if (result)
      write(i.operands[0], result);
    return result;
  }
  if (op == "match" && i.operands.size() == 3) {
    PtxType type = instructionType(i);
    Value *value = type ? input(1, type.type) : nullptr, *mask = input(2, i32);
    if (!value || !mask)
      return false;
    std::string width = type.type->isIntegerTy(64) ? "i64" : "i32";
    if (i.has("any")) {
      write(i.operands[0], nvvm("match.any.sync." + width, {mask, value}));
      return true;
    }
    Value *pair = nvvm("match.all.sync." + width + "p", {mask, value});
    Operand target = i.operands[0];
    target.elements.clear();
    if (!i.operands[0].elements.empty())
      write(i.operands[0].elements[0], b.CreateExtractValue(pair, 1));
    write(target, b.CreateExtractValue(pair, 0));
    return true;
  }
  if (op == "redux" && i.operands.size() == 3) {
    PtxType type = instructionType(i);
    Value *value = input(1, i32), *mask = input(2, i32);
    if (!value || !mask || !type || type.isFloat())
      return false;
    std::string kind = i.parts[2];
    if (!type.isSigned && (kind == "min" || kind == "max"))
      kind = "u" + kind;
    Value *result = nvvm("redux.sync." + kind, {value, mask});
    if (result)
      write(i.operands[0], result);
    return result;
  }
  if (op == "elect" && i.operands.size() == 2) {
    Value *mask = input(1, i32);
    if (!mask)
      return false;
    Value *leader = b.CreateBinaryIntrinsic(Intrinsic::cttz, mask, b.getFalse());
    if (!i.operands[0].elements.empty())
      write(i.operands[0].elements[0], b.CreateICmpEQ(leader, nvvm("read.ptx.sreg.laneid", {})));
    Operand target = i.operands[0];
    target.elements.clear();
    write(target, leader);
    return true;
  }
  return false;
}

/// The registers of a `{a, b}` or of a single operand.
static std::vector<PtxOperand> registersOf(const PtxOperand &operand) {
  return operand.kind == PtxOperand::Vector ? operand.elements : std::vector<PtxOperand>{operand};
}

/// What one register of a fragment of \p type is.
static Type *registerType(IRBuilder<> &b, kbrt::MmaType type) {
  return type == kbrt::MmaType::F64   ? b.getDoubleTy()
         : type == kbrt::MmaType::F32 ? b.getFloatTy()
                                      : b.getInt32Ty();
}

bool PtxTranslator::translateMatrix(const Instruction &i) {
  StringRef op = i.parts[0];
  if ((op == "ldmatrix" || op == "stmatrix") && i.operands.size() == 2 && i.has("m8n8") &&
      i.has("b16")) {
    bool isLoad = op == "ldmatrix";
    const Operand &data = i.operands[isLoad ? 0 : 1];
    Value *address = readAddress(i.operands[isLoad ? 1 : 0], Shared);
    std::vector<Operand> registers = registersOf(data);
    if (!address)
      return false;
    if (isLoad) {
      std::vector<Value *> values =
          emitLoadMatrix(context, b, call, address, registers.size(), i.has("trans"));
      for (size_t n = 0; n < values.size(); ++n)
        write(registers[n], values[n]);
      return true;
    }
    std::vector<Value *> values;
    for (const Operand &one : registers) {
      values.push_back(read(one, b.getInt32Ty()));
      if (!values.back())
        return false;
    }
    emitStoreMatrix(context, b, call, address, values, i.has("trans"));
    return true;
  }
  if (op != "mma" || i.has("sp") || i.operands.size() != 4 || i.has("block_scale"))
    return false;
  kbrt::MmaShape shape{};
  shape.layout = kbrt::MmaLayout::Mma;
  bool hasShape = false;
  std::vector<kbrt::MmaType> named;
  for (const std::string &part : i.parts) {
    hasShape |= parseMatrixShape(part, shape);
    if (std::optional<kbrt::MmaType> type = parseMatrixType(part))
      named.push_back(*type);
  }
  // m8n8k4 of half has layouts of its own.
  if (!hasShape || named.size() != 4 || !i.has("row") || !i.has("col") ||
      (shape.m == 8 && named[1] == kbrt::MmaType::F16))
    return false;
  shape.dType = named[0], shape.aType = named[1], shape.bType = named[2], shape.cType = named[3];
  shape.saturate = i.has("satfinite");
  shape.isXor = i.has("xor");
  std::vector<Value *> fragments[3];
  for (unsigned n = 0; n < 3; ++n) {
    kbrt::MmaType type = n == 0 ? shape.aType : n == 1 ? shape.bType : shape.cType;
    for (const Operand &one : registersOf(i.operands[n + 1])) {
      fragments[n].push_back(read(one, registerType(b, type)));
      if (!fragments[n].back())
        return false;
    }
  }
  std::vector<Operand> registers = registersOf(i.operands[0]);
  std::vector<Value *> results =
      emitMatrixMultiply(context, b, call, shape, fragments[0], fragments[1], fragments[2],
                         std::vector<Type *>(registers.size(), registerType(b, shape.dType)));
  for (size_t n = 0; n < results.size(); ++n)
    write(registers[n], results[n]);
  return true;
}

} // namespace kbopt::cpu
