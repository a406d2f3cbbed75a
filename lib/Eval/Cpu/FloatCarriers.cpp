//===- FloatCarriers.cpp - Integers that hold floating-point numbers ------===//
// SPDX-License-Identifier: Apache-2.0
#include "FloatCarriers.h"
#include "llvm/IR/InstIterator.h"

using namespace llvm;
using kbrt::FloatFormat;

namespace kbopt::cpu {

std::optional<FloatFormat> floatFormatOf(const Type *type) {
  type = type->getScalarType();
  if (type->isHalfTy())
    return FloatFormat::F16;
  if (type->isBFloatTy())
    return FloatFormat::BF16;
  if (type->isFloatTy())
    return FloatFormat::F32;
  if (type->isDoubleTy())
    return FloatFormat::F64;
  return std::nullopt;
}

unsigned bitsOf(FloatFormat format) {
  switch (format) {
  case FloatFormat::F16:
  case FloatFormat::BF16:
    return 16;
  case FloatFormat::F32:
    return 32;
  case FloatFormat::F64:
    return 64;
  }
  llvm_unreachable("no other format");
}

Type *typeOf(FloatFormat format, LLVMContext &context) {
  switch (format) {
  case FloatFormat::F16:
    return Type::getHalfTy(context);
  case FloatFormat::BF16:
    return Type::getBFloatTy(context);
  case FloatFormat::F32:
    return Type::getFloatTy(context);
  case FloatFormat::F64:
    return Type::getDoubleTy(context);
  }
  llvm_unreachable("no other format");
}

bool isShuffle(const CallBase &call) {
  const Function *callee = call.getCalledFunction();
  return callee && callee->getName().starts_with("llvm.nvvm.shfl.sync.");
}

/// The type whose bits count: of a pair that a shuffle or an exchange gives, the first.
static const Type *contentOf(const Type *type) {
  if (auto *pair = dyn_cast<StructType>(type))
    return pair->getNumElements() > 0 ? pair->getElementType(0) : type;
  return type;
}

FloatCarriers::FloatCarriers(Function &function) {
  for (Instruction &instruction : instructions(function))
    visit(instruction);
  for (auto [value, format] : evidence) {
    auto [known, isNew] = formats.try_emplace(classes.getOrInsertLeaderValue(value), format);
    if (!isNew && known->second != format)
      known->second = std::nullopt;
  }
}

void FloatCarriers::join(const Value *a, const Value *b) {
  if (!isa<Constant>(a) && !isa<Constant>(b))
    classes.unionSets(a, b);
}

void FloatCarriers::note(const Value *value, FloatFormat format) {
  if (!isa<Constant>(value))
    evidence.push_back({value, format});
}

void FloatCarriers::visit(Instruction &instruction) {
  const bool isInteger = contentOf(instruction.getType())->isIntOrIntVectorTy();
  if (auto *cast = dyn_cast<BitCastInst>(&instruction)) {
    const Value *source = cast->getOperand(0);
    const bool fromInteger = source->getType()->isIntOrIntVectorTy();
    if (isInteger && fromInteger)
      join(cast, source);
    else if (std::optional<FloatFormat> format = floatFormatOf(source->getType());
             format && isInteger)
      note(cast, *format);
    else if (std::optional<FloatFormat> into = floatFormatOf(cast->getType()); into && fromInteger)
      note(source, *into);
    return;
  }
  if (!isInteger)
    return;
  switch (instruction.getOpcode()) {
  case Instruction::PHI:
  case Instruction::Freeze:
  case Instruction::Or:
  case Instruction::ShuffleVector:
    for (const Value *operand : instruction.operand_values())
      join(&instruction, operand);
    return;
  case Instruction::InsertElement:
    join(&instruction, instruction.getOperand(0));
    join(&instruction, instruction.getOperand(1));
    return;
  case Instruction::Select:
    join(&instruction, instruction.getOperand(1));
    join(&instruction, instruction.getOperand(2));
    return;
  case Instruction::Trunc:
  case Instruction::ZExt:
  case Instruction::ExtractElement:
  case Instruction::ExtractValue:
    join(&instruction, instruction.getOperand(0));
    return;
  case Instruction::Shl:
  case Instruction::LShr:
  case Instruction::And:
    if (isa<Constant>(instruction.getOperand(1)))
      join(&instruction, instruction.getOperand(0));
    return;
  case Instruction::AtomicCmpXchg:
    join(&instruction, cast<AtomicCmpXchgInst>(instruction).getNewValOperand());
    return;
  case Instruction::AtomicRMW:
    if (cast<AtomicRMWInst>(instruction).getOperation() == AtomicRMWInst::Xchg)
      join(&instruction, cast<AtomicRMWInst>(instruction).getValOperand());
    return;
  case Instruction::Call:
    if (auto &call = cast<CallBase>(instruction); isShuffle(call))
      join(&call, call.getArgOperand(1));
    return;
  default:
    return;
  }
}

std::optional<FloatFormat> FloatCarriers::formatOf(const Value *value) const {
  const Type *type = contentOf(value->getType());
  if (std::optional<FloatFormat> format = floatFormatOf(type))
    return format;
  if (!type->isIntOrIntVectorTy())
    return std::nullopt;
  auto known = classes.findLeader(value);
  auto found = formats.find(known == classes.member_end() ? value : *known);
  if (found == formats.end() || !found->second)
    return std::nullopt;
  const unsigned bits = type->getPrimitiveSizeInBits().getFixedValue();
  return bits % bitsOf(*found->second) == 0 ? found->second : std::nullopt;
}

} // namespace kbopt::cpu
