//===- PtxArithmetic.cpp - Floating-point and integer arithmetic ----------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Intrinsics.h"
#include "PtxTranslator.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace llvm;

namespace kbopt::cpu {

bool PtxTranslator::translateFloat(const Instruction &i) {
  PtxType type = instructionType(i);
  if (!type || !type.isFloat() || i.operands.size() < 2)
    return false;
  StringRef op = i.parts[0];
  Modifiers m = modifiersOf(i);
  m.mayContract = context.contracts && !m.isRounded; // as ptxas does
  Value *x = read(i.operands[1], type.type);
  Value *y = i.operands.size() > 2 ? read(i.operands[2], type.type) : nullptr;
  Value *z = i.operands.size() > 3 ? read(i.operands[3], type.type) : nullptr;
  if (!x || (i.operands.size() > 2 && !y) || (i.operands.size() > 3 && !z))
    return false;
  Value *result = nullptr;
  bool isSingle = type.type->isFloatTy();
  if (op == "add" && y)
    result = ops.add(x, y, m);
  else if (op == "sub" && y)
    result = ops.sub(x, y, m);
  else if (op == "mul" && y)
    result = ops.mul(x, y, m);
  else if (op == "div" && y)
    result = ops.div(x, y, m);
  else if ((op == "fma" || op == "mad") && z)
    result = ops.fma(x, y, z, m);
  else if ((op == "min" || op == "max") && y && !z)
    result = ops.minMax(op == "max", x, y, m);
  else if (op == "abs") {
    m.xorsignAbs = false;
    result = ops.abs(x, m);
  } else if (op == "neg")
    result = ops.neg(x, m);
  else if (op == "sqrt")
    result = ops.sqrt(x, m);
  else if (op == "rcp" && isSingle && i.has("approx")) // counted as special
    result = nvvm(m.ftz ? "rcp.approx.ftz.f" : "rcp.rn.f", {x});
  else if (op == "rcp")
    result = ops.reciprocal(x, m);
  else if (op == "rsqrt" && isSingle)
    result = nvvm(m.ftz ? "rsqrt.approx.ftz.f" : "rsqrt.approx.f", {x});
  else if (op == "rsqrt")
    result = ops.reciprocalSqrt(x, m);
  else if (op == "ex2" || op == "lg2" || op == "sin" || op == "cos" || op == "tanh")
    result = ops.special(op, x, m);
  else if (op == "copysign" && y) // copysign d, sign, magnitude
    result = b.CreateBinaryIntrinsic(Intrinsic::copysign, y, x);
  if (!result)
    return false;
  write(i.operands[0], result);
  return true;
}

static Value *high(IRBuilderBase &b, Value *x, Value *y, bool isSigned) {
  Type *wide = b.getIntNTy(2 * x->getType()->getIntegerBitWidth());
  auto extend = [&](Value *v) { return isSigned ? b.CreateSExt(v, wide) : b.CreateZExt(v, wide); };
  return b.CreateTrunc(
      b.CreateLShr(b.CreateMul(extend(x), extend(y)), x->getType()->getIntegerBitWidth()),
      x->getType());
}

bool PtxTranslator::translateInteger(const Instruction &i) {
  PtxType type = instructionType(i);
  if (!type || type.isFloat() || i.operands.size() < 2 || type.type->isIntegerTy(1))
    return false;
  StringRef op = i.parts[0];
  static constexpr StringLiteral known[] = {"add", "sub", "mul", "mad", "div",   "rem",  "min",
                                            "max", "neg", "abs", "sad", "mul24", "mad24"};
  if (!is_contained(known, op))
    return false;
  bool isSigned = type.isSigned, wide = i.has("wide");
  Value *x = read(i.operands[1], type.type);
  Value *y = i.operands.size() > 2 ? read(i.operands[2], type.type) : nullptr;
  if (!x || (i.operands.size() > 2 && !y))
    return false;
  Value *result = nullptr;
  if (op == "neg" || op == "abs") {
    Value *negative = b.CreateNeg(x);
    result = op == "neg" ? negative
                         : b.CreateSelect(b.CreateICmpSLT(x, Constant::getNullValue(type.type)),
                                          negative, x);
  } else if (!y) {
    return false;
  } else if (op == "add" || op == "sub") {
    if (i.has("sat"))
      result =
          b.CreateBinaryIntrinsic(op == "add" ? Intrinsic::sadd_sat : Intrinsic::ssub_sat, x, y);
    else
      result = op == "add" ? b.CreateAdd(x, y) : b.CreateSub(x, y);
  } else if (op == "mul" || op == "mad") {
    if (wide) {
      Type *twice = b.getIntNTy(2 * type.type->getIntegerBitWidth());
      result = isSigned ? b.CreateMul(b.CreateSExt(x, twice), b.CreateSExt(y, twice))
                        : b.CreateMul(b.CreateZExt(x, twice), b.CreateZExt(y, twice));
    } else {
      result = i.has("hi") ? high(b, x, y, isSigned) : b.CreateMul(x, y);
    }
  } else if (op == "mul24" || op == "mad24") {
    auto cut = [&](Value *v) {
      Value *left = b.CreateShl(v, 8);
      return isSigned ? b.CreateAShr(left, 8) : b.CreateLShr(left, 8);
    };
    result = i.has("hi") ? b.CreateOr(b.CreateLShr(b.CreateMul(cut(x), cut(y)), 16),
                                      b.CreateShl(high(b, cut(x), cut(y), isSigned), 16))
                         : b.CreateMul(cut(x), cut(y));
  } else if (op == "div" || op == "rem") {
    // By zero: all ones.
    Value *isZero = b.CreateICmpEQ(y, Constant::getNullValue(type.type));
    Value *safe = b.CreateSelect(isZero, ConstantInt::get(type.type, 1), y);
    result = op == "div" ? (isSigned ? b.CreateSDiv(x, safe) : b.CreateUDiv(x, safe))
                         : (isSigned ? b.CreateSRem(x, safe) : b.CreateURem(x, safe));
    result = b.CreateSelect(isZero, Constant::getAllOnesValue(type.type), result);
  } else if (op == "min" || op == "max") {
    Intrinsic::ID id = op == "min" ? (isSigned ? Intrinsic::smin : Intrinsic::umin)
                                   : (isSigned ? Intrinsic::smax : Intrinsic::umax);
    result = b.CreateBinaryIntrinsic(id, x, y);
    if (i.has("relu"))
      result = b.CreateBinaryIntrinsic(Intrinsic::smax, result, Constant::getNullValue(type.type));
  } else { // sad
    Value *less = isSigned ? b.CreateICmpSLT(x, y) : b.CreateICmpULT(x, y);
    result = b.CreateSelect(less, b.CreateSub(y, x), b.CreateSub(x, y));
  }
  if (op == "mad" || op == "mad24" || op == "sad") {
    if (i.operands.size() != 4)
      return false;
    Value *z = read(i.operands[3], result->getType());
    if (!z)
      return false;
    result = i.has("sat") ? b.CreateBinaryIntrinsic(Intrinsic::sadd_sat, result, z)
                          : b.CreateAdd(result, z);
  }
  write(i.operands[0], result, isSigned);
  return true;
}

/// Extended precision: add.cc, addc{.cc}, sub.cc, subc{.cc}, mad.cc, madc{.cc}.
bool PtxTranslator::translateCarry(const Instruction &i) {
  StringRef op = i.parts[0];
  bool sets = i.has("cc"), uses = op == "addc" || op == "subc" || op == "madc";
  if (!sets && !uses)
    return false;
  PtxType type = instructionType(i);
  if (!type || type.isFloat() || i.operands.size() < 3)
    return false;
  unsigned bits = type.type->getIntegerBitWidth();
  Type *wide = b.getIntNTy(2 * bits + 1);
  Value *x = read(i.operands[1], type.type), *y = read(i.operands[2], type.type);
  if (!x || !y)
    return false;
  if (op == "mad" || op == "madc") {
    Value *product = i.has("hi") ? high(b, x, y, type.isSigned) : b.CreateMul(x, y);
    Value *z = i.operands.size() > 3 ? read(i.operands[3], type.type) : nullptr;
    if (!z)
      return false;
    x = product, y = z;
  }
  Value *in = uses && carry ? b.CreateZExt(carry, wide) : ConstantInt::get(wide, 0);
  bool subtracts = op == "sub" || op == "subc";
  Value *a = b.CreateZExt(x, wide), *c = b.CreateZExt(y, wide);
  Value *sum = subtracts ? b.CreateSub(b.CreateSub(a, c), in) : b.CreateAdd(b.CreateAdd(a, c), in);
  if (sets)
    carry = b.CreateTrunc(b.CreateLShr(sum, bits), b.getInt1Ty());
  write(i.operands[0], b.CreateTrunc(sum, type.type));
  return true;
}

/// Of a named mode of prmt: the bytes of each of its four selections, as the plain mode takes them.
static Value *permuteSelector(IRBuilderBase &b, StringRef mode, Value *selection) {
  uint64_t bytes = StringSwitch<uint64_t>(mode)
                       .Case("f4e", 0x6543'5432'4321'3210)
                       .Case("b4e", 0x0123'7012'6701'5670)
                       .Case("rc8", 0x3333'2222'1111'0000)
                       .Case("ecl", 0x3333'3222'3211'3210)
                       .Case("ecr", 0x3210'2210'1110'0000)
                       .Case("rc16", 0x3232'1010'3232'1010)
                       .Default(0);
  if (!bytes)
    return nullptr;
  Value *shift = b.CreateShl(b.CreateAnd(selection, b.getInt32(3)), 4);
  Value *chosen = b.CreateLShr(b.getInt64(bytes), b.CreateZExt(shift, b.getInt64Ty()));
  return b.CreateTrunc(b.CreateAnd(chosen, b.getInt64(0xffff)), b.getInt32Ty());
}

/// A position or width: modulo 32, or at most 32; of 64 bits.
static Value *limitWidth(IRBuilderBase &b, Value *width, bool wraps) {
  width = wraps ? b.CreateAnd(width, b.getInt32(31))
                : b.CreateBinaryIntrinsic(Intrinsic::umin, width, b.getInt32(32));
  return b.CreateZExt(width, b.getInt64Ty());
}

/// bmsk: \p width ones from bit \p start on.
static Value *maskOfBits(IRBuilderBase &b, Value *start, Value *width, bool wraps) {
  Value *one = b.getInt64(1);
  Value *ones = b.CreateSub(b.CreateShl(one, limitWidth(b, width, wraps)), one);
  return b.CreateTrunc(b.CreateShl(ones, limitWidth(b, start, wraps)), b.getInt32Ty());
}

/// szext: the lower \p width bits of \p x, with zeros or copies of their highest above.
static Value *extendBits(IRBuilderBase &b, Value *x, Value *width, bool wraps, bool isSigned) {
  Type *wide = b.getInt128Ty(); // shifts by 64 of it are shifts
  Value *left =
      b.CreateSub(ConstantInt::get(wide, 64), b.CreateZExt(limitWidth(b, width, wraps), wide));
  Value *up = b.CreateShl(b.CreateZExt(b.CreateZExt(x, b.getInt64Ty()), wide), left);
  up = b.CreateSExt(b.CreateTrunc(up, b.getInt64Ty()), wide);
  if (!isSigned)
    up = b.CreateAnd(up, ConstantInt::get(wide, APInt::getLowBitsSet(128, 64)));
  return b.CreateTrunc(b.CreateAShr(up, left), b.getInt32Ty());
}

/// The position or length of a field of bfe and bfi, up to 255. PTX takes the low byte, and so does
/// a GPU in 32 bits; in 64 bits an H200 takes the whole number.
static Value *limitField(IRBuilderBase &b, Value *number, unsigned bits) {
  return bits == 32 ? b.CreateAnd(number, 255)
                    : b.CreateBinaryIntrinsic(Intrinsic::umin, number, b.getInt32(255));
}

bool PtxTranslator::translateBits(const Instruction &i) {
  StringRef op = i.parts[0];
  PtxType type = instructionType(i);
  if (!type || type.isFloat() || i.operands.size() < 2)
    return false;
  unsigned bits = type.type->getScalarSizeInBits();
  auto input = [&](unsigned n, Type *t = nullptr) {
    return n < i.operands.size() ? read(i.operands[n], t ? t : type.type) : nullptr;
  };
  Value *x = input(1), *y = nullptr;
  if (!x)
    return false;
  Type *i32 = b.getInt32Ty();
  Value *result = nullptr;
  if (op == "not") {
    result = b.CreateNot(x);
  } else if (op == "cnot") {
    result = b.CreateZExt(b.CreateICmpEQ(x, ConstantInt::get(type.type, 0)), type.type);
  } else if (op == "brev") {
    result = b.CreateUnaryIntrinsic(Intrinsic::bitreverse, x);
  } else if (op == "popc" || op == "clz") {
    result = op == "popc" ? b.CreateUnaryIntrinsic(Intrinsic::ctpop, x)
                          : b.CreateBinaryIntrinsic(Intrinsic::ctlz, x, b.getFalse());
    result = b.CreateZExtOrTrunc(result, i32);
  } else if (op == "bfind") {
    bool shift = i.has("shiftamt");
    Intrinsic::ID id = type.isSigned ? Intrinsic::nvvm_flo_s : Intrinsic::nvvm_flo_u;
    result = b.CreateIntrinsic(id, {type.type}, {x, b.getInt1(shift)});
  } else if ((op == "and" || op == "or" || op == "xor") && (y = input(2))) {
    result = op == "and" ? b.CreateAnd(x, y) : op == "or" ? b.CreateOr(x, y) : b.CreateXor(x, y);
  } else if ((op == "shl" || op == "shr") && (y = input(2, i32))) {
    // PTX clamps the amount.
    Value *amount = b.CreateZExtOrTrunc(y, type.type);
    Value *over = b.CreateICmpUGE(y, b.getInt32(bits));
    if (op == "shr" && type.isSigned) {
      result = b.CreateAShr(x, b.CreateSelect(over, ConstantInt::get(type.type, bits - 1), amount));
    } else {
      Value *safe = b.CreateSelect(over, ConstantInt::get(type.type, 0), amount);
      result = op == "shl" ? b.CreateShl(x, safe) : b.CreateLShr(x, safe);
      result = b.CreateSelect(over, ConstantInt::get(type.type, 0), result);
    }
  } else if (op == "shf" && i.operands.size() == 4) {
    y = input(2);
    Value *amount = input(3, i32);
    if (!y || !amount)
      return false;
    amount = i.has("wrap") ? b.CreateAnd(amount, 31)
                           : b.CreateBinaryIntrinsic(Intrinsic::umin, amount, b.getInt32(32));
    Type *i64 = b.getInt64Ty();
    Value *pair = b.CreateOr(b.CreateShl(b.CreateZExt(y, i64), 32), b.CreateZExt(x, i64));
    Value *by = b.CreateZExt(amount, i64);
    result = b.CreateTrunc(
        i.has("l") ? b.CreateLShr(b.CreateShl(pair, by), 32) : b.CreateLShr(pair, by), i32);
  } else if (op == "prmt" && i.operands.size() == 4) {
    y = input(2);
    Value *selector = input(3, i32);
    if (!y || !selector)
      return false;
    if (i.parts.size() > 2)
      selector = permuteSelector(b, i.parts.back(), selector);
    result = selector ? emitPermute(b, x, y, selector) : nullptr;
  } else if (op == "fns" && i.operands.size() == 4) {
    result = nvvm("fns", {x, input(2, i32), input(3, i32)});
  } else if ((op == "szext" || op == "bmsk") && (y = input(2, i32))) {
    result = op == "bmsk" ? maskOfBits(b, x, y, i.has("wrap"))
                          : extendBits(b, x, y, i.has("wrap"), type.isSigned);
  } else if ((op == "dp4a" || op == "dp2a") && i.operands.size() == 4) {
    y = input(2, i32);
    Value *sum = input(3, i32);
    PtxType first = instructionType(i, 1);
    if (!y || !sum || !first)
      return false;
    if (i.has("hi"))
      y = b.CreateLShr(y, 16);
    result = emitDotProduct(b, op == "dp4a", first.isSigned, type.isSigned, x, y, sum);
  } else if (op == "lop3" && i.operands.size() == 5 && i.operands[4].kind == Operand::Immediate) {
    y = input(2);
    Value *z = input(3);
    if (!y || !z)
      return false;
    result = ConstantInt::get(type.type, 0);
    for (unsigned n = 0; n < 8; ++n)
      if (i.operands[4].value >> n & 1) {
        auto pick = [&](Value *v, unsigned bit) { return n >> bit & 1 ? v : b.CreateNot(v); };
        result = b.CreateOr(result, b.CreateAnd(pick(x, 2), b.CreateAnd(pick(y, 1), pick(z, 0))));
      }
  } else if (op == "bfe" && i.operands.size() == 4) {
    Value *position = input(2, i32), *length = input(3, i32);
    if (!position || !length)
      return false;
    // So wide that every position and length up to 255 works.
    Type *wide = b.getIntNTy(512);
    auto extend = [&](Value *v, bool s) {
      return s ? b.CreateSExt(v, wide) : b.CreateZExt(v, wide);
    };
    Value *shifted =
        b.CreateAShr(extend(x, type.isSigned), b.CreateZExt(limitField(b, position, bits), wide));
    Value *left =
        b.CreateSub(ConstantInt::get(wide, 511), b.CreateZExt(limitField(b, length, bits), wide));
    Value *up = b.CreateShl(b.CreateShl(shifted, left), 1);
    Value *down = type.isSigned ? b.CreateAShr(b.CreateAShr(up, left), 1)
                                : b.CreateLShr(b.CreateLShr(up, left), 1);
    result = b.CreateTrunc(down, type.type);
  } else if (op == "bfi" && i.operands.size() == 5) {
    y = input(2);
    Value *position = input(3, i32), *length = input(4, i32);
    if (!y || !position || !length)
      return false;
    Type *wide = b.getIntNTy(512);
    Value *one = ConstantInt::get(wide, 1);
    Value *at = b.CreateZExt(limitField(b, position, bits), wide);
    Value *mask = b.CreateShl(
        b.CreateSub(b.CreateShl(one, b.CreateZExt(limitField(b, length, bits), wide)), one), at);
    Value *inserted = b.CreateAnd(b.CreateShl(b.CreateZExt(x, wide), at), mask);
    Value *kept = b.CreateAnd(b.CreateZExt(y, wide), b.CreateNot(mask));
    result = b.CreateTrunc(b.CreateOr(inserted, kept), type.type);
  }
  if (!result)
    return false;
  write(i.operands[0], result, type.isSigned);
  return true;
}

} // namespace kbopt::cpu
