//===- PtxMemory.cpp - ld, st, atom, red, cp.async ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Steps.h"
#include "PtxTranslator.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace kbopt::cpu {

static unsigned spaceOf(const PtxInstruction &i) {
  for (const std::string &part : i.parts) {
    StringRef name = StringRef(part).split("::").first;
    if (name == "global")
      return Global;
    if (name == "shared")
      return StringRef(part).contains("cluster") ? unsigned(Param) : unsigned(Shared);
    if (name == "const")
      return Const;
    if (name == "local")
      return Local;
    if (name == "param")
      return Param;
  }
  return Flat;
}

static AtomicOrdering orderingOf(const PtxInstruction &i) {
  if (i.has("acquire"))
    return AtomicOrdering::Acquire;
  if (i.has("release"))
    return AtomicOrdering::Release;
  if (i.has("acq_rel"))
    return AtomicOrdering::AcquireRelease;
  return AtomicOrdering::Monotonic;
}

static SyncScope::ID scopeOf(const PtxInstruction &i, IRBuilderBase &b) {
  return i.has("cta") ? b.getContext().getOrInsertSyncScopeID("block") : SyncScope::System;
}

/// Modifiers that change what is cached or when, not what is read or written.
static bool isHint(StringRef part) {
  return part.starts_with("L1::") || part.starts_with("L2::") ||
         StringSwitch<bool>(part)
             .Cases({"ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "weak", "volatile"}, true)
             .Cases({"relaxed", "acquire", "release", "acq_rel", "mmio"}, true)
             .Cases({"cta", "cluster", "gpu", "sys", "v2", "v4", "v8", "unified"}, true)
             .Cases({"noftz", "async", "L2"}, true)
             .Default(false);
}

/// Elements that a vector form has, 1 without one.
static unsigned vectorLength(const PtxInstruction &i) {
  return i.has("v2") ? 2 : i.has("v4") ? 4 : i.has("v8") ? 8 : 1;
}

Value *PtxTranslator::loadElement(Type *type, Value *address, const Instruction &i,
                                  unsigned align) {
  LoadInst *load = b.CreateAlignedLoad(type, address, Align(align));
  if (i.has("nc"))
    load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(b.getContext(), {}));
  load->setVolatile(i.has("volatile"));
  if ((i.has("relaxed") || i.has("acquire")) && !type->isVectorTy())
    load->setAtomic(orderingOf(i), SyncScope::System);
  return load;
}

bool PtxTranslator::translateMemory(const Instruction &i) {
  StringRef op = i.parts[0];
  bool isLoad = op == "ld" || op == "ldu";
  if ((!isLoad && op != "st") || i.operands.size() < 2)
    return false;
  PtxType type = instructionType(i);
  unsigned space = spaceOf(i);
  if (!type || space == Param)
    return false;
  for (size_t n = 1; n + 1 < i.parts.size(); ++n) {
    StringRef name = StringRef(i.parts[n]).split("::").first;
    if (!isHint(i.parts[n]) && name != "global" && name != "shared" && name != "const" &&
        name != "local")
      return false;
  }
  Value *address = readAddress(i.operands[isLoad ? 1 : 0], space);
  if (!address)
    return false;
  const Operand &data = i.operands[isLoad ? 0 : 1];
  unsigned count = vectorLength(i);
  unsigned bytes = type.type->getPrimitiveSizeInBits().getFixedValue() / 8;
  if (count > 1 && (data.kind != Operand::Vector || data.elements.size() != count))
    return false;
  Type *whole = count > 1 ? (Type *)FixedVectorType::get(type.type, count) : type.type;
  if (count > 1 && type.type->isVectorTy())
    whole = FixedVectorType::get(b.getIntNTy(bytes * 8), count);
  Type *element = count > 1 ? cast<VectorType>(whole)->getElementType() : whole;
  if (isLoad) {
    Value *value = loadElement(whole, address, i, count * bytes);
    if (count == 1)
      write(data, value, type.isSigned);
    for (unsigned n = 0; count > 1 && n < count; ++n)
      write(data.elements[n], b.CreateExtractElement(value, n), type.isSigned);
    return true;
  }
  Value *value = PoisonValue::get(whole);
  for (unsigned n = 0; n < count; ++n) {
    Value *part = read(count > 1 ? data.elements[n] : data, element);
    if (!part)
      return false;
    value = count > 1 ? b.CreateInsertElement(value, part, n) : part;
  }
  StoreInst *store = b.CreateAlignedStore(value, address, Align(count * bytes));
  store->setVolatile(i.has("volatile"));
  if ((i.has("relaxed") || i.has("release")) && count == 1)
    store->setAtomic(orderingOf(i), scopeOf(i, b));
  return true;
}

/// What an atom or red does; BAD_BINOP if it is not known.
static AtomicRMWInst::BinOp operationOf(const PtxInstruction &i, bool isFloat, bool isSigned) {
  using Rmw = AtomicRMWInst;
  Rmw::BinOp operation = Rmw::BAD_BINOP;
  for (const std::string &part : i.parts) {
    auto found = StringSwitch<Rmw::BinOp>(part)
                     .Case("add", isFloat ? Rmw::FAdd : Rmw::Add)
                     .Case("min", isFloat    ? Rmw::FMin
                                  : isSigned ? Rmw::Min
                                             : Rmw::UMin)
                     .Case("max", isFloat    ? Rmw::FMax
                                  : isSigned ? Rmw::Max
                                             : Rmw::UMax)
                     .Case("and", Rmw::And)
                     .Case("or", Rmw::Or)
                     .Case("xor", Rmw::Xor)
                     .Case("exch", Rmw::Xchg)
                     .Case("inc", Rmw::UIncWrap)
                     .Case("dec", Rmw::UDecWrap)
                     .Default(Rmw::BAD_BINOP);
    if (found != Rmw::BAD_BINOP)
      operation = found;
  }
  return operation;
}

/// atom{.sem}{.scope}{.space}.op{.vec}.type d, [a], b{, c}; red is the same without d. A vector is
/// as many atomics of its elements, of which each alone is atomic (PTX ISA, "atom").
bool PtxTranslator::translateAtomic(const Instruction &i) {
  bool isReduction = i.parts[0] == "red";
  if (i.parts[0] != "atom" && !isReduction)
    return false;
  PtxType type = instructionType(i);
  unsigned space = spaceOf(i), first = isReduction ? 0 : 1;
  if (!type || space == Param || i.operands.size() < first + 2 || type.type->isIntegerTy(128))
    return false;
  Value *address = readAddress(i.operands[first], space);
  unsigned count = vectorLength(i);
  if (count > 1)
    return address && translateVectorAtomic(i, type, address, count);
  Value *value = read(i.operands[first + 1], type.type);
  if (!address || !value)
    return false;
  unsigned bytes = type.type->getPrimitiveSizeInBits().getFixedValue() / 8;
  if (i.has("cas")) {
    Value *desired =
        i.operands.size() > first + 2 ? read(i.operands[first + 2], type.type) : nullptr;
    if (!desired)
      return false;
    Value *pair =
        b.CreateAtomicCmpXchg(address, value, desired, Align(bytes), AtomicOrdering::Monotonic,
                              AtomicOrdering::Monotonic, scopeOf(i, b));
    if (!isReduction)
      write(i.operands[0], b.CreateExtractValue(pair, 0));
    return true;
  }
  AtomicRMWInst::BinOp operation = operationOf(i, type.isFloat(), type.isSigned);
  if (operation == AtomicRMWInst::BAD_BINOP)
    return false;
  Value *old =
      b.CreateAtomicRMW(operation, address, value, Align(bytes), orderingOf(i), scopeOf(i, b));
  if (!isReduction)
    write(i.operands[0], old);
  return true;
}

bool PtxTranslator::translateVectorAtomic(const Instruction &i, PtxType type, Value *address,
                                          unsigned count) {
  bool isReduction = i.parts[0] == "red";
  auto operation = operationOf(i, type.isFloat(), type.isSigned);
  unsigned bytes = type.type->getPrimitiveSizeInBits().getFixedValue() / 8;
  auto isVector = [&](const Operand &operand) {
    return operand.kind == Operand::Vector && operand.elements.size() == count;
  };
  if (operation == AtomicRMWInst::BAD_BINOP || i.operands.size() < (isReduction ? 2 : 3) ||
      !llvm::all_of(i.operands, [&](const Operand &each) {
        return (&each == &i.operands[isReduction ? 0 : 1]) != isVector(each);
      }))
    return false;
  const Operand &data = i.operands[isReduction ? 1 : 2];
  SmallVector<Value *> added, old;
  for (unsigned n = 0; n < count; ++n)
    if (Value *value = read(data.elements[n], type.type))
      added.push_back(value);
  if (added.size() != count)
    return false;
  for (unsigned n = 0; n < count; ++n) {
    Value *at = n ? b.CreateConstGEP1_32(type.type, address, n) : address;
    old.push_back(b.CreateAtomicRMW(operation, at, added[n], Align(n ? bytes : count * bytes),
                                    orderingOf(i), scopeOf(i, b)));
  }
  for (unsigned n = 0; !isReduction && n < count; ++n)
    write(i.operands[0].elements[n], old[n]);
  return true;
}

/// cp.async{.ca,.cg}.shared.global [d], [s], size{, source size}: a copy that
/// is complete at once; commit and wait only tell the checks.
bool PtxTranslator::translateAsyncCopy(const Instruction &i) {
  if (i.parts[0] != "cp" || !i.has("async"))
    return false;
  if (i.has("commit_group") || i.has("wait_all")) {
    noteAsyncWait(context, b, i.has("wait_all") ? (Value *)b.getInt32(~0u) : nullptr);
    return true;
  }
  if (i.has("wait_group")) {
    Value *groups = i.operands.empty() ? nullptr : read(i.operands[0], b.getInt32Ty());
    if (!groups)
      return false;
    noteAsyncWait(context, b, groups);
    return true;
  }
  if (i.has("bulk") || i.has("mbarrier") || i.operands.size() < 3)
    return false;
  Value *destination = readAddress(i.operands[0], Shared);
  Value *source = readAddress(i.operands[1], Global);
  const Operand &size = i.operands[2];
  Value *bytes = read(size, b.getInt64Ty());
  auto *constant = dyn_cast_or_null<ConstantInt>(bytes);
  if (!destination || !source || !constant)
    return false;
  unsigned total = constant->getZExtValue();
  if (total != 4 && total != 8 && total != 16)
    return false;
  Type *type =
      total == 16 ? (Type *)FixedVectorType::get(b.getInt64Ty(), 2) : b.getIntNTy(total * 8);
  if (i.operands.size() == 3 || i.has("L2::cache_hint")) {
    b.CreateAlignedStore(b.CreateAlignedLoad(type, source, Align(total)), destination,
                         Align(total));
    noteAsyncCopy(context, b, call, destination, total);
    return true;
  }
  // Bytes from the source size on are filled with zeros; a predicate as the
  // fourth operand means that the source is ignored.
  Value *used = readRaw(i.operands[3]);
  if (i.operands[3].kind == Operand::Immediate)
    used = b.getInt32(i.operands[3].value);
  if (!used)
    return false;
  Value *valid = used->getType()->isIntegerTy(1)
                     ? b.CreateSelect(used, b.getInt64(0), b.getInt64(total))
                     : b.CreateZExtOrTrunc(used, b.getInt64Ty());
  b.CreateMemSet(destination, b.getInt8(0), total, Align(total));
  b.CreateMemCpy(destination, Align(total), source, Align(total),
                 b.CreateBinaryIntrinsic(Intrinsic::umin, valid, b.getInt64(total)));
  noteAsyncCopy(context, b, call, destination, total);
  return true;
}

} // namespace kbopt::cpu
