//===- PtxWgmma.cpp - Matrix operations of four warps ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns wgmma and the fence that shows its proxy what threads have written. An operation computes at
// once; what it would still read the checks are told.
//
//===----------------------------------------------------------------------===//
#include "../Matrix.h"
#include "PtxTranslator.h"
#include "kbrt/WgmmaAbi.h"

using namespace llvm;
using kbrt::MmaType;

namespace kbopt::cpu {

/// \p shape as constant data of the image.
static Constant *constantOf(ImageContext &context, const kbrt::WgmmaShape &s) {
  LLVMContext &c = context.module.getContext();
  auto i32 = [&](uint32_t v) { return ConstantInt::get(Type::getInt32Ty(c), v); };
  auto i8 = [&](uint8_t v) { return ConstantInt::get(Type::getInt8Ty(c), v); };
  Constant *value =
      ConstantStruct::getAnon({i32(s.rowsOfWarp), i32(s.n), i32(s.k), i32(uint32_t(s.aType)),
                               i32(uint32_t(s.bType)), i32(uint32_t(s.dType)), i32(s.aCount),
                               i8(s.transA), i8(s.transB), i8(s.negateA), i8(s.negateB)});
  for (GlobalVariable &global : context.module.globals())
    if (global.getName().starts_with("kb.wgmma") && global.hasInitializer() &&
        global.getInitializer() == value)
      return &global;
  return new GlobalVariable(context.module, value->getType(), true, GlobalValue::InternalLinkage,
                            value, "kb.wgmma");
}

bool PtxTranslator::translateWgmma(const Instruction &i) {
  const bool isCheck = context.mode == kbrt::ImageMode::Check;
  auto tell = [&](StringRef function, ArrayRef<Value *> arguments, StringRef detail) {
    if (isCheck)
      context.callAtSite(b, function, context.addSite(call, kbrt::AccessKind::WarpOp, detail),
                         arguments);
    return true;
  };
  StringRef op = i.parts[0];
  if (op == "fence" && i.parts.size() > 2 && i.parts[1] == "proxy" && i.parts[2] == "async")
    return i.has("global") || tell("kbrt_proxy_fence", {}, "fence.proxy.async");
  if (op != "wgmma" || i.parts.size() < 2)
    return false;
  if (i.parts[1] == "fence")
    return tell("kbrt_wgmma_fence", {}, "wgmma.fence");
  if (i.parts[1] == "commit_group")
    return tell("kbrt_wgmma_commit", {}, "wgmma.commit_group");
  if (i.parts[1] == "wait_group") {
    Value *groups = i.operands.empty() ? nullptr : read(i.operands[0], b.getInt32Ty());
    return groups && tell("kbrt_wgmma_wait", {groups}, "wgmma.wait_group");
  }
  return i.parts[1] == "mma_async" && multiplyWgmma(i);
}

/// wgmma.mma_async.sync.aligned.shape.dtype.atype.btype d, a, b, scale-d, scale-a, scale-b{,
/// trans-a, trans-b}: a is a descriptor or registers, and has no trans-a in these.
bool PtxTranslator::multiplyWgmma(const Instruction &i) {
  kbrt::MmaShape product{};
  bool hasShape = false;
  std::vector<MmaType> named;
  for (const std::string &part : i.parts) {
    hasShape |= parseMatrixShape(part, product);
    if (std::optional<MmaType> type = parseMatrixType(part))
      named.push_back(*type);
  }
  auto isFloat = [](MmaType type) {
    return llvm::is_contained(
        {MmaType::F16, MmaType::BF16, MmaType::TF32, MmaType::E4M3, MmaType::E5M2}, type);
  };
  if (!hasShape || product.m != 64 || named.size() != 3 || i.operands.size() < 6 ||
      !isFloat(named[1]) || !isFloat(named[2]) ||
      (named[0] != MmaType::F32 && named[0] != MmaType::F16) ||
      i.operands[0].kind != Operand::Vector)
    return false;
  kbrt::WgmmaShape shape{};
  shape.rowsOfWarp = 16, shape.n = product.n, shape.k = product.k;
  shape.dType = named[0], shape.aType = named[1], shape.bType = named[2];
  const bool inRegisters = i.operands[1].kind == Operand::Vector;
  auto number = [&](size_t at) -> std::optional<int64_t> {
    auto *constant = at < i.operands.size()
                         ? dyn_cast_or_null<ConstantInt>(read(i.operands[at], b.getInt32Ty()))
                         : nullptr;
    return constant ? std::optional(constant->getSExtValue()) : std::nullopt;
  };
  std::optional<int64_t> signA = number(4), signB = number(5), transA = 0, transB = 0;
  if (matrixBits(shape.aType) == 16) {
    transA = inRegisters ? 0 : number(6);
    transB = number(inRegisters ? 6 : 7);
  }
  Value *descriptorA = inRegisters ? b.getInt64(0) : read(i.operands[1], b.getInt64Ty()),
        *descriptorB = read(i.operands[2], b.getInt64Ty()), *adds = readPredicate(i.operands[3]);
  if (!signA || !signB || !transA || !transB || !descriptorA || !descriptorB || !adds)
    return false;
  shape.negateA = *signA < 0, shape.negateB = *signB < 0;
  shape.transA = *transA != 0, shape.transB = *transB != 0;
  auto spill = [&](ArrayRef<Operand> registers, Type *type, const Twine &name) -> Value * {
    unsigned bytes = type->getPrimitiveSizeInBits().getFixedValue() / 8;
    AllocaInst *slot =
        ImageContext::entryAlloca(b, ArrayType::get(b.getInt8Ty(), bytes * registers.size()), name);
    slot->setAlignment(Align(16));
    for (auto &&[n, each] : llvm::enumerate(registers)) {
      Value *value = read(each, type);
      if (!value)
        return nullptr;
      b.CreateAlignedStore(value, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), slot, n * bytes),
                           Align(bytes));
    }
    return slot;
  };
  Value *a = ConstantPointerNull::get(b.getPtrTy());
  if (inRegisters) {
    a = spill(i.operands[1].elements, b.getInt32Ty(), "kb.a");
    shape.aCount = i.operands[1].elements.size() * 32 / matrixBits(shape.aType);
  }
  ArrayRef<Operand> sums = i.operands[0].elements;
  Type *type = shape.dType == MmaType::F32 ? b.getFloatTy() : (Type *)b.getInt32Ty();
  if (sums.size() != shape.n / (shape.dType == MmaType::F32 ? 2 : 4))
    return false;
  Value *d = spill(sums, type, "kb.d");
  if (!a || !d)
    return false;
  std::string detail = ("wgmma.m64n" + Twine(shape.n) + "k" + Twine(shape.k)).str();
  context.callAtSite(b, "kbrt_wgmma", context.addSite(call, kbrt::AccessKind::WarpOp, detail),
                     {constantOf(context, shape), descriptorA, descriptorB,
                      b.CreateZExt(adds, b.getInt32Ty()), a, d});
  for (auto &&[n, each] : llvm::enumerate(sums))
    write(each, b.CreateAlignedLoad(type, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), d, n * 4),
                                    Align(4)));
  return true;
}

} // namespace kbopt::cpu
