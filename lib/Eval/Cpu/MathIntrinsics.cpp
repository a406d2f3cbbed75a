//===- MathIntrinsics.cpp - Arithmetic, conversions, bit operations -------===//
// SPDX-License-Identifier: Apache-2.0
#include "FloatOps.h"
#include "Intrinsics.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace kbopt::cpu {

/// "f2i", "d2ull", "ui2d", "ll2f", …: the two types around the 2.
static Lowered lowerConversion(IntrinsicCall &c, FloatOps &ops, const Modifiers &m) {
  auto [from, to] = c.parts[0].split('2');
  auto isInteger = [](StringRef t) { return t == "i" || t == "ui" || t == "ll" || t == "ull"; };
  auto isFloat = [](StringRef t) { return t == "f" || t == "d"; };
  Type *type = c.call.getType();
  if (isFloat(from) && isInteger(to))
    return ops.toInteger(c.argument(0), type, !to.starts_with("u"), m.rounding, m.ftz);
  if (isInteger(from) && isFloat(to))
    return ops.fromInteger(c.argument(0), type, !from.starts_with("u"), m.rounding);
  if (from == "d" && to == "f")
    return ops.convert(c.argument(0), type, m);
  Type *half = c.builder.getHalfTy();
  if (from == "f" && to == "h") // the half as i16
    return c.builder.CreateBitCast(ops.convert(c.argument(0), half, m), type);
  if (from == "f" && to == "f16")
    return ops.convert(c.argument(0), half, m);
  if (from == "f" && to == "bf16")
    return ops.convert(c.argument(0), c.builder.getBFloatTy(), m);
  if (from == "f" && to == "tf32")
    return ops.toTf32(c.argument(0), m, c.has("rna"));
  if (from == "bf" && to == "h")
    return c.builder.CreateBitCast(c.builder.CreateFPExt(c.argument(0), c.builder.getFloatTy()),
                                   type);
  if (from == "ff" && (to == "bf16x2" || to == "f16x2")) {
    if (c.has("rs"))
      return std::nullopt;
    Type *element = cast<FixedVectorType>(type)->getElementType();
    Value *high = ops.convert(c.argument(0), element, m);
    Value *low = ops.convert(c.argument(1), element, m);
    Value *result = c.builder.CreateInsertElement(PoisonValue::get(type), low, uint64_t(0));
    return c.builder.CreateInsertElement(result, high, uint64_t(1));
  }
  return std::nullopt;
}

Lowered lowerArithmetic(IntrinsicCall &c) {
  FloatOps ops(c.context, c.builder);
  Modifiers m;
  for (StringRef part : ArrayRef(c.parts).drop_front())
    m.accept(part);
  StringRef op = c.parts[0];
  if (!c.call.arg_size())
    return std::nullopt;
  Value *x = c.argument(0);
  Value *y = c.call.arg_size() > 1 ? c.argument(1) : nullptr;
  bool isFloat = x->getType()->isFPOrFPVectorTy();
  if (op.contains('2') && op != "ex2" && op != "lg2" && op != "idp2a")
    return lowerConversion(c, ops, m);
  if (!isFloat)
    return std::nullopt;
  if (op == "add")
    return ops.add(x, y, m);
  if (op == "mul")
    return ops.mul(x, y, m);
  if (op == "div")
    return ops.div(x, y, m);
  if (op == "fma")
    return ops.fma(x, y, c.argument(2), m);
  if (op == "sqrt")
    return ops.sqrt(x, m);
  if (op == "rcp")
    return ops.reciprocal(x, m);
  if (op == "rsqrt")
    return ops.reciprocalSqrt(x, m);
  if (op == "fmin" || op == "fmax")
    return ops.minMax(op == "fmax", x, y, m);
  if (op == "fabs")
    return ops.abs(x, m);
  if (op == "neg")
    return ops.neg(x, m);
  if (op == "saturate")
    return ops.saturate(m.ftz ? ops.flush(x) : x);
  if (op == "ex2" || op == "lg2" || op == "sin" || op == "cos" || op == "tanh")
    return ops.special(op, x, m);
  if (op == "floor" || op == "ceil" || op == "trunc" || op == "round") {
    RoundTo rounding = op == "floor"   ? RoundTo::Down
                       : op == "ceil"  ? RoundTo::Up
                       : op == "trunc" ? RoundTo::Zero
                                       : RoundTo::Nearest;
    return ops.roundToIntegral(m.ftz ? ops.flush(x) : x, rounding);
  }
  return std::nullopt;
}

