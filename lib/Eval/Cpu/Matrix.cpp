//===- Matrix.cpp - Matrix operations of a warp ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what wmma intrinsics and inline PTX share: types, products, ldmatrix.
//
//===----------------------------------------------------------------------===//
#include "Matrix.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace llvm;

namespace kbopt::cpu {

bool parseMatrixShape(StringRef text, kbrt::MmaShape &shape) {
  uint32_t m, n, k;
  if (!text.consume_front("m") || text.consumeInteger(10, m) || !text.consume_front("n") ||
      text.consumeInteger(10, n) || !text.consume_front("k") || text.consumeInteger(10, k) ||
      !text.empty())
    return false;
  shape.m = m, shape.n = n, shape.k = k;
  return true;
}

std::optional<kbrt::MmaType> parseMatrixType(StringRef name) {
  using T = kbrt::MmaType;
  return StringSwitch<std::optional<T>>(name)
      .Case("f16", T::F16)
      .Case("bf16", T::BF16)
      .Case("tf32", T::TF32)
      .Case("f32", T::F32)
      .Case("f64", T::F64)
      .Case("s8", T::S8)
      .Case("u8", T::U8)
      .Case("s4", T::S4)
      .Case("u4", T::U4)
      .Case("b1", T::B1)
      .Case("s32", T::S32)
      .Case("e4m3", T::E4M3)
      .Case("e5m2", T::E5M2)
      .Default(std::nullopt);
}

unsigned matrixBits(kbrt::MmaType type) {
  using T = kbrt::MmaType;
  switch (type) {
  case T::F16:
  case T::BF16:
    return 16;
  case T::TF32:
  case T::F32:
  case T::S32:
    return 32;
  case T::F64:
    return 64;
  case T::S8:
  case T::U8:
  case T::E4M3:
  case T::E5M2:
    return 8;
  case T::S4:
  case T::U4:
    return 4;
  case T::B1:
    return 1;
  }
  llvm_unreachable("all types are listed");
}

static Constant *shapeConstant(ImageContext &context, const kbrt::MmaShape &s) {
  LLVMContext &c = context.module.getContext();
  auto i32 = [&](uint32_t v) { return ConstantInt::get(Type::getInt32Ty(c), v); };
  auto i8 = [&](uint8_t v) { return ConstantInt::get(Type::getInt8Ty(c), v); };
  Constant *value = ConstantStruct::getAnon(
      {i32(s.m), i32(s.n), i32(s.k), i32(uint32_t(s.layout)), i32(uint32_t(s.aType)),
       i32(uint32_t(s.bType)), i32(uint32_t(s.cType)), i32(uint32_t(s.dType)), i32(s.aCount),
       i32(s.bCount), i32(s.cCount), i32(s.dCount), i8(s.saturate), i8(s.isXor)});
  for (GlobalVariable &global : context.module.globals())
    if (global.getName().starts_with("kb.mma") && global.hasInitializer() &&
        global.getInitializer() == value)
      return &global;
  return new GlobalVariable(context.module, value->getType(), true, GlobalValue::InternalLinkage,
                            value, "kb.mma");
}

static unsigned bytesOf(ArrayRef<Value *> registers) {
  unsigned bytes = 0;
  for (Value *v : registers)
    bytes += v->getType()->getPrimitiveSizeInBits().getFixedValue() / 8;
  return bytes;
}

/// \p registers one behind the other in a stack slot.
static Value *spill(IRBuilder<> &b, ArrayRef<Value *> registers, const Twine &name) {
  AllocaInst *slot = ImageContext::entryAlloca(
      b, ArrayType::get(b.getInt8Ty(), std::max(1u, bytesOf(registers))), name);
  slot->setAlignment(Align(16));
  unsigned offset = 0;
  for (Value *value : registers) {
    unsigned bytes = bytesOf({value});
    b.CreateAlignedStore(value, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), slot, offset),
                         commonAlignment(Align(16), offset));
    offset += bytes;
  }
  return slot;
}

