//===- PtxTranslator.cpp - Registers, operands, predicates ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "PtxTranslator.h"
#include "../Steps.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace kbopt::cpu {

PtxTranslator::PtxTranslator(ImageContext &context, CallInst &call)
    : context(context), call(call), b(&call), ops(context, b) {}

PtxType PtxTranslator::typeOf(StringRef s) const {
  LLVMContext &c = b.getContext();
  auto integer = [&](unsigned bits, bool isSigned) {
    return PtxType{IntegerType::get(c, bits), isSigned};
  };
  unsigned bits = 0;
  if (s.size() > 1 && (s[0] == 'b' || s[0] == 'u' || s[0] == 's') &&
      !s.drop_front().getAsInteger(10, bits) && bits >= 8)
    return integer(bits, s[0] == 's');
  if (s == "s16x2" || s == "u16x2")
    return {FixedVectorType::get(Type::getInt16Ty(c), 2), s[0] == 's'};
  Type *type = StringSwitch<Type *>(s)
                   .Case("pred", Type::getInt1Ty(c))
                   .Case("f16", Type::getHalfTy(c))
                   .Case("f16x2", FixedVectorType::get(Type::getHalfTy(c), 2))
                   .Case("bf16", Type::getBFloatTy(c))
                   .Case("bf16x2", FixedVectorType::get(Type::getBFloatTy(c), 2))
                   .Case("f32", Type::getFloatTy(c))
                   .Case("f32x2", FixedVectorType::get(Type::getFloatTy(c), 2))
                   .Case("f64", Type::getDoubleTy(c))
                   .Default(nullptr);
  return {type, true};
}

PtxType PtxTranslator::instructionType(const Instruction &i, unsigned skip) const {
  for (size_t n = i.parts.size(); n-- > 1;)
    if (PtxType type = typeOf(i.parts[n]))
      if (skip-- == 0)
        return type;
  return {};
}

Modifiers PtxTranslator::modifiersOf(const Instruction &i) {
  Modifiers m;
  for (size_t n = 1; n < i.parts.size(); ++n)
    m.accept(i.parts[n]);
  return m;
}

std::string PtxTranslator::keyOf(const Operand &operand) const {
  return operand.kind == Operand::AsmOperand ? "$" + std::to_string(operand.index) : operand.name;
}

static Type *integerLike(Type *type) {
  unsigned bits = type->getPrimitiveSizeInBits().getFixedValue();
  return IntegerType::get(type->getContext(), bits ? bits : 64);
}

Value *PtxTranslator::coerce(Value *value, Type *type, bool isSigned) {
  Type *from = value->getType();
  if (from == type)
    return value;
  if (from->isPointerTy())
    value = b.CreatePtrToInt(value, b.getInt64Ty());
  else if (!from->isIntegerTy())
    value = b.CreateBitCast(value, integerLike(from));
  if (type->isPointerTy())
    return b.CreateIntToPtr(b.CreateZExtOrTrunc(value, b.getInt64Ty()), type);
  Type *integer = integerLike(type);
  value = isSigned ? b.CreateSExtOrTrunc(value, integer) : b.CreateZExtOrTrunc(value, integer);
  return b.CreateBitCast(value, type);
}

Value *PtxTranslator::readRaw(const Operand &operand) {
  if (operand.kind == Operand::Register && operand.name[0] == '%' && !values.count(operand.name) &&
      !types.count(operand.name)) {
    // Special registers; cluster and lane masks have an underscore in PTX.
    std::string name = operand.name.substr(1);
    for (const char *prefix : {"lanemask_", "cluster_"})
      if (StringRef(name).starts_with(prefix))
        name[strlen(prefix) - 1] = '.';
    if (name == "WARP_SZ")
      return b.getInt32(32);
    if (StringRef(name).starts_with("reserved_smem_offset"))
      return b.CreateTrunc(b.CreatePtrToInt(reservedShared(), b.getInt64Ty()), b.getInt32Ty());
    if (name == "globaltimer_lo")
      name = "globaltimer.lo";
    if (name == "clock_hi" || name == "globaltimer_hi")
      return nullptr;
    return nvvm("read.ptx.sreg." + name, {});
  }
  auto found = values.find(keyOf(operand));
  if (found != values.end())
    return found->second;
  auto declared = types.find(keyOf(operand));
  if (operand.name == "WARP_SZ")
    return b.getInt32(32);
  return declared == types.end() ? nullptr : PoisonValue::get(declared->second);
}

