//===- OracleLanes.cpp - Shadows of numbers as IR -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "OracleLanes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace llvm;
using kbrt::FloatFormat;
using kbrt::OracleOperation;
using kbrt::OracleSum;

namespace kbopt::cpu {

namespace {
constexpr unsigned fieldOf(size_t offset) { return offset / sizeof(double); }
constexpr unsigned valueField = fieldOf(offsetof(OracleSum, value)),
                   magnitudeField = fieldOf(offsetof(OracleSum, magnitude)),
                   termsField = fieldOf(offsetof(OracleSum, terms)),
                   errorField = fieldOf(offsetof(OracleSum, error)),
                   unitField = fieldOf(offsetof(OracleSum, unit)),
                   longestField = fieldOf(offsetof(OracleSum, longest));
constexpr unsigned slotOfX = 0, slotOfY = 1, slotOfResult = 2;
} // namespace

LaneBuilder::LaneBuilder(ImageContext &context, Function &function) : context(context) {
  IRBuilder<> b(&function.getEntryBlock(), function.getEntryBlock().begin());
  Type *type = ArrayType::get(b.getDoubleTy(), kbrt::oracleFields);
  for (AllocaInst *&slot : slots)
    slot = b.CreateAlloca(type, nullptr, "kb.shadow");
}

Value *LaneBuilder::flat(IRBuilder<> &b, Value *pointer) {
  return pointer->getType()->getPointerAddressSpace() == Flat
             ? pointer
             : b.CreateAddrSpaceCast(pointer, b.getPtrTy());
}

Value *LaneBuilder::field(IRBuilder<> &b, unsigned slot, unsigned index) {
  return b.CreateConstGEP1_64(b.getDoubleTy(), flat(b, slots[slot]), index);
}

Value *LaneBuilder::put(IRBuilder<> &b, unsigned slot, const Lane &x) {
  for (unsigned i = 0; i < x.size(); ++i)
    b.CreateStore(x[i], field(b, slot, i));
  return flat(b, slots[slot]);
}

Lane LaneBuilder::get(IRBuilder<> &b, unsigned slot) {
  Lane x;
  for (unsigned i = 0; i < x.size(); ++i)
    x[i] = b.CreateLoad(b.getDoubleTy(), field(b, slot, i));
  return x;
}

Lane LaneBuilder::add(IRBuilder<> &b, const Lane &x, const Lane &y) {
  Lane sum;
  for (unsigned i : {valueField, magnitudeField, termsField, errorField})
    sum[i] = b.CreateFAdd(x[i], y[i]);
  auto smaller = [&](Value *p, Value *q) { return b.CreateSelect(b.CreateFCmpOLT(p, q), p, q); };
  auto larger = [&](Value *p, Value *q) { return b.CreateSelect(b.CreateFCmpOGT(p, q), p, q); };
  sum[unitField] = smaller(x[unitField], y[unitField]);
  sum[longestField] = larger(larger(x[longestField], y[longestField]), sum[termsField]);
  return sum;
}

Lane LaneBuilder::negate(IRBuilder<> &b, const Lane &x) {
  Lane result = x;
  result[valueField] = b.CreateFNeg(x[valueField]);
  return result;
}

Lane LaneBuilder::negateIf(IRBuilder<> &b, Value *isOther, const Lane &x) {
  Lane result = x;
  result[valueField] = b.CreateSelect(isOther, b.CreateFNeg(x[valueField]), x[valueField]);
  return result;
}

Lane LaneBuilder::select(IRBuilder<> &b, Value *condition, const Lane &x, const Lane &y) {
  Lane result;
  for (unsigned i = 0; i < x.size(); ++i)
    result[i] = b.CreateSelect(condition, x[i], y[i]);
  return result;
}

Lane LaneBuilder::compute(IRBuilder<> &b, OracleOperation operation, FloatFormat from,
                          FloatFormat to, const Lane &x, const Lane *y) {
  Value *first = put(b, slotOfX, x);
  Value *second = y ? put(b, slotOfY, *y) : ConstantPointerNull::get(b.getPtrTy());
  b.CreateCall(context.runtime("kbrt_oracle_compute"),
               {b.getInt32(uint32_t(operation)), b.getInt32(uint32_t(from)),
                b.getInt32(uint32_t(to)), first, second, flat(b, slots[slotOfResult])});
  return get(b, slotOfResult);
}

Lane LaneBuilder::exactly(IRBuilder<> &b, Value *value) {
  if (!value->getType()->isDoubleTy())
    value = b.CreateFPExt(value, b.getDoubleTy());
  b.CreateStore(value, field(b, slotOfResult, valueField));
  b.CreateCall(context.runtime("kbrt_oracle_exact"), {flat(b, slots[slotOfResult])});
  return get(b, slotOfResult);
}

Lane LaneBuilder::load(IRBuilder<> &b, FloatFormat format, Value *pointer) {
  b.CreateCall(context.runtime("kbrt_oracle_load"),
               {b.getInt32(uint32_t(format)), flat(b, pointer), flat(b, slots[slotOfResult])});
  return get(b, slotOfResult);
}

void LaneBuilder::store(IRBuilder<> &b, FloatFormat format, Value *pointer, const Lane &x) {
  Value *sum = put(b, slotOfX, x);
  b.CreateCall(context.runtime("kbrt_oracle_store"),
               {b.getInt32(uint32_t(format)), flat(b, pointer), sum});
}

void LaneBuilder::copy(IRBuilder<> &b, Value *to, Value *from, Value *bytes) {
  b.CreateCall(context.runtime("kbrt_oracle_copy"),
               {flat(b, to), flat(b, from), b.CreateZExtOrTrunc(bytes, b.getInt64Ty())});
}

static Intrinsic::ID shuffleOfIntegers(StringRef name) {
  name.consume_front("llvm.nvvm.shfl.sync.");
  return StringSwitch<Intrinsic::ID>(name.split('.').first)
      .Case("up", Intrinsic::nvvm_shfl_sync_up_i32)
      .Case("down", Intrinsic::nvvm_shfl_sync_down_i32)
      .Case("bfly", Intrinsic::nvvm_shfl_sync_bfly_i32)
      .Default(Intrinsic::nvvm_shfl_sync_idx_i32);
}

Lane LaneBuilder::shuffle(IRBuilder<> &b, CallBase &call, const Lane &x) {
  const Intrinsic::ID id = shuffleOfIntegers(call.getCalledFunction()->getName());
  auto exchange = [&](Value *word) -> Value * {
    return b.CreateIntrinsic(
        id, {}, {call.getArgOperand(0), word, call.getArgOperand(2), call.getArgOperand(3)});
  };
  Type *i32 = b.getInt32Ty(), *i64 = b.getInt64Ty();
  Lane result;
  for (unsigned i : {valueField, magnitudeField, errorField}) {
    Value *bits = b.CreateBitCast(x[i], i64);
    Value *low = exchange(b.CreateTrunc(bits, i32));
    Value *high = exchange(b.CreateTrunc(b.CreateLShr(bits, 32), i32));
    Value *whole = b.CreateOr(b.CreateZExt(low, i64), b.CreateShl(b.CreateZExt(high, i64), 32));
    result[i] = b.CreateBitCast(whole, b.getDoubleTy());
  }
  for (unsigned i : {termsField, unitField, longestField}) {
    Value *narrow = b.CreateBitCast(b.CreateFPTrunc(x[i], b.getFloatTy()), i32);
    result[i] = b.CreateFPExt(b.CreateBitCast(exchange(narrow), b.getFloatTy()), b.getDoubleTy());
  }
  return result;
}

} // namespace kbopt::cpu
