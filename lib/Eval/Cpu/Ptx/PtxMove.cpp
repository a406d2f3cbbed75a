//===- PtxMove.cpp - mov, cvt, cvta, selp, setp ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "PtxTranslator.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace kbopt::cpu {

bool PtxTranslator::translateMove(const Instruction &i) {
  StringRef op = i.parts[0];
  if (op == "mov" && i.operands.size() == 2) {
    PtxType type = instructionType(i);
    if (!type)
      return false;
    Value *value = read(i.operands[1], type.type);
    if (!value)
      return false;
    write(i.operands[0], value);
    return true;
  }
  if ((op == "selp" || op == "slct") && i.operands.size() == 4) {
    PtxType type = op == "selp" ? instructionType(i) : instructionType(i, 1);
    if (!type)
      return false;
    Value *x = read(i.operands[1], type.type), *y = read(i.operands[2], type.type);
    Value *condition = nullptr;
    if (op == "selp") {
      condition = readPredicate(i.operands[3]);
    } else {
      PtxType selector = instructionType(i);
      Value *c = read(i.operands[3], selector.type);
      if (!c)
        return false;
      if (i.has("ftz"))
        c = ops.flush(c);
      Constant *zero = Constant::getNullValue(selector.type);
      condition = selector.isFloat() ? b.CreateFCmpOGE(c, zero) : b.CreateICmpSGE(c, zero);
    }
    if (!x || !y || !condition)
      return false;
    write(i.operands[0], b.CreateSelect(condition, x, y));
    return true;
  }
  if (op == "cvta" && i.operands.size() == 2) {
    Value *value = readRaw(i.operands[1]);
    if (!value)
      return false;
    if (i.has("shared") && !i.has("to"))
      value = sharedPointer(coerce(value, b.getInt64Ty()));
    else if (i.has("shared"))
      value = b.CreateAnd(coerce(value, b.getInt64Ty()), b.getInt64(kbrt::sharedOffsetMask));
    write(i.operands[0], coerce(value, b.getInt64Ty()));
    return true;
  }
  return false;
}

/// cvt{.modifiers}.to.from; packed forms take two sources, the first high.
bool PtxTranslator::translateConvert(const Instruction &i) {
  if (i.parts[0] != "cvt" || i.parts.size() < 3)
    return false;
  Modifiers m = modifiersOf(i);
  PtxType to = typeOf(i.parts[i.parts.size() - 2]), from = typeOf(i.parts.back());
  if (i.parts.back() == "f32" && i.parts[i.parts.size() - 2] == "tf32") {
    Value *x = read(i.operands[1], b.getFloatTy());
    if (!x)
      return false;
    write(i.operands[0], ops.toTf32(x, m, i.has("rna")));
    return true;
  }
  if (!to || !from)
    return false;
  bool isPair = isa<VectorType>(to.type) && !isa<VectorType>(from.type);
  if (isPair) {
    if (i.operands.size() != 3)
      return false;
    Value *high = read(i.operands[1], from.type), *low = read(i.operands[2], from.type);
    if (!high || !low)
      return false;
    Type *element = cast<VectorType>(to.type)->getElementType();
    Value *pair =
        b.CreateInsertElement(PoisonValue::get(to.type), ops.convert(low, element, m), uint64_t(0));
    write(i.operands[0], b.CreateInsertElement(pair, ops.convert(high, element, m), uint64_t(1)));
    return true;
  }
  if (i.operands.size() != 2)
    return false;
  Value *x = read(i.operands[1], from.type);
  if (!x)
    return false;
  Value *result = nullptr;
  bool integral = i.has("rni") || i.has("rzi") || i.has("rmi") || i.has("rpi");
  if (from.isFloat() && to.isFloat()) {
    if (integral) {
      Value *rounded = ops.roundToIntegral(m.ftz ? ops.flush(x) : x, m.rounding);
      Modifiers nearest;
      nearest.sat = m.sat;
      result = from.type == to.type ? (m.sat ? ops.saturate(rounded) : rounded)
                                    : ops.convert(rounded, to.type, nearest);
    } else {
      result = ops.convert(x, to.type, m);
    }
  } else if (from.isFloat()) {
    result = ops.toInteger(x, to.type, to.isSigned, m.rounding, m.ftz);
  } else if (to.isFloat()) {
    result = ops.fromInteger(x, to.type, from.isSigned, m.rounding);
    if (m.sat)
      result = ops.saturate(result);
  } else {
    unsigned fromBits = from.type->getIntegerBitWidth(), toBits = to.type->getIntegerBitWidth();
    if (m.sat) {
      // Clamp to the target's range, in a type that holds both.
      Type *wide = b.getInt128Ty();
      Value *w = from.isSigned ? b.CreateSExt(x, wide) : b.CreateZExt(x, wide);
      APInt low = to.isSigned ? APInt::getSignedMinValue(toBits).sext(128) : APInt(128, 0);
      APInt high = to.isSigned ? APInt::getSignedMaxValue(toBits).sext(128)
                               : APInt::getMaxValue(toBits).zext(128);
      w = b.CreateBinaryIntrinsic(Intrinsic::smax, w, ConstantInt::get(wide, low));
      w = b.CreateBinaryIntrinsic(Intrinsic::smin, w, ConstantInt::get(wide, high));
      result = b.CreateTrunc(w, to.type);
    } else {
      result = toBits <= fromBits ? b.CreateTrunc(x, to.type)
               : from.isSigned    ? b.CreateSExt(x, to.type)
                                  : b.CreateZExt(x, to.type);
    }
  }
  write(i.operands[0], result, to.isSigned);
  return true;
}

