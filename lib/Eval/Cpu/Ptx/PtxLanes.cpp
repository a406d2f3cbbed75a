//===- PtxLanes.cpp - vadd4, vset2 and their kind -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the video instructions on two halves or four bytes of a word, into which
// clang's headers turn __vadd4() and the like.
//
//===----------------------------------------------------------------------===//
#include "PtxTranslator.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace kbopt::cpu {

namespace {

/// One lane of \p op, in 32 bits, before it is cut to its width or saturated.
Value *computeLane(IRBuilderBase &b, StringRef op, Value *x, Value *y) {
  Value *difference = b.CreateSub(x, y), *sum = b.CreateAdd(x, y);
  Value *isLess = b.CreateICmpSLT(x, y); // operands of 16 bits are as they are in 32
  if (op == "vadd")
    return sum;
  if (op == "vsub")
    return difference;
  if (op == "vavrg") { // half of the sum, ties away from zero
    Value *isNegative = b.CreateICmpSLT(sum, b.getInt32(0));
    return b.CreateAShr(b.CreateAdd(sum, b.CreateZExt(b.CreateNot(isNegative), b.getInt32Ty())), 1);
  }
  if (op == "vabsdiff")
    return b.CreateSelect(isLess, b.CreateNeg(difference), difference);
  return b.CreateSelect(isLess, op == "vmin" ? x : y, op == "vmin" ? y : x);
}

/// \p x clamped to what a lane of \p bits holds.
Value *saturateLane(IRBuilderBase &b, Value *x, unsigned bits, bool isSigned) {
  int32_t low = isSigned ? -(1 << (bits - 1)) : 0, high = (1 << (bits - isSigned)) - 1;
  x = b.CreateBinaryIntrinsic(Intrinsic::smax, x, b.getInt32(low));
  return b.CreateBinaryIntrinsic(Intrinsic::smin, x, b.getInt32(high));
}

} // namespace

/// vop{2,4}.dtype.atype.btype{.sat}{.add} d, a, b, c and vset{2,4}.atype.btype.cmp{.add}: `d` is
/// the lanes, or with .add their sum and c.
bool PtxTranslator::translateLanes(const Instruction &i) {
  StringRef op = i.parts[0];
  if (i.operands.size() != 4 || i.parts.size() < 4 || (!op.ends_with("2") && !op.ends_with("4")))
    return false;
  unsigned lanes = op.back() == '2' ? 2 : 4, bits = 32 / lanes;
  op = op.drop_back();
  static constexpr StringLiteral known[] = {"vadd",     "vsub", "vavrg", "vmin",
                                            "vabsdiff", "vmax", "vset"};
  if (!is_contained(known, op))
    return false;
  bool isSet = op == "vset", adds = i.has("add");
  StringRef second = i.parts[isSet ? 2 : 3];
  PtxType type = typeOf(i.parts[1]);
  if (!type || !type.type->isIntegerTy(32) || i.parts[2] != i.parts[1] || second != i.parts[1])
    return false; // of mixed signs
  Type *i32 = b.getInt32Ty();
  Value *x = read(i.operands[1], i32), *y = read(i.operands[2], i32), *z = read(i.operands[3], i32);
  if (!x || !y || !z)
    return false;
  Value *result = adds ? z : b.getInt32(0);
  for (unsigned n = 0; n < lanes; ++n) {
    auto lane = [&](Value *word) {
      Value *narrow = b.CreateTrunc(b.CreateLShr(word, n * bits), b.getIntNTy(bits));
      return type.isSigned ? b.CreateSExt(narrow, i32) : b.CreateZExt(narrow, i32);
    };
    Value *value = nullptr;
    if (isSet) {
      value = compare(i.parts[3], lane(x), lane(y), {i32, true});
      if (!value)
        return false;
      value = b.CreateZExt(value, i32);
    } else {
      value = computeLane(b, op, lane(x), lane(y));
      if (i.has("sat"))
        value = saturateLane(b, value, bits, type.isSigned);
    }
    if (adds)
      result = b.CreateAdd(result, value);
    else
      result = b.CreateOr(result,
                          b.CreateShl(b.CreateAnd(value, b.getInt32((1u << bits) - 1)), n * bits));
  }
  write(i.operands[0], result);
  return true;
}

} // namespace kbopt::cpu