Value *PtxTranslator::read(const Operand &operand, Type *type) {
  switch (operand.kind) {
  case Operand::Immediate:
    if (type->isFloatingPointTy())
      return ConstantFP::get(type, double(operand.value));
    return coerce(b.getInt64(operand.value), type);
  case Operand::Float32:
    return coerce(b.getInt32(operand.value), type);
  case Operand::Float64: {
    double value = bit_cast<double>(operand.value);
    return ConstantFP::get(type, value);
  }
  case Operand::Vector: {
    // mov.b32 d, {lo, hi} and the like: elements from the low bits on.
    unsigned bits = type->getPrimitiveSizeInBits().getFixedValue();
    Type *element = b.getIntNTy(bits / operand.elements.size());
    Type *whole = b.getIntNTy(bits);
    Value *packed = ConstantInt::get(whole, 0);
    for (size_t n = 0; n < operand.elements.size(); ++n) {
      Value *part = read(operand.elements[n], element);
      if (!part)
        return nullptr;
      packed = b.CreateOr(
          packed, b.CreateShl(b.CreateZExt(part, whole), n * element->getIntegerBitWidth()));
    }
    return coerce(packed, type);
  }
  case Operand::Register:
  case Operand::AsmOperand: {
    Value *value = readRaw(operand);
    if (!value)
      return nullptr;
    value = coerce(value, type);
    return operand.negated ? b.CreateNot(value) : value;
  }
  default:
    return nullptr;
  }
}

Value *PtxTranslator::readPredicate(const Operand &operand) { return read(operand, b.getInt1Ty()); }

/// Shared memory that the driver keeps for itself; cooperative groups use it.
Value *PtxTranslator::reservedShared() {
  constexpr StringLiteral name = "kb.reserved.shared";
  GlobalVariable *global = context.module.getNamedGlobal(name);
  if (!global) {
    auto *type = ArrayType::get(b.getInt8Ty(), 1024);
    global = new GlobalVariable(context.module, type, false, GlobalValue::ExternalLinkage,
                                UndefValue::get(type), name, nullptr, GlobalValue::NotThreadLocal,
                                Shared, true);
  }
  return global;
}

/// The flat pointer of a 32-bit shared address, which is the low half of one.
/// Lowering.cpp completes it from where shared memory lies.
Value *PtxTranslator::sharedPointer(Value *address) {
  FunctionCallee helper =
      context.module.getOrInsertFunction(sharedPointerFunction, b.getPtrTy(Shared), b.getInt32Ty());
  auto *function = cast<Function>(helper.getCallee());
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->setWillReturn();
  Value *pointer = b.CreateCall(helper, {b.CreateZExtOrTrunc(address, b.getInt32Ty())});
  return b.CreateAddrSpaceCast(pointer, b.getPtrTy());
}

Value *PtxTranslator::readAddress(const Operand &operand, unsigned space) {
  if (operand.kind != Operand::Address)
    return nullptr;
  Operand base;
  base.kind = operand.baseIsOperand ? Operand::AsmOperand : Operand::Register;
  base.name = operand.name;
  base.index = operand.index;
  Value *value = readRaw(base);
  if (!value)
    return nullptr;
  Value *offset = b.getInt64(operand.value);
  if (!operand.elements.empty()) {
    offset = read(operand.elements[0], b.getInt64Ty());
    if (!offset)
      return nullptr;
  }
  Value *pointer;
  if (value->getType()->isIntegerTy(32)) {
    if (space != Shared)
      return nullptr;
    pointer = sharedPointer(value);
  } else {
    pointer = coerce(value, b.getPtrTy());
    if (space != Flat)
      pointer =
          b.CreateAddrSpaceCast(b.CreateAddrSpaceCast(pointer, b.getPtrTy(space)), b.getPtrTy());
  }
  return b.CreateGEP(b.getInt8Ty(), pointer, offset);
}

void PtxTranslator::write(const Operand &operand, Value *value, bool isSigned) {
  if (operand.kind == Operand::Ignored)
    return;
  if (operand.kind == Operand::Vector) {
    // mov.b32 {lo, hi}, s.
    unsigned bits = value->getType()->getPrimitiveSizeInBits().getFixedValue();
    Value *whole = coerce(value, b.getIntNTy(bits));
    Type *element = b.getIntNTy(bits / operand.elements.size());
    for (size_t n = 0; n < operand.elements.size(); ++n)
      write(operand.elements[n],
            b.CreateTrunc(b.CreateLShr(whole, n * element->getIntegerBitWidth()), element));
    return;
  }
  std::string key = keyOf(operand);
  auto declared = types.find(key);
  values[key] = declared == types.end() ? value : coerce(value, declared->second, isSigned);
}

Value *PtxTranslator::nvvm(StringRef name, ArrayRef<Value *> arguments) {
  Intrinsic::ID id = Intrinsic::lookupIntrinsicID(("llvm.nvvm." + name).str());
  if (id == Intrinsic::not_intrinsic || Intrinsic::isOverloaded(id))
    return nullptr;
  FunctionType *type = Intrinsic::getType(b.getContext(), id);
  if (type->getNumParams() != arguments.size())
    return nullptr;
  SmallVector<Value *> coerced;
  for (unsigned n = 0; n < arguments.size(); ++n)
    coerced.push_back(coerce(arguments[n], type->getParamType(n)));
  return b.CreateIntrinsic(id, {}, coerced);
}

