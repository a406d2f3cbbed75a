//===- InstructionImport.cpp - Instructions as kb operations ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what each instruction of a kernel becomes: an access, a barrier, a count,
// or something opaque.
//
//===----------------------------------------------------------------------===//
#include "KernelImporter.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace kbopt::analysis {

static std::string typeText(Type *type) {
  if (auto *vector = dyn_cast<FixedVectorType>(type))
    return "v" + std::to_string(vector->getNumElements()) + typeText(vector->getElementType());
  if (type->isFloatTy())
    return "f32";
  if (type->isDoubleTy())
    return "f64";
  if (type->isHalfTy())
    return "f16";
  if (type->isBFloatTy())
    return "bf16";
  if (type->isPointerTy())
    return "ptr";
  if (type->isIntegerTy())
    return "i" + std::to_string(type->getIntegerBitWidth());
  return "bytes";
}

void KernelImporter::importInstruction(Instruction &inst) {
  const DataLayout &layout = function.getDataLayout();
  if (auto *load = dyn_cast<LoadInst>(&inst)) {
    if (!load->hasMetadata("kb.param"))
      importAccess(inst,
                   load->isAtomic() && !load->isUnordered() ? kb::AccessKind::Atomic
                                                            : kb::AccessKind::Load,
                   load->getPointerOperand(), layout.getTypeStoreSize(load->getType()),
                   load->getAlign().value(), load->isVolatile(), typeText(load->getType()));
  } else if (auto *store = dyn_cast<StoreInst>(&inst)) {
    Type *type = store->getValueOperand()->getType();
    importAccess(inst,
                 store->isAtomic() && !store->isUnordered() ? kb::AccessKind::Atomic
                                                            : kb::AccessKind::Store,
                 store->getPointerOperand(), layout.getTypeStoreSize(type),
                 store->getAlign().value(), store->isVolatile(), typeText(type));
  } else if (auto *atomic = dyn_cast<AtomicRMWInst>(&inst)) {
    importAccess(inst, kb::AccessKind::Atomic, atomic->getPointerOperand(),
                 layout.getTypeStoreSize(atomic->getType()), 1, false, typeText(atomic->getType()));
  } else if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&inst)) {
    Type *type = exchange->getCompareOperand()->getType();
    importAccess(inst, kb::AccessKind::Atomic, exchange->getPointerOperand(),
                 layout.getTypeStoreSize(type), 1, false, typeText(type));
  } else if (isa<FenceInst>(inst)) {
    Origin origin = originOf(inst.getDebugLoc().get());
    mlir::OpBuilder builder = builderAt(inst.getParent());
    tie(kb::BarrierOp::create(
            builder, origin.location, kb::BarrierScopeAttr::get(context, kb::BarrierScope::Fence),
            kb::UniformityAttr::get(context, uniformity(threads.control(inst.getParent())))),
        origin, nullptr);
  } else if (auto *call = dyn_cast<CallBase>(&inst)) {
    importCall(*call);
  } else if (auto *branch = dyn_cast<BranchInst>(&inst)) {
    if (branch->isConditional())
      importBranch(*branch);
  } else {
    count(inst);
  }
}

/// clang copies a struct field by field; fields that follow each other and are
/// aligned together are one request of the machine, as in a float4.
bool KernelImporter::mergeIntoLast(const Instruction &inst, kb::AccessKind kind,
                                   const Address &address, int64_t bytes, unsigned alignment) {
  Last &last = this->last[kind];
  if (!last.inst || !last.inst->getDebugLoc() || last.inst->getDebugLoc() != inst.getDebugLoc() ||
      last.address.base != address.base || !address.offset || *address.offset != last.next)
    return false;
  int64_t total = last.bytes + bytes;
  if (total > 16 || total > last.alignment)
    return false;
  last.bytes = total;
  last.next = last.next + Poly::constant(bytes);
  last.op.setBytes(total);
  return true;
}

