//===- Wmma.cpp - wmma intrinsics ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the opaque fragments of wmma: which elements a lane holds, loads and
// stores of them, and how they are packed into registers.
//
//===----------------------------------------------------------------------===//
#include "Matrix.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace llvm;

namespace kbopt::cpu {

namespace {
/// One operand of a wmma load or store.
struct Fragment {
  unsigned rows, columns, count;
  Type *element;
  bool isRowMajor;
};

/// Visits the runs of elements that a lane holds: (address of the first,
/// index of the first, number), each run consecutive in memory.
template <typename Visit>
void visitFragment(IRBuilder<> &b, const Fragment &f, Value *base, Value *stride, Visit visit) {
  unsigned total = f.rows * f.columns;
  unsigned run = total >= 32 * f.count ? f.count : std::max(1u, total / 32);
  unsigned bytes = f.element->getPrimitiveSizeInBits().getFixedValue() / 8;
  Value *lane =
      b.CreateIntrinsic(b.getInt32Ty(), Intrinsic::nvvm_read_ptx_sreg_laneid, ArrayRef<Value *>());
  Value *flat = b.CreateAnd(b.CreateMul(lane, b.getInt32(run)), b.getInt32(total - 1));
  Value *row = b.CreateUDiv(flat, b.getInt32(f.columns));
  Value *column = b.CreateURem(flat, b.getInt32(f.columns));
  Type *i64 = b.getInt64Ty();
  Value *leading = b.CreateSExt(stride, i64);
  unsigned step = f.isRowMajor ? std::min(run, std::max(1u, 16 / bytes)) : 1;
  for (unsigned e = 0; e < run; e += step) {
    Value *r = b.CreateZExt(row, i64);
    Value *c = b.CreateZExt(b.CreateAdd(column, b.getInt32(e)), i64);
    Value *offset = f.isRowMajor ? b.CreateAdd(b.CreateMul(r, leading), c)
                                 : b.CreateAdd(b.CreateMul(c, leading), r);
    visit(b.CreateGEP(f.element, base, offset), e, step, run);
  }
}
} // namespace

static std::vector<Value *> loadFragment(IRBuilder<> &b, const Fragment &f, Value *base,
                                         Value *stride) {
  std::vector<Value *> elements(f.count);
  unsigned bytes = f.element->getPrimitiveSizeInBits().getFixedValue() / 8;
  visitFragment(b, f, base, stride,
                [&](Value *address, unsigned first, unsigned step, unsigned run) {
                  Type *type = step > 1 ? (Type *)FixedVectorType::get(f.element, step) : f.element;
                  Value *value = b.CreateAlignedLoad(type, address, Align(step * bytes));
                  for (unsigned n = 0; n < step; ++n)
                    for (unsigned index = first + n; index < f.count; index += run)
                      elements[index] = step > 1 ? b.CreateExtractElement(value, n) : value;
                });
  return elements;
}

static void storeFragment(IRBuilder<> &b, const Fragment &f, Value *base, Value *stride,
                          ArrayRef<Value *> elements) {
  unsigned bytes = f.element->getPrimitiveSizeInBits().getFixedValue() / 8;
  visitFragment(b, f, base, stride, [&](Value *address, unsigned first, unsigned step, unsigned) {
    Value *value = elements[first];
    if (step > 1) {
      value = PoisonValue::get(FixedVectorType::get(f.element, step));
      for (unsigned n = 0; n < step; ++n)
        value = b.CreateInsertElement(value, elements[first + n], n);
    }
    b.CreateAlignedStore(value, address, Align(step * bytes));
  });
}

/// Elements of \p element type in \p registers, low bits first, and back.
static std::vector<Value *> unpack(IRBuilder<> &b, ArrayRef<Value *> registers, Type *element) {
  std::vector<Value *> elements;
  unsigned bits = element->getPrimitiveSizeInBits().getFixedValue();
  for (Value *value : registers) {
    unsigned total = value->getType()->getPrimitiveSizeInBits().getFixedValue();
    if (total == bits) {
      elements.push_back(b.CreateBitCast(value, element));
      continue;
    }
    Value *vector = b.CreateBitCast(value, FixedVectorType::get(element, total / bits));
    for (unsigned n = 0; n < total / bits; ++n)
      elements.push_back(b.CreateExtractElement(vector, n));
  }
  return elements;
}

static Value *pack(IRBuilder<> &b, ArrayRef<Value *> elements, Type *structure) {
  auto typeAt = [&](unsigned n) {
    return isa<StructType>(structure) ? cast<StructType>(structure)->getElementType(n) : structure;
  };
  unsigned registers = isa<StructType>(structure) ? structure->getStructNumElements() : 1;
  Value *result = PoisonValue::get(structure);
  unsigned next = 0;
  for (unsigned n = 0; n < registers; ++n) {
    Type *type = typeAt(n);
    unsigned per = type->getPrimitiveSizeInBits().getFixedValue() /
                   elements[0]->getType()->getPrimitiveSizeInBits().getFixedValue();
    Value *value = elements[next];
    if (per > 1) {
      value = PoisonValue::get(FixedVectorType::get(elements[0]->getType(), per));
      for (unsigned e = 0; e < per; ++e)
        value = b.CreateInsertElement(value, elements[next + e], e);
    }
    next += per;
    value = b.CreateBitCast(value, type);
    result = isa<StructType>(structure) ? b.CreateInsertValue(result, value, n) : value;
  }
  return result;
}

static Type *memoryType(IRBuilder<> &b, kbrt::MmaType type) {
  using T = kbrt::MmaType;
  switch (type) {
  case T::F16:
    return b.getHalfTy();
  case T::BF16:
    return b.getInt16Ty();
  case T::TF32:
    return b.getInt32Ty();
  case T::F32:
    return b.getFloatTy();
  case T::F64:
    return b.getDoubleTy();
  case T::S32:
    return b.getInt32Ty();
  default:
    return b.getInt8Ty();
  }
}

/// wmma.SHAPE.mma.ALAYOUT.BLAYOUT.TYPES{.satfinite}
static bool expandProduct(ImageContext &context, CallInst &call, ArrayRef<StringRef> parts,
                          kbrt::MmaShape shape) {
  using T = kbrt::MmaType;
  std::vector<T> named;
  for (StringRef part : parts.drop_front(3))
    if (std::optional<T> type = parseMatrixType(part))
      named.push_back(*type);
  if (named.empty() || matrixBits(named[0]) < 8 || is_contained(parts, "popc"))
    return false;
  shape.layout = kbrt::MmaLayout::Wmma;
  shape.saturate = is_contained(parts, "satfinite");
  if (named.size() == 2) { // half: the types of D and C
    shape.aType = shape.bType = T::F16;
    shape.dType = named[0], shape.cType = named[1];
  } else {
    shape.aType = shape.bType = named[0];
    T accumulator = named[0] == T::F64                       ? T::F64
                    : named[0] == T::S8 || named[0] == T::U8 ? T::S32
                                                             : T::F32;
    shape.cType = shape.dType = accumulator;
  }
  // A, B and C follow each other; their sizes come from the shape. Half
  // fragments of A and B are always 8 registers of two.
  auto registersOf = [&](T type, unsigned total) -> unsigned {
    if (type == T::F16 && total != shape.m * shape.n)
      return 8;
    unsigned bits = matrixBits(type);
    return std::max(1u, total / 32 * bits / std::max(32u, bits));
  };
  unsigned a = registersOf(shape.aType, shape.m * shape.k);
  unsigned b = registersOf(shape.bType, shape.k * shape.n);
  if (shape.aType == T::F16)
    a = b = 8;
  SmallVector<Value *> arguments(call.args());
  if (a + b >= arguments.size())
    return false;
  ArrayRef<Value *> all(arguments);
  SmallVector<Type *> results;
  if (auto *structure = dyn_cast<StructType>(call.getType()))
    results.append(structure->element_begin(), structure->element_end());
  else
    results.push_back(call.getType());
  IRBuilder<> builder(&call);
  std::vector<Value *> values = emitMatrixMultiply(context, builder, call, shape, all.take_front(a),
                                                   all.slice(a, b), all.drop_front(a + b), results);
  Value *result = values[0];
  if (isa<StructType>(call.getType())) {
    result = PoisonValue::get(call.getType());
    for (unsigned n = 0; n < values.size(); ++n)
      result = builder.CreateInsertValue(result, values[n], n);
  }
  call.replaceAllUsesWith(result);
  call.eraseFromParent();
  return true;
}

bool expandWmma(ImageContext &context, CallInst &call) {
  StringRef name = call.getCalledFunction()->getName();
  SmallVector<StringRef> parts;
  if (!name.consume_front("llvm.nvvm.wmma."))
    return false;
  name.split(parts, '.');
  kbrt::MmaShape shape{};
  if (parts.size() < 5 || !parseMatrixShape(parts[0], shape))
    return false;
  if (parts[1] == "mma") {
    parts.insert(parts.begin(), "wmma");
    return expandProduct(context, call, parts, shape);
  }
  // SHAPE.load.{a,b,c}.LAYOUT.stride.TYPE.pN, SHAPE.store.d.LAYOUT.stride.TYPE.pN
  if (!is_contained(parts, "stride"))
    return false;
  std::optional<kbrt::MmaType> type = parseMatrixType(parts[5]);
  if (!type || matrixBits(*type) < 8)
    return false;
  IRBuilder<> b(&call);
  Fragment f{};
  f.rows = parts[2] == "b" ? shape.k : shape.m;
  f.columns = parts[2] == "a" ? shape.k : shape.n;
  f.element = memoryType(b, *type);
  f.isRowMajor = parts[3] == "row";
  unsigned bits = matrixBits(*type);
  bool isLoad = parts[1] == "load";
  SmallVector<Value *> registers;
  unsigned totalBits = 0;
  if (isLoad) {
    Type *result = call.getType();
    for (unsigned n = 0; n < (result->isStructTy() ? result->getStructNumElements() : 1); ++n)
      totalBits += (result->isStructTy() ? result->getStructElementType(n) : result)
                       ->getPrimitiveSizeInBits();
  } else {
    for (unsigned n = 1; n + 1 < call.arg_size(); ++n) {
      registers.push_back(call.getArgOperand(n));
      totalBits += registers.back()->getType()->getPrimitiveSizeInBits();
    }
  }
  f.count = totalBits / bits;
  Value *base = call.getArgOperand(0), *stride = call.getArgOperand(call.arg_size() - 1);
  if (isLoad)
    call.replaceAllUsesWith(pack(b, loadFragment(b, f, base, stride), call.getType()));
  else
    storeFragment(b, f, base, stride, unpack(b, registers, f.element));
  call.eraseFromParent();
  return true;
}

} // namespace kbopt::cpu