/// Which operand is what: outputs first, then inputs; a tied input is the
/// output's first value.
bool PtxTranslator::bindOperands() {
  auto *assembly = cast<InlineAsm>(call.getCalledOperand());
  InlineAsm::ConstraintInfoVector constraints = assembly->ParseConstraints();
  unsigned number = 0, argument = 0;
  Type *result = call.getType();
  for (InlineAsm::ConstraintInfo &constraint : constraints) {
    if (constraint.Type == InlineAsm::isClobber || constraint.Type == InlineAsm::isLabel)
      continue;
    if (constraint.isIndirect)
      return false;
    std::string key = "$" + std::to_string(number++);
    if (constraint.Type == InlineAsm::isOutput) {
      auto *structure = dyn_cast<StructType>(result);
      Type *type = structure ? structure->getElementType(outputs.size()) : result;
      outputs.push_back(type);
      types[key] = type;
      continue;
    }
    Value *value = call.getArgOperand(argument++);
    values[key] = value;
    types[key] = value->getType();
    if (constraint.hasMatchingInput() ||
        (!constraint.Codes.empty() && isDigit(constraint.Codes[0][0]))) {
      std::string tied = "$" + constraint.Codes[0];
      values[tied] = coerce(value, types[tied]);
    }
  }
  return argument == call.arg_size();
}

bool PtxTranslator::translatePredicated(const Instruction &i) {
  Value *condition = readPredicate(i.predicate);
  if (!condition)
    return false;
  llvm::Instruction *then =
      SplitBlockAndInsertIfThen(condition, b.GetInsertPoint(), /*Unreachable=*/false);
  BasicBlock *before = then->getParent()->getSinglePredecessor();
  std::map<std::string, Value *> saved = values;
  b.SetInsertPoint(then);
  b.SetCurrentDebugLocation(call.getDebugLoc());
  bool understood = translate(i);
  BasicBlock *from = b.GetInsertBlock();
  b.SetInsertPoint(&call);
  for (auto &[key, value] : values) {
    auto old = saved.find(key);
    Value *previous = old != saved.end() ? old->second : PoisonValue::get(value->getType());
    if (previous == value)
      continue;
    if (previous->getType() != value->getType())
      return false;
    IRBuilder<> atStart(call.getParent(), call.getParent()->begin());
    PHINode *merged = atStart.CreatePHI(value->getType(), 2);
    merged->addIncoming(previous, before);
    merged->addIncoming(value, from);
    value = merged;
  }
  return understood;
}

bool PtxTranslator::translate(const Instruction &i) {
  return translateMove(i) || translateFp8(i) || translateConvert(i) || translateCompare(i) ||
         translateTest(i) || translateLanes(i) || translateCarry(i) || translateFloat(i) ||
         translateInteger(i) || translateBits(i) || translateMemory(i) || translateAtomic(i) ||
         translateTensorCopy(i) || translateAsyncCopy(i) || translateMbarrier(i) ||
         translateWgmma(i) || translateSynchronisation(i) || translateMatrix(i);
}

std::optional<std::string> PtxTranslator::run() {
  auto *assembly = cast<InlineAsm>(call.getCalledOperand());
  Expected<PtxText> parsed = parsePtx(assembly->getAsmString());
  if (!parsed) {
    std::string what = toString(parsed.takeError());
    return "asm " + StringRef(what).split('\n').first.str();
  }
  text = std::move(*parsed);
  if (!bindOperands())
    return std::string("asm with memory operands");
  for (PtxRegister &declared : text.registers) {
    PtxType type = typeOf(declared.type);
    if (!type)
      return "asm .reg ." + declared.type;
    types[declared.name] = type.type;
  }
  for (const PtxInstruction &instruction : text.instructions)
    if (!(instruction.predicated ? translatePredicated(instruction) : translate(instruction)))
      return "asm " + instruction.mnemonic;
  if (outputs.empty()) {
    call.eraseFromParent();
    return std::nullopt;
  }
  auto output = [&](unsigned n) -> Value * {
    auto found = values.find("$" + std::to_string(n));
    return found == values.end() ? PoisonValue::get(outputs[n]) : coerce(found->second, outputs[n]);
  };
  Value *result = nullptr;
  if (!call.getType()->isStructTy()) {
    result = output(0);
  } else {
    result = PoisonValue::get(call.getType());
    for (unsigned n = 0; n < outputs.size(); ++n)
      result = b.CreateInsertValue(result, output(n), n);
  }
  call.replaceAllUsesWith(result);
  call.eraseFromParent();
  return std::nullopt;
}

void translateInlineAsm(ImageContext &context) {
  for (Function &function : context.module) {
    SmallVector<CallInst *> calls;
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallInst>(&instruction); call && call->isInlineAsm())
        calls.push_back(call);
    for (CallInst *call : calls) {
      std::optional<std::string> problem = PtxTranslator(context, *call).run();
      if (!problem)
        continue;
      IRBuilder<> builder(call);
      Value *value = context.emitUnsupported(builder, *call, *problem, call->getType());
      if (value)
        call->replaceAllUsesWith(value);
      call->eraseFromParent();
    }
  }
}

} // namespace kbopt::cpu