void KernelImporter::importAccess(Instruction &inst, kb::AccessKind kind, Value *pointer,
                                  int64_t bytes, unsigned alignment, bool isVolatile,
                                  StringRef type, bool knownAddress) {
  Address address = model.address(pointer);
  if (!knownAddress)
    address.offset.reset();
  if (mergeIntoLast(inst, kind, address, bytes, alignment))
    return;
  Origin origin = originOf(inst.getDebugLoc().get());
  const clang::Expr *expr = nullptr;
  if (origin.body) {
    if (kind == kb::AccessKind::Load)
      expr = lookup(origin.body->loads, origin.place);
    else if (kind == kb::AccessKind::Store)
      expr = lookup(origin.body->stores, origin.place);
    if (!expr)
      expr = lookup(origin.body->calls, origin.place);
    if (!expr && kind == kb::AccessKind::Store)
      expr = lookup(origin.body->loads, origin.place);
  }
  mlir::OpBuilder builder = builderAt(inst.getParent());
  mlir::Location location = expr ? locationOf(origin, expr->getSourceRange()) : origin.location;
  auto op = kb::AccessOp::create(
      builder, location, kb::AccessKindAttr::get(context, kind),
      kb::MemorySpaceAttr::get(context, spaceOf(address, pointer)), baseOf(address),
      builder.getI64IntegerAttr(bytes),
      kb::UniformityAttr::get(context, address.isUniform ? kb::Uniformity::Uniform
                                                         : kb::Uniformity::Divergent),
      kb::ExprAttr(), kb::DomainAttr(), builder.getStringAttr(type),
      isVolatile ? builder.getUnitAttr() : mlir::UnitAttr(), mlir::DenseI64ArrayAttr());
  op.setAddressAttr(expression(address.offset, loopsAround(inst.getParent())));
  AssumptionSet assumes = address.offset ? address.assumes : AssumptionSet();
  if (kb::DomainAttr conditions = domain(inst.getParent(), assumes))
    op.setDomainAttr(conditions);
  if (!assumes.empty())
    op.setAssumesAttr(positions(assumes));
  tie(op, origin, expr);
  if (kind == kb::AccessKind::Atomic || op.getSpace() == kb::MemorySpace::Local)
    return;
  last[kind] = {};
  if (address.offset)
    last[kind] = {&inst, op, address, *address.offset + Poly::constant(bytes), bytes, alignment};
}

void KernelImporter::importCall(CallBase &call) {
  if (isa<DbgInfoIntrinsic>(call))
    return;
  if (auto *assembly = dyn_cast<InlineAsm>(call.getCalledOperand())) {
    importAssembly(call, assembly->getAsmString());
    return;
  }
  Function *callee = call.getCalledFunction();
  Origin origin = originOf(call.getDebugLoc().get());
  const clang::Stmt *statement = origin.body ? lookup(origin.body->calls, origin.place) : nullptr;
  mlir::OpBuilder builder = builderAt(call.getParent());
  if (!callee) {
    tie(kb::OpaqueOp::create(builder, origin.location, builder.getStringAttr("indirect call"),
                             mlir::StringAttr()),
        origin, statement);
    return;
  }
  if (callee->isIntrinsic()) {
    importIntrinsic(call, callee->getName());
    return;
  }
  if (isLibdevice(*callee)) {
    count(call);
    // sincosf and its like return through pointers.
    for (Value *argument : call.args())
      if (argument->getType()->isPointerTy() && !isa<AllocaInst>(argument->stripPointerCasts()))
        importAccess(call, kb::AccessKind::Store, argument, 4, 1, false, "bytes");
    return;
  }
  tie(kb::CallOp::create(builder, origin.location, builder.getStringAttr(callee->getName())),
      origin, statement);
}