std::vector<Value *> emitMatrixMultiply(ImageContext &context, IRBuilder<> &b,
                                        const Instruction &at, kbrt::MmaShape shape,
                                        ArrayRef<Value *> a, ArrayRef<Value *> bb,
                                        ArrayRef<Value *> c, ArrayRef<Type *> results) {
  unsigned resultBytes = 0;
  for (Type *type : results)
    resultBytes += type->getPrimitiveSizeInBits().getFixedValue() / 8;
  shape.aCount = bytesOf(a) * 8 / matrixBits(shape.aType);
  shape.bCount = bytesOf(bb) * 8 / matrixBits(shape.bType);
  shape.cCount = bytesOf(c) * 8 / matrixBits(shape.cType);
  shape.dCount = resultBytes * 8 / matrixBits(shape.dType);
  AllocaInst *d = ImageContext::entryAlloca(
      b, ArrayType::get(b.getInt8Ty(), std::max(1u, resultBytes)), "kb.d");
  d->setAlignment(Align(16));
  std::string detail =
      ("mma.m" + Twine(shape.m) + "n" + Twine(shape.n) + "k" + Twine(shape.k)).str();
  unsigned site = context.addSite(at, kbrt::AccessKind::WarpOp, detail);
  context.callAtSite(b, "kbrt_mma", site,
                     {shapeConstant(context, shape), spill(b, a, "kb.a"), spill(b, bb, "kb.b"),
                      spill(b, c, "kb.c"), d});
  std::vector<Value *> values;
  unsigned offset = 0;
  for (Type *type : results) {
    values.push_back(b.CreateAlignedLoad(type,
                                         b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), d, offset),
                                         commonAlignment(Align(16), offset)));
    offset += type->getPrimitiveSizeInBits().getFixedValue() / 8;
  }
  return values;
}

/// The row pointer that lane \p lane holds.
static Value *pointerOfLane(IRBuilder<> &b, Value *row, Value *lane) {
  Value *word = b.CreatePtrToInt(row, b.getInt64Ty());
  auto shuffle = [&](Value *half) {
    return b.CreateIntrinsic(Intrinsic::nvvm_shfl_sync_idx_i32, {},
                             {b.getInt32(~0u), half, lane, b.getInt32(31)});
  };
  Value *low = shuffle(b.CreateTrunc(word, b.getInt32Ty()));
  Value *high = shuffle(b.CreateTrunc(b.CreateLShr(word, 32), b.getInt32Ty()));
  Value *whole = b.CreateOr(b.CreateZExt(low, b.getInt64Ty()),
                            b.CreateShl(b.CreateZExt(high, b.getInt64Ty()), 32));
  Value *pointer = b.CreateIntToPtr(whole, b.getPtrTy());
  return b.CreateAddrSpaceCast(b.CreateAddrSpaceCast(pointer, b.getPtrTy(Shared)), b.getPtrTy());
}

/// Lane l holds row l / 4, columns 2 * (l % 4) and the next; transposed, the
/// other way round. Gives the addresses of the two elements.
static std::pair<Value *, Value *> elementAddresses(IRBuilder<> &b, Value *row, unsigned matrix,
                                                    bool transposed) {
  Value *lane =
      b.CreateIntrinsic(b.getInt32Ty(), Intrinsic::nvvm_read_ptx_sreg_laneid, ArrayRef<Value *>());
  Value *group = b.CreateLShr(lane, 2);
  Value *pair = b.CreateShl(b.CreateAnd(lane, 3), 1);
  auto address = [&](Value *r, Value *column) {
    Value *base = pointerOfLane(b, row, b.CreateAdd(r, b.getInt32(8 * matrix)));
    return b.CreateGEP(b.getInt16Ty(), base, column);
  };
  if (!transposed) {
    Value *first = address(group, pair);
    return {first, nullptr};
  }
  return {address(pair, group), address(b.CreateAdd(pair, b.getInt32(1)), group)};
}

std::vector<Value *> emitLoadMatrix(ImageContext &context, IRBuilder<> &b, const Instruction &at,
                                    Value *row, unsigned count, bool transposed) {
  std::vector<Value *> registers;
  Type *i32 = b.getInt32Ty();
  for (unsigned n = 0; n < count; ++n) {
    auto [first, second] = elementAddresses(b, row, n, transposed);
    if (!second) {
      registers.push_back(b.CreateAlignedLoad(i32, first, Align(4)));
      continue;
    }
    Value *low = b.CreateZExt(b.CreateAlignedLoad(b.getInt16Ty(), first, Align(2)), i32);
    Value *high = b.CreateZExt(b.CreateAlignedLoad(b.getInt16Ty(), second, Align(2)), i32);
    registers.push_back(b.CreateOr(low, b.CreateShl(high, 16)));
  }
  return registers;
}

void emitStoreMatrix(ImageContext &context, IRBuilder<> &b, const Instruction &at, Value *row,
                     ArrayRef<Value *> registers, bool transposed) {
  for (unsigned n = 0; n < registers.size(); ++n) {
    auto [first, second] = elementAddresses(b, row, n, transposed);
    if (!second) {
      b.CreateAlignedStore(registers[n], first, Align(4));
      continue;
    }
    b.CreateAlignedStore(b.CreateTrunc(registers[n], b.getInt16Ty()), first, Align(2));
    b.CreateAlignedStore(b.CreateTrunc(b.CreateLShr(registers[n], 16), b.getInt16Ty()), second,
                         Align(2));
  }
}

} // namespace kbopt::cpu