Value *emitPermute(IRBuilderBase &b, Value *a, Value *high, Value *selector) {
  Type *i64 = b.getInt64Ty(), *i32 = b.getInt32Ty();
  Value *both = b.CreateOr(b.CreateZExt(a, i64), b.CreateShl(b.CreateZExt(high, i64), 32));
  Value *result = b.getInt32(0);
  for (unsigned i = 0; i < 4; ++i) {
    Value *control = b.CreateLShr(selector, 4 * i);
    Value *shift = b.CreateShl(b.CreateAnd(control, b.getInt32(7)), 3);
    Value *byte = b.CreateTrunc(b.CreateLShr(both, b.CreateZExt(shift, i64)), b.getInt8Ty());
    Value *sign = b.CreateAShr(byte, 7);
    Value *replicate = b.CreateICmpNE(b.CreateAnd(control, b.getInt32(8)), b.getInt32(0));
    Value *chosen = b.CreateZExt(b.CreateSelect(replicate, sign, byte), i32);
    result = b.CreateOr(result, b.CreateShl(chosen, 8 * i));
  }
  return result;
}

Value *emitDotProduct(IRBuilderBase &b, bool four, bool aSigned, bool bSigned, Value *x, Value *y,
                      Value *sum) {
  auto piece = [&](Value *v, unsigned index, unsigned width, bool isSigned) {
    Value *narrow = b.CreateTrunc(b.CreateLShr(v, index * width), b.getIntNTy(width));
    return isSigned ? b.CreateSExt(narrow, b.getInt32Ty()) : b.CreateZExt(narrow, b.getInt32Ty());
  };
  for (unsigned i = 0; i < (four ? 4u : 2u); ++i)
    sum =
        b.CreateAdd(sum, b.CreateMul(piece(x, i, four ? 8 : 16, aSigned), piece(y, i, 8, bSigned)));
  return sum;
}

/// idp4a.{s,u}.{s,u}(a, b, c); idp2a has a flag for the upper half of b.
static Value *lowerDotProduct(IntrinsicCall &c) {
  bool four = c.parts[0] == "idp4a";
  IRBuilder<> &b = c.builder;
  Value *y = c.argument(1);
  if (!four)
    y = b.CreateLShr(y, b.CreateSelect(c.argument(2), b.getInt32(16), b.getInt32(0)));
  return emitDotProduct(b, four, c.parts[1] == "s", c.parts[2] == "s", c.argument(0), y,
                        c.argument(four ? 2 : 3));
}

static Value *emitMulHigh(IRBuilderBase &b, Value *x, Value *y, bool isSigned) {
  unsigned bits = x->getType()->getIntegerBitWidth();
  Type *wide = b.getIntNTy(2 * bits);
  auto extend = [&](Value *v) { return isSigned ? b.CreateSExt(v, wide) : b.CreateZExt(v, wide); };
  return b.CreateTrunc(b.CreateLShr(b.CreateMul(extend(x), extend(y)), bits), x->getType());
}

static Lowered lowerAddressSpace(IntrinsicCall &c) {
  IRBuilder<> &b = c.builder;
  if (c.parts[0] == "isspacep") {
    Type *pointer = b.getPtrTy();
    Value *address = c.argument(0);
    Value *inShared = b.CreateAnd(
        b.CreateICmpUGE(address,
                        c.state.field(pointer, offsetof(kbrt::Block, sharedBegin), "kb.sb")),
        b.CreateICmpULT(address,
                        c.state.field(pointer, offsetof(kbrt::Block, sharedEnd), "kb.se")));
    if (c.parts[1] == "shared")
      return inShared;
    // Device memory, constants and symbols live in the arena.
    Value *word = b.CreatePtrToInt(address, b.getInt64Ty());
    Value *inArena = b.CreateICmpEQ(b.CreateLShr(word, 40), b.getInt64(0x600000000000ull >> 40));
    if (c.parts[1] == "global")
      return inArena;
    if (c.parts[1] == "local")
      return b.CreateNot(b.CreateOr(inShared, inArena));
    return b.getFalse();
  }
  if (c.name.starts_with("internal.addrspace.wrap") || c.name.starts_with("move.ptr"))
    return c.argument(0);
  return std::nullopt;
}