void KernelImporter::importIntrinsic(CallBase &call, StringRef name) {
  mlir::OpBuilder builder = builderAt(call.getParent());
  auto barrier = [&](kb::BarrierScope scope) {
    Origin origin = originOf(call.getDebugLoc().get());
    const clang::Stmt *statement = origin.body ? lookup(origin.body->calls, origin.place) : nullptr;
    auto level = kb::UniformityAttr::get(context, uniformity(threads.control(call.getParent())));
    mlir::Location location =
        statement ? locationOf(origin, statement->getSourceRange()) : origin.location;
    tie(kb::BarrierOp::create(builder, location, kb::BarrierScopeAttr::get(context, scope), level),
        origin, statement);
  };
  if (auto *copy = dyn_cast<AnyMemTransferInst>(&call)) {
    auto *length = dyn_cast<ConstantInt>(copy->getLength());
    int64_t bytes = length ? length->getSExtValue() : 0;
    importAccess(call, kb::AccessKind::Load, copy->getRawSource(), bytes,
                 copy->getSourceAlign().valueOrOne().value(), copy->isVolatile(), "bytes",
                 bytes > 0);
    importAccess(call, kb::AccessKind::Store, copy->getRawDest(), bytes,
                 copy->getDestAlign().valueOrOne().value(), copy->isVolatile(), "bytes", bytes > 0);
    return;
  }
  if (auto *set = dyn_cast<AnyMemSetInst>(&call)) {
    auto *length = dyn_cast<ConstantInt>(set->getLength());
    int64_t bytes = length ? length->getSExtValue() : 0;
    importAccess(call, kb::AccessKind::Store, set->getRawDest(), bytes, 1, set->isVolatile(),
                 "bytes", bytes > 0);
    return;
  }
  StringRef machine = name;
  if (!machine.consume_front("llvm.nvvm.")) {
    if (!isa<AssumeInst>(call) && !name.starts_with("llvm.lifetime") &&
        !name.starts_with("llvm.dbg") && !name.starts_with("llvm.experimental.noalias") &&
        !name.starts_with("llvm.invariant"))
      count(call);
    return;
  }
  if (machine.starts_with("read.ptx.sreg") || machine.starts_with("reflect"))
    return;
  if (machine.starts_with("membar") || machine.starts_with("fence"))
    return barrier(kb::BarrierScope::Fence);
  if (machine.starts_with("bar.warp"))
    return barrier(kb::BarrierScope::Warp);
  if (machine.starts_with("barrier.cluster"))
    return barrier(kb::BarrierScope::Cluster);
  if (machine.starts_with("barrier")) {
    // Barrier 0 with all threads is __syncthreads.
    auto *number = call.arg_empty() ? nullptr : dyn_cast<ConstantInt>(call.getArgOperand(0));
    bool all = machine.contains(".all") || machine.starts_with("barrier0");
    return barrier((all && (!number || number->isZero() || machine.starts_with("barrier0")))
                       ? kb::BarrierScope::Block
                       : kb::BarrierScope::Named);
  }
  if (machine.starts_with("cp.async.wait") || machine.starts_with("cp.async.commit") ||
      machine.starts_with("mbarrier"))
    return barrier(kb::BarrierScope::Async);
  Origin origin = originOf(call.getDebugLoc().get());
  const clang::Stmt *statement = origin.body ? lookup(origin.body->calls, origin.place) : nullptr;
  for (StringRef prefix : {"shfl", "vote", "match", "redux", "activemask"})
    if (machine.starts_with(prefix)) {
      tie(kb::ShuffleOp::create(builder, origin.location, builder.getStringAttr(machine)), origin,
          statement);
      return;
    }
  if (machine.starts_with("wmma") || machine.starts_with("mma") || machine.starts_with("ldmatrix"))
    tie(kb::MmaOp::create(builder, origin.location, builder.getStringAttr(machine)), origin,
        statement);
  bool touches = false;
  for (auto [index, argument] : llvm::enumerate(call.args())) {
    if (!argument->getType()->isPointerTy() || call.doesNotAccessMemory())
      continue;
    touches = true;
    bool writes = !call.onlyReadsMemory() && !call.onlyReadsMemory(index);
    bool isAtomic = machine.starts_with("atomic");
    importAccess(call,
                 isAtomic ? kb::AccessKind::Atomic
                 : writes ? kb::AccessKind::Store
                          : kb::AccessKind::Load,
                 argument, 4, 1, false, "bytes", false);
  }
  if (!touches)
    count(call);
}

/// The CUDA headers write cache-hinted accesses and half arithmetic as inline
/// assembly.
void KernelImporter::importAssembly(CallBase &call, StringRef text) {
  auto *assembly = cast<InlineAsm>(call.getCalledOperand());
  bool memory = StringRef(assembly->getConstraintString()).contains("memory");
  SmallVector<StringRef> words;
  text.ltrim(" \t\n{").split(words, '.');
  StringRef first = words.empty() ? "" : words[0];
  bool single = text.count(';') <= 1;
  if (single && (first == "ld" || first == "st") && !text.contains(".v2") &&
      !text.contains(".v4")) {
    for (Value *argument : call.args()) {
      Value *pointer = argument->getType()->isPointerTy() ? argument
                       : isa<PtrToIntOperator>(argument)
                           ? cast<PtrToIntOperator>(argument)->getPointerOperand()
                           : nullptr;
      if (!pointer)
        continue;
      Type *type = first == "ld" ? call.getType() : nullptr;
      for (Value *value : call.args())
        if (first == "st" && value != argument)
          type = value->getType();
      if (!type || type->isVoidTy() || type->isStructTy())
        continue;
      importAccess(call, first == "ld" ? kb::AccessKind::Load : kb::AccessKind::Store, pointer,
                   function.getDataLayout().getTypeStoreSize(type), 1, false, typeText(type));
      return;
    }
  }
  if (!assembly->hasSideEffects() && !memory) {
    count(call);
    return;
  }
  Origin origin = originOf(call.getDebugLoc().get());
  mlir::OpBuilder builder = builderAt(call.getParent());
  tie(kb::OpaqueOp::create(builder, origin.location, builder.getStringAttr("inline assembly"),
                           builder.getStringAttr(text.take_front(120))),
      origin, origin.body ? lookup(origin.body->calls, origin.place) : nullptr);
}

