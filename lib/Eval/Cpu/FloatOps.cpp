//===- FloatOps.cpp - PTX arithmetic as host IR ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "FloatOps.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Intrinsics.h"
#include <cfenv>

using namespace llvm;

namespace kbopt::cpu {

bool Modifiers::accept(StringRef part) {
  isRounded |= part == "rn" || part == "rz" || part == "rm" || part == "rp";
  if (part == "rn" || part == "rni")
    rounding = RoundTo::Nearest;
  else if (part == "rz" || part == "rzi")
    rounding = RoundTo::Zero;
  else if (part == "rm" || part == "rmi")
    rounding = RoundTo::Down;
  else if (part == "rp" || part == "rpi")
    rounding = RoundTo::Up;
  else if (part == "ftz")
    ftz = true;
  else if (part == "sat")
    sat = true;
  else if (part == "satfinite")
    satfinite = true;
  else if (part == "relu")
    relu = true;
  else if (part == "nan" || part == "NaN")
    nan = true;
  else if (part == "xorsign" || part == "abs")
    xorsignAbs = true;
  else if (part == "approx")
    approx = true;
  else if (part == "full")
    return true; // as div.rn within its bound
  else
    return false;
  return true;
}

Value *FloatOps::unary(Intrinsic::ID id, Value *x) { return b.CreateUnaryIntrinsic(id, x); }

Value *FloatOps::flush(Value *x) {
  Type *element = x->getType()->getScalarType();
  if (!element->isFloatTy() && !element->isHalfTy() && !element->isBFloatTy())
    return x;
  Value *magnitude = unary(Intrinsic::fabs, x);
  double leastNormal = element->isHalfTy() ? 0x1p-14 : 0x1p-126;
  Value *isTiny = b.CreateFCmpOLT(magnitude, ConstantFP::get(x->getType(), leastNormal));
  Value *zero = b.CreateBinaryIntrinsic(Intrinsic::copysign, ConstantFP::get(x->getType(), 0.0), x);
  return b.CreateSelect(isTiny, zero, x);
}

Value *FloatOps::saturate(Value *x) {
  Type *type = x->getType();
  // NaN becomes +0.
  Value *low =
      b.CreateSelect(b.CreateFCmpOGT(x, ConstantFP::get(type, 0.0)), x, ConstantFP::get(type, 0.0));
  return b.CreateSelect(b.CreateFCmpOLT(low, ConstantFP::get(type, 1.0)), low,
                        ConstantFP::get(type, 1.0));
}

Value *FloatOps::finish(Value *x, const Modifiers &m) {
  if (m.ftz)
    x = flush(x);
  if (m.sat)
    x = saturate(x);
  if (m.relu) {
    // -0 becomes +0, and NaN stays.
    Value *zero = Constant::getNullValue(x->getType());
    x = b.CreateSelect(b.CreateFCmpOLE(x, zero), zero, x);
  }
  return x;
}

Value *FloatOps::directed(StringRef operation, RoundTo rounding, Type *type,
                          ArrayRef<Value *> arguments) {
  if (auto *vector = dyn_cast<FixedVectorType>(type)) {
    Value *result = PoisonValue::get(type);
    for (unsigned i = 0; i < vector->getNumElements(); ++i) {
      SmallVector<Value *> elements;
      for (Value *argument : arguments)
        elements.push_back(b.CreateExtractElement(argument, i));
      result = b.CreateInsertElement(
          result, directed(operation, rounding, vector->getElementType(), elements), i);
    }
    return result;
  }
  int mode = rounding == RoundTo::Zero   ? FE_TOWARDZERO
             : rounding == RoundTo::Down ? FE_DOWNWARD
                                         : FE_UPWARD;
  std::string name = ("kb.directed." + operation + "." + Twine(mode)).str();
  SmallVector<Type *> types;
  for (Value *argument : arguments) {
    types.push_back(argument->getType());
    raw_string_ostream stream(name);
    stream << '.' << *argument->getType();
  }
  {
    raw_string_ostream stream(name);
    stream << '.' << *type;
  }
  Module &module = context.module;
  Function *helper = module.getFunction(name);
  if (!helper) {
    helper = Function::Create(FunctionType::get(type, types, false), GlobalValue::InternalLinkage,
                              name, module);
    for (Attribute::AttrKind kind :
         {Attribute::NoInline, Attribute::StrictFP, Attribute::NoUnwind, Attribute::WillReturn})
      helper->addFnAttr(kind);
    IRBuilder<> inner(BasicBlock::Create(module.getContext(), "", helper));
    inner.setIsFPConstrained(true);
    inner.setDefaultConstrainedExcept(fp::ebStrict);
    inner.setDefaultConstrainedRounding(RoundingMode::Dynamic);
    Type *i32 = inner.getInt32Ty();
    Value *saved = inner.CreateCall(module.getOrInsertFunction("fegetround", i32));
    FunctionCallee set = module.getOrInsertFunction("fesetround", i32, i32);
    inner.CreateCall(set, {inner.getInt32(mode)});
    Value *x = helper->getArg(0);
    Value *y = arguments.size() > 1 ? helper->getArg(1) : nullptr;
    auto intrinsic = [&](Intrinsic::ID id, ArrayRef<Value *> operands) -> Value * {
      return inner.CreateConstrainedFPCall(Intrinsic::getOrInsertDeclaration(&module, id, {type}),
                                           operands);
    };
    Value *result = nullptr;
    if (operation == "add")
      result = inner.CreateFAdd(x, y);
    else if (operation == "sub")
      result = inner.CreateFSub(x, y);
    else if (operation == "mul")
      result = inner.CreateFMul(x, y);
    else if (operation == "div")
      result = inner.CreateFDiv(x, y);
    else if (operation == "fma")
      result = intrinsic(Intrinsic::experimental_constrained_fma, {x, y, helper->getArg(2)});
    else if (operation == "sqrt")
      result = intrinsic(Intrinsic::experimental_constrained_sqrt, {x});
    else if (operation == "trunc")
      result = inner.CreateFPTrunc(x, type);
    else if (operation == "sitofp")
      result = inner.CreateSIToFP(x, type);
    else
      result = inner.CreateUIToFP(x, type);
    inner.CreateCall(set, {saved});
    inner.CreateRet(result);
  }
  return b.CreateCall(helper, arguments);
}

Value *FloatOps::contractible(Value *x, const Modifiers &m) {
  if (auto *instruction = dyn_cast<Instruction>(x); instruction && m.mayContract)
    instruction->setHasAllowContract(true);
  return x;
}

Value *FloatOps::add(Value *x, Value *y, const Modifiers &m) {
  x = in(x, m), y = in(y, m);
  return finish(m.rounding == RoundTo::Nearest ? contractible(b.CreateFAdd(x, y), m)
                                               : directed("add", m.rounding, x->getType(), {x, y}),
                m);
}

Value *FloatOps::sub(Value *x, Value *y, const Modifiers &m) {
  x = in(x, m), y = in(y, m);
  return finish(m.rounding == RoundTo::Nearest ? contractible(b.CreateFSub(x, y), m)
                                               : directed("sub", m.rounding, x->getType(), {x, y}),
                m);
}

Value *FloatOps::mul(Value *x, Value *y, const Modifiers &m) {
  x = in(x, m), y = in(y, m);
  return finish(m.rounding == RoundTo::Nearest ? contractible(b.CreateFMul(x, y), m)
                                               : directed("mul", m.rounding, x->getType(), {x, y}),
                m);
}

Value *FloatOps::div(Value *x, Value *y, const Modifiers &m) {
  x = in(x, m), y = in(y, m);
  if (m.approx && y->getType()->isFloatTy()) {
    // It multiplies by a reciprocal, which is 0 above 2^126.
    Value *isLarge =
        b.CreateFCmpOGT(unary(Intrinsic::fabs, y), ConstantFP::get(y->getType(), 0x1p126));
    Value *infinite =
        b.CreateBinaryIntrinsic(Intrinsic::copysign, ConstantFP::getInfinity(y->getType()), y);
    y = b.CreateSelect(isLarge, infinite, y);
  }
  if (m.rounding == RoundTo::Nearest)
    return finish(b.CreateFDiv(x, y), m);
  Value *result = directed("div", m.rounding, x->getType(), {x, y});
  if (m.ftz && x->getType()->isFloatTy()) {
    // A quotient below the least normal number is flushed even where it rounds up to that number.
    Type *wide = b.getDoubleTy();
    Value *dividend = unary(Intrinsic::fabs, b.CreateFPExt(x, wide));
    Value *divisor = unary(Intrinsic::fabs, b.CreateFPExt(y, wide));
    Value *isTiny =
        b.CreateFCmpOLT(dividend, b.CreateFMul(divisor, ConstantFP::get(wide, 0x1p-126)));
    Value *zero =
        b.CreateBinaryIntrinsic(Intrinsic::copysign, ConstantFP::get(x->getType(), 0.0), result);
    result = b.CreateSelect(isTiny, zero, result);
  }
  return finish(result, m);
}

Value *FloatOps::fma(Value *x, Value *y, Value *z, const Modifiers &m) {
  x = in(x, m), y = in(y, m), z = in(z, m);
  Value *result = m.rounding == RoundTo::Nearest
                      ? b.CreateIntrinsic(Intrinsic::fma, {x->getType()}, {x, y, z})
                      : directed("fma", m.rounding, x->getType(), {x, y, z});
  return finish(result, m);
}

Value *FloatOps::sqrt(Value *x, const Modifiers &m) {
  x = in(x, m);
  return finish(m.rounding == RoundTo::Nearest ? unary(Intrinsic::sqrt, x)
                                               : directed("sqrt", m.rounding, x->getType(), {x}),
                m);
}

Value *FloatOps::reciprocal(Value *x, const Modifiers &m) {
  if (m.approx && m.ftz && x->getType()->isDoubleTy())
    return highWord(b.CreateFDiv(ConstantFP::get(x->getType(), 1.0), highWord(x)));
  return div(ConstantFP::get(x->getType(), 1.0), x, m);
}

/// What rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 know of a number: its upper word, and no
/// subnormal numbers. The code around them counts on products of such results being exact.
Value *FloatOps::highWord(Value *x) {
  Type *i64 = b.getInt64Ty();
  Value *bits = b.CreateBitCast(x, i64);
  Value *isTiny = b.CreateICmpEQ(b.CreateAnd(bits, 0x7ff0000000000000), b.getInt64(0));
  Value *mask = b.CreateSelect(isTiny, b.getInt64(uint64_t(1) << 63), b.getInt64(~0xffffffffull));
  Value *cut = b.CreateBitCast(b.CreateAnd(bits, mask), x->getType());
  return b.CreateSelect(b.CreateFCmpUNO(x, x), x, cut);
}

Value *FloatOps::reciprocalSqrt(Value *x, const Modifiers &m) {
  if (m.approx && m.ftz && x->getType()->isDoubleTy())
    return highWord(
        b.CreateFDiv(ConstantFP::get(x->getType(), 1.0), unary(Intrinsic::sqrt, highWord(x))));
  x = in(x, m);
  // The approximation is good to an ulp or two; in double it is correctly rounded.
  Type *wide = b.getDoubleTy();
  if (auto *vector = dyn_cast<FixedVectorType>(x->getType()))
    wide = FixedVectorType::get(wide, vector->getNumElements());
  Value *extended = b.CreateFPCast(x, wide);
  Value *result = b.CreateFDiv(ConstantFP::get(wide, 1.0), unary(Intrinsic::sqrt, extended));
  return finish(b.CreateFPCast(result, x->getType()), m);
}

Value *FloatOps::minMax(bool isMax, Value *x, Value *y, const Modifiers &m) {
  x = in(x, m), y = in(y, m);
  Intrinsic::ID id = isMax ? (m.nan ? Intrinsic::maximum : Intrinsic::maximumnum)
                           : (m.nan ? Intrinsic::minimum : Intrinsic::minimumnum);
  if (!m.xorsignAbs)
    return finish(b.CreateBinaryIntrinsic(id, x, y), m);
  Value *result = b.CreateBinaryIntrinsic(id, unary(Intrinsic::fabs, x), unary(Intrinsic::fabs, y));
  Value *sign = b.CreateFMul(
      b.CreateBinaryIntrinsic(Intrinsic::copysign, ConstantFP::get(x->getType(), 1.0), x),
      b.CreateBinaryIntrinsic(Intrinsic::copysign, ConstantFP::get(x->getType(), 1.0), y));
  return finish(b.CreateBinaryIntrinsic(Intrinsic::copysign, result, sign), m);
}

Value *FloatOps::abs(Value *x, const Modifiers &m) { return in(unary(Intrinsic::fabs, x), m); }

Value *FloatOps::neg(Value *x, const Modifiers &m) { return in(b.CreateFNeg(x), m); }

Value *FloatOps::special(StringRef function, Value *x, const Modifiers &m) {
  x = in(x, m);
  Type *type = x->getType();
  Type *single = b.getFloatTy();
  if (auto *vector = dyn_cast<FixedVectorType>(type))
    single = FixedVectorType::get(single, vector->getNumElements());
  bool isSmall = type->getScalarSizeInBits() < 32;
  Value *wide = isSmall ? b.CreateFPExt(x, single) : x;
  Intrinsic::ID id = StringSwitch<Intrinsic::ID>(function)
                         .Case("ex2", Intrinsic::exp2)
                         .Case("lg2", Intrinsic::log2)
                         .Case("sin", Intrinsic::sin)
                         .Case("cos", Intrinsic::cos)
                         .Default(Intrinsic::tanh);
  Value *result = unary(id, wide);
  return finish(isSmall ? b.CreateFPTrunc(result, type) : result, m);
}

Value *FloatOps::roundToIntegral(Value *x, RoundTo rounding) {
  switch (rounding) {
  case RoundTo::Nearest:
    return unary(Intrinsic::roundeven, x);
  case RoundTo::Zero:
    return unary(Intrinsic::trunc, x);
  case RoundTo::Down:
    return unary(Intrinsic::floor, x);
  case RoundTo::Up:
    return unary(Intrinsic::ceil, x);
  }
  llvm_unreachable("no other rounding");
}

Value *FloatOps::toInteger(Value *x, Type *type, bool isSigned, RoundTo rounding, bool ftz) {
  if (ftz)
    x = flush(x);
  if (x->getType()->getScalarSizeInBits() < 32)
    x = b.CreateFPExt(x, b.getFloatTy());
  if (rounding != RoundTo::Zero)
    x = roundToIntegral(x, rounding);
  return saturateToInteger(x, type, isSigned);
}

Value *FloatOps::saturateToInteger(Value *x, Type *type, bool isSigned) {
  Value *result = b.CreateIntrinsic(isSigned ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat,
                                    {type, x->getType()}, {x});
  unsigned bits = type->getScalarSizeInBits();
  if (!x->getType()->getScalarType()->isDoubleTy() && bits < 64)
    return result; // of NaN: 0
  Value *lowest = ConstantInt::get(type, APInt::getSignedMinValue(bits));
  return b.CreateSelect(b.CreateFCmpUNO(x, x), lowest, result);
}

Value *FloatOps::fromInteger(Value *x, Type *type, bool isSigned, RoundTo rounding) {
  // An intermediate float could round twice: a double holds 32 bits exactly, and enough of 64.
  if (type->getScalarSizeInBits() < 32) {
    x = x->getType()->getScalarSizeInBits() > 32 ? collectLowBits(x, isSigned) : x;
    Value *exact =
        isSigned ? b.CreateSIToFP(x, b.getDoubleTy()) : b.CreateUIToFP(x, b.getDoubleTy());
    return narrow(exact, type, rounding);
  }
  if (rounding != RoundTo::Nearest)
    return directed(isSigned ? "sitofp" : "uitofp", rounding, type, {x});
  return isSigned ? b.CreateSIToFP(x, type) : b.CreateUIToFP(x, type);
}

/// \p x, of 64 bits, as an integer that a double holds exactly and that every rounding to
/// 16-bit floats takes for \p x: one of the bits that are cut says whether any was set.
Value *FloatOps::collectLowBits(Value *x, bool isSigned) {
  Value *low = b.CreateAnd(x, b.getInt64(0xffff));
  Value *cut = b.CreateSub(x, low);
  Value *sticky =
      b.CreateSelect(b.CreateICmpEQ(low, b.getInt64(0)), cut, b.CreateOr(cut, b.getInt64(0x8000)));
  Value *high = isSigned ? b.CreateAShr(x, 52) : b.CreateLShr(x, 52);
  Value *fits = b.CreateICmpULE(b.CreateAdd(high, b.getInt64(1)), b.getInt64(1));
  return b.CreateSelect(fits, x, sticky);
}

/// To a 16-bit float. A directed rounding is the nearest number, or its neighbour where that lies
/// on the wrong side of \p x.
Value *FloatOps::narrow(Value *x, Type *type, RoundTo rounding) {
  Value *nearest = b.CreateFPTrunc(x, type);
  if (rounding == RoundTo::Nearest)
    return nearest;
  Value *back = b.CreateFPExt(nearest, x->getType());
  Value *isAbove = b.CreateFCmpOGT(back, x), *isBelow = b.CreateFCmpOLT(back, x);
  Type *i16 = b.getInt16Ty();
  if (auto *vector = dyn_cast<FixedVectorType>(type))
    i16 = FixedVectorType::get(i16, vector->getNumElements());
  Value *bits = b.CreateBitCast(nearest, i16);
  Value *isNegative = b.CreateICmpSLT(bits, Constant::getNullValue(i16));
  Value *outward = b.CreateAdd(bits, ConstantInt::get(i16, 1));
  Value *inward = b.CreateSub(bits, ConstantInt::get(i16, 1));
  // A zero is never on the wrong side inward: its sign is that of x.
  Value *result = bits;
  if (rounding != RoundTo::Up)
    result = b.CreateSelect(
        b.CreateAnd(isAbove, rounding == RoundTo::Zero ? b.CreateNot(isNegative) : isAbove),
        b.CreateSelect(isNegative, outward, inward), result);
  if (rounding != RoundTo::Down)
    result = b.CreateSelect(b.CreateAnd(isBelow, rounding == RoundTo::Zero ? isNegative : isBelow),
                            b.CreateSelect(isNegative, inward, outward), result);
  return b.CreateBitCast(result, type);
}

Value *FloatOps::convert(Value *x, Type *type, const Modifiers &m) {
  x = in(x, m);
  unsigned from = x->getType()->getScalarSizeInBits(), to = type->getScalarSizeInBits();
  if (from == to && x->getType() != type)
    x = b.CreateFPExt(x, type->isVectorTy() ? (Type *)FixedVectorType::get(b.getFloatTy(), 2)
                                            : b.getFloatTy()),
    from = 32;
  Value *result = x;
  if (to > from)
    result = b.CreateFPExt(x, type);
  else if (to < from)
    result = to == 16                         ? narrow(x, type, m.rounding)
             : m.rounding == RoundTo::Nearest ? b.CreateFPTrunc(x, type)
                                              : directed("trunc", m.rounding, type, {x});
  if (m.satfinite && to == 16) {
    Value *largest =
        ConstantFP::get(type, APFloat::getLargest(type->getScalarType()->getFltSemantics()));
    Value *isInfinite =
        b.CreateFCmpOEQ(unary(Intrinsic::fabs, result), ConstantFP::getInfinity(type));
    result = b.CreateSelect(isInfinite,
                            b.CreateBinaryIntrinsic(Intrinsic::copysign, largest, result), result);
  }
  return finish(result, m);
}

Value *FloatOps::toTf32(Value *x, const Modifiers &m, bool tiesAway) {
  bool towardZero = m.rounding == RoundTo::Zero;
  if (m.relu)
    x = finish(x, m);
  Type *i32 = b.getInt32Ty();
  Value *bits = b.CreateBitCast(x, i32);
  Value *upper = b.getInt32(0xffffe000);
  Value *isFinite = b.CreateICmpNE(b.CreateAnd(bits, 0x7f800000), b.getInt32(0x7f800000));
  Value *rounded = bits;
  if (tiesAway)
    rounded = b.CreateAdd(bits, b.getInt32(0x1000));
  else if (!towardZero)
    rounded = b.CreateAdd(b.CreateAdd(bits, b.getInt32(0xfff)),
                          b.CreateAnd(b.CreateLShr(bits, 13), b.getInt32(1)));
  // With ties away an H200 cuts NaN like infinities; the other roundings have one NaN.
  Value *special = b.CreateAnd(bits, upper);
  if (!tiesAway)
    special = b.CreateSelect(b.CreateFCmpUNO(x, x), b.getInt32(0x7fffe000), special);
  return b.CreateSelect(isFinite, b.CreateAnd(rounded, upper), special);
}

} // namespace kbopt::cpu
