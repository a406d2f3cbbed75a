//===- FloatOps.h - PTX arithmetic as host IR -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the translation of PTX's arithmetic modifiers (rounding, ftz, sat, relu,
// NaN handling, saturating conversions) into IR. Used for intrinsics and for
// inline PTX alike.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_CPU_FLOATOPS_H
#define KBOPT_LIB_EVAL_CPU_FLOATOPS_H

#include "ImageContext.h"

namespace kbopt::cpu {

enum class RoundTo { Nearest, Zero, Down, Up };

/// The modifiers of one operation, from the parts of its dotted name.
struct Modifiers {
  RoundTo rounding = RoundTo::Nearest;
  bool ftz = false, sat = false, relu = false, nan = false, xorsignAbs = false, approx = false;
  bool satfinite = false;
  bool isRounded = false;   ///< a rounding is named
  bool mayContract = false; ///< a product and a sum may become one operation
  /// Takes in \p part; false if it is no modifier that changes arithmetic.
  bool accept(llvm::StringRef part);
};

/// Scalars and vectors alike, half to double; bf16 as `bfloat`.
class FloatOps {
public:
  FloatOps(ImageContext &context, llvm::IRBuilderBase &builder) : context(context), b(builder) {}

  llvm::Value *add(llvm::Value *x, llvm::Value *y, const Modifiers &m);
  llvm::Value *sub(llvm::Value *x, llvm::Value *y, const Modifiers &m);
  llvm::Value *mul(llvm::Value *x, llvm::Value *y, const Modifiers &m);
  llvm::Value *div(llvm::Value *x, llvm::Value *y, const Modifiers &m);
  llvm::Value *fma(llvm::Value *x, llvm::Value *y, llvm::Value *z, const Modifiers &m);
  llvm::Value *sqrt(llvm::Value *x, const Modifiers &m);
  llvm::Value *reciprocal(llvm::Value *x, const Modifiers &m);
  llvm::Value *reciprocalSqrt(llvm::Value *x, const Modifiers &m);
  llvm::Value *minMax(bool isMax, llvm::Value *x, llvm::Value *y, const Modifiers &m);
  llvm::Value *abs(llvm::Value *x, const Modifiers &m);
  llvm::Value *neg(llvm::Value *x, const Modifiers &m);
  /// ex2, lg2, sin, cos, tanh.
  llvm::Value *special(llvm::StringRef function, llvm::Value *x, const Modifiers &m);
  /// To an integral value of the same type: rni, rzi, rmi, rpi.
  llvm::Value *roundToIntegral(llvm::Value *x, RoundTo rounding);
  llvm::Value *toInteger(llvm::Value *x, llvm::Type *type, bool isSigned, RoundTo rounding,
                         bool ftz);
  llvm::Value *fromInteger(llvm::Value *x, llvm::Type *type, bool isSigned, RoundTo rounding);
  llvm::Value *convert(llvm::Value *x, llvm::Type *type, const Modifiers &m);
  llvm::Value *flush(llvm::Value *x);
  llvm::Value *saturate(llvm::Value *x);
  /// What cvt makes of \p x, which is integral or is to be cut off: the nearest integer, and of
  /// NaN 0, or the lowest number where 64 bits are on either side.
  llvm::Value *saturateToInteger(llvm::Value *x, llvm::Type *type, bool isSigned);
  /// f32 to the bits of tf32: to nearest with ties away or to even, or toward zero.
  llvm::Value *toTf32(llvm::Value *x, const Modifiers &m, bool tiesAway);

private:
  llvm::Value *finish(llvm::Value *x, const Modifiers &m);
  llvm::Value *in(llvm::Value *x, const Modifiers &m) { return m.ftz ? flush(x) : x; }
  /// \p operation with the host's rounding mode set around it.
  llvm::Value *directed(llvm::StringRef operation, RoundTo rounding, llvm::Type *type,
                        llvm::ArrayRef<llvm::Value *> arguments);
  llvm::Value *narrow(llvm::Value *x, llvm::Type *type, RoundTo rounding);
  llvm::Value *collectLowBits(llvm::Value *x, bool isSigned);
  llvm::Value *contractible(llvm::Value *x, const Modifiers &m);
  llvm::Value *unary(llvm::Intrinsic::ID id, llvm::Value *x);
  llvm::Value *highWord(llvm::Value *x);

  ImageContext &context;
  llvm::IRBuilderBase &b;
};

} // namespace kbopt::cpu

#endif // KBOPT_LIB_EVAL_CPU_FLOATOPS_H
