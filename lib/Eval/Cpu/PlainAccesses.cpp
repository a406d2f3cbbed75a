//===- PlainAccesses.cpp - Masked accesses as plain ones --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way back from masked loads and stores, which LLVM 22 makes of three floats of a float4.
// What looks at accesses, checks and counts them, knows plain ones.
//
//===----------------------------------------------------------------------===//
#include "Steps.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace kbopt::cpu {

/// The positions of a constant mask that are set; nothing if it is not constant.
static std::optional<SmallVector<int>> setLanes(Value *mask) {
  auto *constant = dyn_cast<Constant>(mask);
  auto *type = dyn_cast<FixedVectorType>(mask->getType());
  if (!constant || !type)
    return std::nullopt;
  SmallVector<int> lanes;
  for (unsigned i = 0; i < type->getNumElements(); ++i) {
    auto *bit = dyn_cast_or_null<ConstantInt>(constant->getAggregateElement(i));
    if (!bit)
      return std::nullopt;
    if (bit->isOne())
      lanes.push_back(i);
  }
  return lanes;
}

/// Positions \p first to first + count of a vector.
static SmallVector<int> range(int first, int count) {
  SmallVector<int> lanes;
  for (int i = 0; i < count; ++i)
    lanes.push_back(first + i);
  return lanes;
}

/// What lies between elements that are loaded is loaded as well.
static void expandLoad(IntrinsicInst *call, ArrayRef<int> lanes, Value *mask, Value *instead) {
  auto *type = cast<FixedVectorType>(call->getType());
  IRBuilder<> b(call);
  Value *whole = instead;
  if (!lanes.empty()) {
    int count = lanes.back() + 1;
    Value *pointer = call->getArgOperand(0);
    auto *load = b.CreateAlignedLoad(FixedVectorType::get(type->getElementType(), count), pointer,
                                     call->getParamAlign(0).valueOrOne());
    load->copyMetadata(*call);
    SmallVector<int> places = range(0, count);
    places.resize(type->getNumElements(), PoisonMaskElem);
    whole = b.CreateShuffleVector(load, places);
    if (!isa<UndefValue>(instead))
      whole = b.CreateSelect(mask, whole, instead);
  }
  call->replaceAllUsesWith(whole);
}

/// Elements that follow each other are stored at once.
static void expandStore(IntrinsicInst *call, ArrayRef<int> lanes) {
  Value *value = call->getArgOperand(0), *pointer = call->getArgOperand(1);
  auto *type = cast<FixedVectorType>(value->getType());
  const DataLayout &layout = call->getDataLayout();
  const uint64_t bytes = layout.getTypeStoreSize(type->getElementType());
  Align align = call->getParamAlign(1).valueOrOne();
  IRBuilder<> b(call);
  for (size_t i = 0; i < lanes.size();) {
    int first = lanes[i], count = 0;
    while (i < lanes.size() && lanes[i] == first + count)
      ++i, ++count;
    Value *part = b.CreateShuffleVector(value, range(first, count));
    Value *place = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), pointer, first * bytes);
    b.CreateAlignedStore(part, place, commonAlignment(align, first * bytes))->copyMetadata(*call);
  }
}

void expandMaskedAccesses(Module &module) {
  SmallVector<IntrinsicInst *> calls;
  for (Function &function : module)
    for (Instruction &each : instructions(function))
      if (auto *call = dyn_cast<IntrinsicInst>(&each);
          call && (call->getIntrinsicID() == Intrinsic::masked_load ||
                   call->getIntrinsicID() == Intrinsic::masked_store))
        calls.push_back(call);
  for (IntrinsicInst *call : calls) {
    const bool isLoad = call->getIntrinsicID() == Intrinsic::masked_load;
    Value *mask = call->getArgOperand(isLoad ? 1 : 2);
    std::optional<SmallVector<int>> lanes = setLanes(mask);
    if (!lanes) // only constant ones are made here
      continue;
    if (isLoad)
      expandLoad(call, *lanes, mask, call->getArgOperand(2));
    else
      expandStore(call, *lanes);
    call->eraseFromParent();
  }
}

} // namespace kbopt::cpu