/// A product that only feeds a sum becomes a fused multiply-add.
static bool isFused(const Instruction &product) {
  if (product.getOpcode() != Instruction::FMul || !product.hasOneUse() ||
      !product.hasAllowContract())
    return false;
  auto *sum = dyn_cast<Instruction>(*product.user_begin());
  return sum && (sum->getOpcode() == Instruction::FAdd || sum->getOpcode() == Instruction::FSub) &&
         sum->hasAllowContract();
}

void KernelImporter::count(const Instruction &inst) {
  std::string name;
  Type *type = inst.getType()->getScalarType();
  std::string suffix = "." + typeText(type);
  switch (inst.getOpcode()) {
  case Instruction::FAdd:
  case Instruction::FSub: {
    bool fused = llvm::any_of(inst.operands(), [](const Value *operand) {
      auto *product = dyn_cast<Instruction>(operand);
      return product && isFused(*product);
    });
    name = (fused ? "ffma" : "fadd") + suffix;
    break;
  }
  case Instruction::FMul:
    if (isFused(inst))
      return;
    name = "fmul" + suffix;
    break;
  case Instruction::FDiv:
  case Instruction::FRem:
    name = "fdiv" + suffix;
    break;
  case Instruction::FNeg:
    name = "fneg" + suffix;
    break;
  case Instruction::FCmp:
    name = "fcmp." + typeText(inst.getOperand(0)->getType());
    break;
  case Instruction::Add:
  case Instruction::Sub:
    name = "iadd" + suffix;
    break;
  case Instruction::Mul:
    name = "imul" + suffix;
    break;
  case Instruction::UDiv:
  case Instruction::SDiv:
  case Instruction::URem:
  case Instruction::SRem:
    name = "idiv" + suffix;
    break;
  case Instruction::And:
  case Instruction::Or:
  case Instruction::Xor:
  case Instruction::Shl:
  case Instruction::LShr:
  case Instruction::AShr:
    name = "ilogic" + suffix;
    break;
  case Instruction::ICmp:
    name = "icmp." + typeText(inst.getOperand(0)->getType());
    break;
  case Instruction::Select:
    name = "select" + suffix;
    break;
  case Instruction::FPExt:
  case Instruction::FPTrunc:
  case Instruction::FPToSI:
  case Instruction::FPToUI:
  case Instruction::SIToFP:
  case Instruction::UIToFP:
    name = "cvt." + typeText(inst.getOperand(0)->getType()->getScalarType()) + "." + typeText(type);
    break;
  case Instruction::Call: {
    auto &call = cast<CallBase>(inst);
    if (isa<InlineAsm>(call.getCalledOperand())) {
      name = "asm" + suffix;
      break;
    }
    StringRef callee = call.getCalledFunction()->getName();
    if (callee.consume_front("__nv_"))
      name = "special." + callee.str();
    else if (callee.starts_with("llvm.fma") || callee.starts_with("llvm.nvvm.fma"))
      name = "ffma" + suffix;
    else if (callee.contains("min") || callee.contains("max") || callee.contains("fabs") ||
             callee.contains("copysign"))
      name = "minmax" + suffix;
    else if (type->isFloatingPointTy())
      name = "special" + suffix;
    else
      name = "other";
    break;
  }
  default:
    return;
  }
  mlir::Block *block = &regionOf(inst.getParent());
  auto [it, isNew] = counts.try_emplace(block);
  if (isNew)
    countOrder.push_back(block);
  ++it->second[name];
}

} // namespace kbopt::analysis