Lowered lowerInteger(IntrinsicCall &c) {
  IRBuilder<> &b = c.builder;
  StringRef op = c.parts[0];
  if (op == "prmt") {
    if (c.parts.size() == 1)
      return emitPermute(b, c.argument(0), c.argument(1), c.argument(2));
    return std::nullopt;
  }
  if (op == "mulhi" || op == "mul24" || op == "sad") {
    StringRef type = c.parts[1];
    bool isSigned = !type.starts_with("u");
    Value *x = c.argument(0), *y = c.argument(1);
    if (op == "mulhi")
      return emitMulHigh(b, x, y, isSigned);
    if (op == "mul24") {
      auto cut = [&](Value *v) {
        Value *left = b.CreateShl(v, 8);
        return isSigned ? b.CreateAShr(left, 8) : b.CreateLShr(left, 8);
      };
      return b.CreateMul(cut(x), cut(y));
    }
    Value *less = isSigned ? b.CreateICmpSLT(x, y) : b.CreateICmpULT(x, y);
    return b.CreateAdd(c.argument(2), b.CreateSelect(less, b.CreateSub(y, x), b.CreateSub(x, y)));
  }
  if (op == "idp4a" || op == "idp2a")
    return lowerDotProduct(c);
  if (op == "d2i" && c.parts.size() == 2 && (c.parts[1] == "lo" || c.parts[1] == "hi")) {
    Value *bits = b.CreateBitCast(c.argument(0), b.getInt64Ty());
    return b.CreateTrunc(c.parts[1] == "hi" ? b.CreateLShr(bits, 32) : bits, b.getInt32Ty());
  }
  if (op == "lohi") {
    Type *i64 = b.getInt64Ty();
    Value *bits = b.CreateOr(b.CreateZExt(c.argument(0), i64),
                             b.CreateShl(b.CreateZExt(c.argument(1), i64), 32));
    return b.CreateBitCast(bits, b.getDoubleTy());
  }
  if (op == "flo") {
    // flo.{s,u}(value, shiftamt): position of the leading bit, or its distance.
    Value *x = c.argument(0);
    if (c.parts[1] == "s")
      x = b.CreateSelect(b.CreateICmpSLT(x, Constant::getNullValue(x->getType())), b.CreateNot(x),
                         x);
    Value *zeros =
        b.CreateTrunc(b.CreateBinaryIntrinsic(Intrinsic::ctlz, x, b.getFalse()), b.getInt32Ty());
    Value *isZero = b.CreateICmpEQ(x, Constant::getNullValue(x->getType()));
    unsigned bits = x->getType()->getIntegerBitWidth();
    Value *position = b.CreateSub(b.getInt32(bits - 1), zeros);
    return b.CreateSelect(isZero, b.getInt32(~0u), b.CreateSelect(c.argument(1), zeros, position));
  }
  if (op == "fshl" || op == "fshr") {
    Value *amount = c.argument(2);
    Type *i64 = b.getInt64Ty();
    amount = b.CreateZExt(
        b.CreateSelect(b.CreateICmpUGT(amount, b.getInt32(32)), b.getInt32(32), amount), i64);
    Value *pair = b.CreateOr(b.CreateShl(b.CreateZExt(c.argument(0), i64), 32),
                             b.CreateZExt(c.argument(1), i64));
    Value *result =
        op == "fshl" ? b.CreateLShr(b.CreateShl(pair, amount), 32) : b.CreateLShr(pair, amount);
    return b.CreateTrunc(result, b.getInt32Ty());
  }
  return lowerAddressSpace(c);
}

} // namespace kbopt::cpu
