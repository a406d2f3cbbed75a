//===- InstructionMix.cpp - What an instruction costs a GPU ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "InstructionMix.h"
#include "Accesses.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/GetElementPtrTypeIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;
using kbrt::MemorySpace;
using kbrt::Op;

namespace kbopt::cpu {

namespace {
enum class Arithmetic { Add, Mul, Fma, Div, Other };
}

static Op floatOp(const Type *type, Arithmetic a) {
  static constexpr Op single[] = {Op::FAdd, Op::FMul, Op::FFma, Op::FDiv, Op::FOther};
  static constexpr Op twice[] = {Op::DAdd, Op::DMul, Op::DFma, Op::DDiv, Op::DOther};
  static constexpr Op half[] = {Op::HAdd, Op::HMul, Op::HFma, Op::HOther, Op::HOther};
  const Type *scalar = type->getScalarType();
  return (scalar->isDoubleTy() ? twice : scalar->isFloatTy() ? single : half)[unsigned(a)];
}

static unsigned lanes(const Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  return vector ? vector->getNumElements() : 1;
}

static Op loadOp(MemorySpace space) {
  switch (space) {
  case MemorySpace::Global:
    return Op::LoadGlobal;
  case MemorySpace::Shared:
    return Op::LoadShared;
  case MemorySpace::Constant:
  case MemorySpace::Param:
    return Op::LoadConstant;
  case MemorySpace::Local:
    return Op::LoadLocal;
  case MemorySpace::Generic:
    return Op::LoadGeneric;
  }
  llvm_unreachable("all spaces are listed");
}

static Op storeOp(MemorySpace space) {
  switch (space) {
  case MemorySpace::Global:
    return Op::StoreGlobal;
  case MemorySpace::Shared:
    return Op::StoreShared;
  case MemorySpace::Local:
  case MemorySpace::Param:
    return Op::StoreLocal;
  default:
    return Op::StoreGeneric;
  }
}

static uint64_t matrixOperations(const CallInst &call) {
  auto *shape = dyn_cast<GlobalVariable>(call.getArgOperand(1));
  if (!shape)
    return 0;
  uint64_t product = 2;
  for (unsigned n = 0; n < 3; ++n)
    product *= cast<ConstantInt>(shape->getInitializer()->getAggregateElement(n))->getZExtValue();
  return product / 32;
}

/// The operation of a call, or none if it costs nothing.
static std::optional<Op> callOp(const CallInst &call) {
  const Function *callee = call.getCalledFunction();
  if (!callee)
    return Op::Call;
  StringRef name = callee->getName();
  const Type *type = call.getType();
  if (name == "kbrt_mma" || name == "kbrt_wgmma")
    return Op::Tensor;
  if (name.starts_with("kbrt_") || name == sharedPointerFunction)
    return std::nullopt;
  if (name.starts_with("kb.directed."))
    return floatOp(type, Arithmetic::Other);
  if (name.consume_front("llvm.nvvm.")) {
    if (name.starts_with("barrier") || name.starts_with("bar.sync"))
      return Op::Barrier;
    if (name.starts_with("shfl") || name.starts_with("vote") || name.starts_with("match") ||
        name.starts_with("redux") || name.starts_with("bar.warp") || name == "activemask")
      return Op::WarpOp;
    if (name.starts_with("read.ptx.sreg"))
      return Op::IntOther;
    StringRef op = name.split('.').first;
    if (op == "ex2" || op == "lg2" || op == "sin" || op == "cos" || op == "rcp" || op == "rsqrt" ||
        op == "tanh")
      return Op::Special;
    auto arithmetic = StringSwitch<std::optional<Arithmetic>>(op)
                          .Case("add", Arithmetic::Add)
                          .Case("mul", Arithmetic::Mul)
                          .Case("fma", Arithmetic::Fma)
                          .Cases({"div", "sqrt"}, Arithmetic::Div)
                          .Cases({"fabs", "fmin", "fmax", "saturate"}, Arithmetic::Other)
                          .Default(std::nullopt);
    if (arithmetic && type->isFPOrFPVectorTy())
      return floatOp(type, *arithmetic);
    if (op.contains('2') && !op.starts_with("idp"))
      return Op::Convert;
    if (op.starts_with("mul") || op.starts_with("idp"))
      return Op::IntMul;
    if (op == "membar" || op == "fence" || op == "nanosleep" || op == "exit")
      return Op::Other;
    return Op::IntOther;
  }
  if (!callee->isIntrinsic())
    return callee->isDeclaration() ? Op::Other : Op::Call;
  switch (callee->getIntrinsicID()) {
  case Intrinsic::fma:
  case Intrinsic::fmuladd:
    return floatOp(type, Arithmetic::Fma);
  case Intrinsic::sqrt:
    return floatOp(type, Arithmetic::Div);
  case Intrinsic::exp2:
  case Intrinsic::log2:
  case Intrinsic::sin:
  case Intrinsic::cos:
  case Intrinsic::tanh:
    return Op::Special;
  case Intrinsic::fptosi_sat:
  case Intrinsic::fptoui_sat:
    return Op::Convert;
  case Intrinsic::lifetime_start:
  case Intrinsic::lifetime_end:
  case Intrinsic::assume:
    return std::nullopt;
  default:
    break;
  }
  if (isa<MemIntrinsic>(call))
    return Op::Other;
  return type->isFPOrFPVectorTy() ? floatOp(type, Arithmetic::Other)
         : type->isVoidTy()       ? std::optional<Op>()
                                  : Op::IntOther;
}

static std::optional<Op> opOf(const Instruction &instruction) {
  const Type *type = instruction.getType();
  switch (instruction.getOpcode()) {
  case Instruction::FAdd:
  case Instruction::FSub:
    return floatOp(type, Arithmetic::Add);
  case Instruction::FMul:
    return floatOp(type, Arithmetic::Mul);
  case Instruction::FDiv:
  case Instruction::FRem:
    return floatOp(type, Arithmetic::Div);
  case Instruction::FCmp:
    return floatOp(instruction.getOperand(0)->getType(), Arithmetic::Other);
  case Instruction::Add:
  case Instruction::Sub:
    return Op::IntAdd;
  case Instruction::Mul:
    return Op::IntMul;
  case Instruction::SDiv:
  case Instruction::UDiv:
  case Instruction::SRem:
  case Instruction::URem:
    return Op::IntDiv;
  case Instruction::And:
  case Instruction::Or:
  case Instruction::Xor:
  case Instruction::Shl:
  case Instruction::LShr:
  case Instruction::AShr:
  case Instruction::ICmp:
  case Instruction::Select:
  case Instruction::SExt:
    return Op::IntOther;
  case Instruction::GetElementPtr:
    return cast<GetElementPtrInst>(instruction).hasAllConstantIndices() ? std::optional<Op>()
                                                                        : Op::IntAdd;
  case Instruction::FPToSI:
  case Instruction::FPToUI:
  case Instruction::SIToFP:
  case Instruction::UIToFP:
  case Instruction::FPTrunc:
  case Instruction::FPExt:
    return Op::Convert;
  case Instruction::Load:
    return loadOp(spaceOf(*instruction.getOperand(0)));
  case Instruction::Store:
    return storeOp(spaceOf(*instruction.getOperand(1)));
  case Instruction::AtomicRMW:
  case Instruction::AtomicCmpXchg:
    return spaceOf(*instruction.getOperand(0)) == MemorySpace::Shared ? Op::AtomicShared
                                                                      : Op::AtomicGlobal;
  case Instruction::Br:
    return cast<BranchInst>(instruction).isConditional() ? Op::Branch : std::optional<Op>();
  case Instruction::Switch:
  case Instruction::IndirectBr:
    return Op::Branch;
  case Instruction::Call:
    return callOp(cast<CallInst>(instruction));
  default:
    return std::nullopt;
  }
}

void addToMix(const Instruction &instruction, std::array<uint16_t, kbrt::opCount> &ops) {
  std::optional<Op> op = opOf(instruction);
  if (!op)
    return;
  bool isMemory = isa<LoadInst>(instruction) || isa<StoreInst>(instruction);
  ops[unsigned(*op)] += isMemory ? 1 : lanes(instruction.getType());
  if (*op == Op::Tensor)
    ops[unsigned(Op::TensorFlops)] += matrixOperations(cast<CallInst>(instruction));
}

} // namespace kbopt::cpu