Value *PtxTranslator::compare(StringRef op, Value *x, Value *y, PtxType type) {
  if (type.isFloat()) {
    auto predicate = StringSwitch<CmpInst::Predicate>(op)
                         .Case("eq", CmpInst::FCMP_OEQ)
                         .Case("ne", CmpInst::FCMP_ONE)
                         .Case("lt", CmpInst::FCMP_OLT)
                         .Case("le", CmpInst::FCMP_OLE)
                         .Case("gt", CmpInst::FCMP_OGT)
                         .Case("ge", CmpInst::FCMP_OGE)
                         .Case("equ", CmpInst::FCMP_UEQ)
                         .Case("neu", CmpInst::FCMP_UNE)
                         .Case("ltu", CmpInst::FCMP_ULT)
                         .Case("leu", CmpInst::FCMP_ULE)
                         .Case("gtu", CmpInst::FCMP_UGT)
                         .Case("geu", CmpInst::FCMP_UGE)
                         .Case("num", CmpInst::FCMP_ORD)
                         .Case("nan", CmpInst::FCMP_UNO)
                         .Default(CmpInst::BAD_FCMP_PREDICATE);
    return predicate == CmpInst::BAD_FCMP_PREDICATE ? nullptr : b.CreateFCmp(predicate, x, y);
  }
  bool s = type.isSigned;
  auto predicate = StringSwitch<CmpInst::Predicate>(op)
                       .Case("eq", CmpInst::ICMP_EQ)
                       .Case("ne", CmpInst::ICMP_NE)
                       .Case("lt", s ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT)
                       .Case("le", s ? CmpInst::ICMP_SLE : CmpInst::ICMP_ULE)
                       .Case("gt", s ? CmpInst::ICMP_SGT : CmpInst::ICMP_UGT)
                       .Case("ge", s ? CmpInst::ICMP_SGE : CmpInst::ICMP_UGE)
                       .Case("lo", CmpInst::ICMP_ULT)
                       .Case("ls", CmpInst::ICMP_ULE)
                       .Case("hi", CmpInst::ICMP_UGT)
                       .Case("hs", CmpInst::ICMP_UGE)
                       .Default(CmpInst::BAD_ICMP_PREDICATE);
  return predicate == CmpInst::BAD_ICMP_PREDICATE ? nullptr : b.CreateICmp(predicate, x, y);
}

/// testp.class.type p, a.
bool PtxTranslator::translateTest(const Instruction &i) {
  PtxType type = instructionType(i);
  if (i.parts[0] != "testp" || i.operands.size() != 2 || !type || !type.isFloat())
    return false;
  auto classes = StringSwitch<FPClassTest>(i.parts[1])
                     .Case("finite", fcFinite)
                     .Case("infinite", fcInf)
                     .Case("number", ~fcNan)
                     .Case("notanumber", fcNan)
                     .Case("normal", fcNormal | fcZero) // PTX counts zeros in
                     .Case("subnormal", fcSubnormal)
                     .Default(fcNone);
  Value *x = read(i.operands[1], type.type);
  if (!x || classes == fcNone)
    return false;
  write(i.operands[0], b.createIsFPClass(x, classes));
  return true;
}

/// setp.cmp{.bool}{.ftz}.type p{|q}, a, b{, c} and set.cmp….dtype.stype d, a, b.
bool PtxTranslator::translateCompare(const Instruction &i) {
  bool isSet = i.parts[0] == "set";
  if ((i.parts[0] != "setp" && !isSet) || i.operands.size() < 3 || i.parts.size() < 3)
    return false;
  PtxType type = instructionType(i);
  if (!type)
    return false;
  Value *x = read(i.operands[1], type.type), *y = read(i.operands[2], type.type);
  if (!x || !y)
    return false;
  if (i.has("ftz") && type.isFloat())
    x = ops.flush(x), y = ops.flush(y);
  Value *result = compare(i.parts[1], x, y, type);
  if (!result)
    return false;
  // Packed setp of half writes the lanes to p and q.
  if (!isSet && isa<VectorType>(type.type)) {
    if (i.operands[0].elements.empty() || i.operands.size() != 3)
      return false;
    write(i.operands[0].elements[0], b.CreateExtractElement(result, uint64_t(1)));
    Operand first = i.operands[0];
    first.elements.clear();
    write(first, b.CreateExtractElement(result, uint64_t(0)));
    return true;
  }
  Value *inverse = b.CreateNot(result);
  if (i.operands.size() == 4) {
    Value *c = readPredicate(i.operands[3]);
    if (!c)
      return false;
    auto combine = [&](Value *v) -> Value * {
      return i.has("and") ? b.CreateAnd(v, c) : i.has("or") ? b.CreateOr(v, c) : b.CreateXor(v, c);
    };
    result = combine(result), inverse = combine(inverse);
  }
  if (!isSet) {
    if (!i.operands[0].elements.empty())
      write(i.operands[0].elements[0], inverse);
    Operand first = i.operands[0];
    first.elements.clear();
    write(first, result);
    return true;
  }
  PtxType destination = instructionType(i, 1);
  if (!destination)
    return false;
  Value *value = destination.isFloat()
                     ? b.CreateUIToFP(result, destination.type)
                     : b.CreateSExt(result, isa<VectorType>(type.type)
                                                ? (Type *)FixedVectorType::get(b.getInt16Ty(), 2)
                                                : destination.type);
  write(i.operands[0], value);
  return true;
}

} // namespace kbopt::cpu
