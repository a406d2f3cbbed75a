//===- PtxFp8.cpp - cvt to and from pairs of 8-bit floats -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "PtxTranslator.h"

using namespace llvm;

namespace kbopt::cpu {

namespace {
/// An 8-bit float. Source: PTX ISA, "Alternate Floating-Point Data Formats".
struct Fp8 {
  unsigned mantissa;     ///< bits
  int bias;              ///< of the exponent
  unsigned largest, nan; ///< encodings without a sign
};
} // namespace

static std::optional<Fp8> fp8Of(StringRef suffix) {
  if (suffix == "e4m3x2")
    return Fp8{3, 7, 0x7e, 0x7f};
  if (suffix == "e5m2x2")
    return Fp8{2, 15, 0x7b, 0x7f};
  return std::nullopt;
}

/// The float \p x to the nearest of \p format, ties to even, and what is too large to the largest:
/// .rn.satfinite. As i16.
static Value *toFp8(IRBuilder<> &b, Value *x, const Fp8 &format, bool relu) {
  const unsigned dropped = 23 - format.mantissa;
  Type *i32 = b.getInt32Ty(), *f32 = b.getFloatTy();
  Value *bits = b.CreateBitCast(x, i32), *magnitude = b.CreateAnd(bits, 0x7fffffff);
  // Half of the last place, and a little less before an even mantissa. A carry is the next
  // exponent.
  Value *isOdd = b.CreateAnd(b.CreateLShr(magnitude, dropped), 1);
  Value *half = b.CreateAdd(isOdd, b.getInt32((1u << (dropped - 1)) - 1));
  Value *normal = b.CreateSub(b.CreateLShr(b.CreateAdd(magnitude, half), dropped),
                              b.getInt32((127 - format.bias) << format.mantissa));
  // The last place of this power of two is the least number of the format: adding it rounds.
  const unsigned rounder = (127 + 1 - format.bias + dropped) << 23;
  Value *sum =
      b.CreateFAdd(b.CreateBitCast(magnitude, f32), b.CreateBitCast(b.getInt32(rounder), f32));
  Value *subnormal = b.CreateSub(b.CreateBitCast(sum, i32), b.getInt32(rounder));
  Value *isSmall = b.CreateICmpULT(magnitude, b.getInt32((127 + 1 - format.bias) << 23));
  Value *rounded = b.CreateBinaryIntrinsic(
      Intrinsic::umin, b.CreateSelect(isSmall, subnormal, normal), b.getInt32(format.largest));
  Value *sign = b.CreateAnd(b.CreateLShr(bits, 24), 0x80);
  Value *number = relu ? b.CreateSelect(b.CreateICmpNE(sign, b.getInt32(0)), b.getInt32(0), rounded)
                       : b.CreateOr(rounded, sign);
  Value *isNan = b.CreateICmpUGT(magnitude, b.getInt32(0x7f800000));
  return b.CreateTrunc(b.CreateSelect(isNan, b.getInt32(format.nan), number), b.getInt16Ty());
}

/// The half that the low byte of \p encoded (i16) stands for.
static Value *fromFp8(IRBuilder<> &b, Value *encoded, const Fp8 &format, bool relu) {
  Type *f16 = b.getHalfTy(), *f32 = b.getFloatTy();
  Value *magnitude = b.CreateAnd(encoded, 0x7f);
  // A half with the same exponent and mantissa, which differs by the biases.
  Value *near = b.CreateBitCast(b.CreateShl(magnitude, 10 - format.mantissa), f16);
  Value *exact =
      b.CreateFMul(b.CreateFPExt(near, f32), ConstantFP::get(f32, double(1 << (15 - format.bias))));
  Value *half = b.CreateBitCast(b.CreateFPTrunc(exact, f16), b.getInt16Ty());
  if (format.mantissa == 3) // no infinities, and one NaN
    half =
        b.CreateSelect(b.CreateICmpEQ(magnitude, b.getInt16(format.nan)), b.getInt16(0x7fff), half);
  Value *isNegative = b.CreateICmpNE(b.CreateAnd(encoded, 0x80), b.getInt16(0));
  Value *isNumber = b.CreateICmpULE(half, b.getInt16(0x7c00));
  Value *negative =
      relu ? b.CreateSelect(isNumber, b.getInt16(0), half) : b.CreateOr(half, b.getInt16(0x8000));
  return b.CreateBitCast(b.CreateSelect(isNegative, negative, half), f16);
}

/// cvt.rn.satfinite{.relu}.TO.f32 d, a, b and .TO.f16x2 d, a; cvt.rn{.relu}.f16x2.FROM d, a.
bool PtxTranslator::translateFp8(const Instruction &i) {
  if (i.parts[0] != "cvt" || i.parts.size() < 4 || i.operands.size() < 2)
    return false;
  StringRef from = i.parts.back(), to = i.parts[i.parts.size() - 2];
  Type *pair = FixedVectorType::get(b.getHalfTy(), 2);
  const bool relu = i.has("relu");
  if (std::optional<Fp8> format = fp8Of(to); format && i.has("satfinite")) {
    Value *high = nullptr, *low = nullptr;
    if (from == "f32" && i.operands.size() == 3) {
      high = read(i.operands[1], b.getFloatTy());
      low = read(i.operands[2], b.getFloatTy());
    } else if (from == "f16x2" && i.operands.size() == 2) {
      Value *both = read(i.operands[1], pair);
      auto lane = [&](uint64_t n) {
        return both ? b.CreateFPExt(b.CreateExtractElement(both, n), b.getFloatTy()) : nullptr;
      };
      high = lane(1), low = lane(0);
    }
    if (!high || !low)
      return false;
    write(i.operands[0],
          b.CreateOr(b.CreateShl(toFp8(b, high, *format, relu), 8), toFp8(b, low, *format, relu)));
    return true;
  }
  std::optional<Fp8> format = fp8Of(from);
  Value *both = format && to == "f16x2" ? read(i.operands[1], b.getInt16Ty()) : nullptr;
  if (!both)
    return false;
  Value *result =
      b.CreateInsertElement(PoisonValue::get(pair), fromFp8(b, both, *format, relu), uint64_t(0));
  write(i.operands[0], b.CreateInsertElement(
                           result, fromFp8(b, b.CreateLShr(both, 8), *format, relu), uint64_t(1)));
  return true;
}

} // namespace kbopt::cpu
