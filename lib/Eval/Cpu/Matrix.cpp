//===- Matrix.cpp - Matrix operations of a warp ---------------------------===//
#include "Matrix.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace kbopt::cpu {

bool parseMatrixShape(StringRef text, kbrt::MmaShape &shape) {
  uint32_t m, n, k;
  if (!text.consume_front("m") || text.consumeInteger(10, m) || !text.consume_front("n") ||
      text.consumeInteger(10, n) || !text.consume_front("k") || text.consumeInteger(10, k) ||
      !text.empty())
    return false;
  shape.m = m, shape.n = n, shape.k = k;
  return true;
}

static unsigned bitsOf(kbrt::MmaType type) {
  using T = kbrt::MmaType;
  switch (type) {
  case T::F16: case T::BF16: return 16;
  case T::TF32: case T::F32: case T::S32: return 32;
  case T::F64: return 64;
  case T::S8: case T::U8: case T::E4M3: case T::E5M2: return 8;
  case T::S4: case T::U4: return 4;
  case T::B1: return 1;
  }
  llvm_unreachable("all types are listed");
}

static Constant *shapeConstant(ImageContext &context, const kbrt::MmaShape &s) {
  LLVMContext &c = context.module.getContext();
  auto i32 = [&](uint32_t v) { return ConstantInt::get(Type::getInt32Ty(c), v); };
  auto i8 = [&](uint8_t v) { return ConstantInt::get(Type::getInt8Ty(c), v); };
  Constant *value = ConstantStruct::getAnon(
      {i32(s.m), i32(s.n), i32(s.k), i32(uint32_t(s.layout)), i32(uint32_t(s.aType)),
       i32(uint32_t(s.bType)), i32(uint32_t(s.cType)), i32(uint32_t(s.dType)), i32(s.aCount),
       i32(s.bCount), i32(s.cCount), i32(s.dCount), i8(s.saturate), i8(s.isXor)});
  for (GlobalVariable &global : context.module.globals())
    if (global.getName().starts_with("kb.mma") && global.hasInitializer() &&
        global.getInitializer() == value)
      return &global;
  return new GlobalVariable(context.module, value->getType(), true, GlobalValue::InternalLinkage,
                            value, "kb.mma");
}

static unsigned bytesOf(ArrayRef<Value *> registers) {
  unsigned bytes = 0;
  for (Value *v : registers)
    bytes += v->getType()->getPrimitiveSizeInBits().getFixedValue() / 8;
  return bytes;
}

/// \p registers one behind the other in a stack slot.
static Value *spill(IRBuilder<> &b, ArrayRef<Value *> registers, const Twine &name) {
  AllocaInst *slot = ImageContext::entryAlloca(
      b, ArrayType::get(b.getInt8Ty(), std::max(1u, bytesOf(registers))), name);
  slot->setAlignment(Align(16));
  unsigned offset = 0;
  for (Value *value : registers) {
    unsigned bytes = bytesOf({value});
    b.CreateAlignedStore(value, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), slot, offset),
                         commonAlignment(Align(16), offset));
    offset += bytes;
  }
  return slot;
}

std::vector<Value *> emitMatrixMultiply(ImageContext &context, IRBuilder<> &b,
                                        const Instruction &at, kbrt::MmaShape shape,
                                        ArrayRef<Value *> a, ArrayRef<Value *> bb,
                                        ArrayRef<Value *> c, ArrayRef<Type *> results) {
  unsigned resultBytes = 0;
  for (Type *type : results)
    resultBytes += type->getPrimitiveSizeInBits().getFixedValue() / 8;
  shape.aCount = bytesOf(a) * 8 / bitsOf(shape.aType);
  shape.bCount = bytesOf(bb) * 8 / bitsOf(shape.bType);
  shape.cCount = bytesOf(c) * 8 / bitsOf(shape.cType);
  shape.dCount = resultBytes * 8 / bitsOf(shape.dType);
  AllocaInst *d = ImageContext::entryAlloca(
      b, ArrayType::get(b.getInt8Ty(), std::max(1u, resultBytes)), "kb.d");
  d->setAlignment(Align(16));
  std::string detail = ("mma.m" + Twine(shape.m) + "n" + Twine(shape.n) + "k" + Twine(shape.k)).str();
  unsigned site = context.addSite(at, kbrt::AccessKind::WarpOp, detail);
  context.callAtSite(b, "kbrt_mma", site,
                     {shapeConstant(context, shape), spill(b, a, "kb.a"), spill(b, bb, "kb.b"),
                      spill(b, c, "kb.c"), d});
  std::vector<Value *> values;
  unsigned offset = 0;
  for (Type *type : results) {
    values.push_back(b.CreateAlignedLoad(
        type, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), d, offset),
        commonAlignment(Align(16), offset)));
    offset += type->getPrimitiveSizeInBits().getFixedValue() / 8;
  }
  return values;
}

/// The row pointer that lane \p lane holds.
static Value *pointerOfLane(IRBuilder<> &b, Value *row, Value *lane) {
  Value *word = b.CreatePtrToInt(row, b.getInt64Ty());
  auto shuffle = [&](Value *half) {
    return b.CreateIntrinsic(Intrinsic::nvvm_shfl_sync_idx_i32, {},
                             {b.getInt32(~0u), half, lane, b.getInt32(31)});
  };
  Value *low = shuffle(b.CreateTrunc(word, b.getInt32Ty()));
  Value *high = shuffle(b.CreateTrunc(b.CreateLShr(word, 32), b.getInt32Ty()));
  Value *whole = b.CreateOr(b.CreateZExt(low, b.getInt64Ty()),
                            b.CreateShl(b.CreateZExt(high, b.getInt64Ty()), 32));
  Value *pointer = b.CreateIntToPtr(whole, b.getPtrTy());
  return b.CreateAddrSpaceCast(b.CreateAddrSpaceCast(pointer, b.getPtrTy(Shared)), b.getPtrTy());
}

/// Lane l holds row l / 4, columns 2 * (l % 4) and the next; transposed, the
/// other way round. Gives the addresses of the two elements.
static std::pair<Value *, Value *> elementAddresses(IRBuilder<> &b, Value *row, unsigned matrix,
                                                    bool transposed) {
  Value *lane = b.CreateIntrinsic(b.getInt32Ty(), Intrinsic::nvvm_read_ptx_sreg_laneid, ArrayRef<Value *>());
  Value *group = b.CreateLShr(lane, 2);
  Value *pair = b.CreateShl(b.CreateAnd(lane, 3), 1);
  auto address = [&](Value *r, Value *column) {
    Value *base = pointerOfLane(b, row, b.CreateAdd(r, b.getInt32(8 * matrix)));
    return b.CreateGEP(b.getInt16Ty(), base, column);
  };
  if (!transposed) {
    Value *first = address(group, pair);
    return {first, nullptr};
  }
  return {address(pair, group), address(b.CreateAdd(pair, b.getInt32(1)), group)};
}

std::vector<Value *> emitLoadMatrix(ImageContext &context, IRBuilder<> &b, const Instruction &at,
                                    Value *row, unsigned count, bool transposed) {
  std::vector<Value *> registers;
  Type *i32 = b.getInt32Ty();
  for (unsigned n = 0; n < count; ++n) {
    auto [first, second] = elementAddresses(b, row, n, transposed);
    if (!second) {
      registers.push_back(b.CreateAlignedLoad(i32, first, Align(4)));
      continue;
    }
    Value *low = b.CreateZExt(b.CreateAlignedLoad(b.getInt16Ty(), first, Align(2)), i32);
    Value *high = b.CreateZExt(b.CreateAlignedLoad(b.getInt16Ty(), second, Align(2)), i32);
    registers.push_back(b.CreateOr(low, b.CreateShl(high, 16)));
  }
  return registers;
}

void emitStoreMatrix(ImageContext &context, IRBuilder<> &b, const Instruction &at, Value *row,
                     ArrayRef<Value *> registers, bool transposed) {
  for (unsigned n = 0; n < registers.size(); ++n) {
    auto [first, second] = elementAddresses(b, row, n, transposed);
    if (!second) {
      b.CreateAlignedStore(registers[n], first, Align(4));
      continue;
    }
    b.CreateAlignedStore(b.CreateTrunc(registers[n], b.getInt16Ty()), first, Align(2));
    b.CreateAlignedStore(b.CreateTrunc(b.CreateLShr(registers[n], 16), b.getInt16Ty()), second,
                         Align(2));
  }
}

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
  Value *lane = b.CreateIntrinsic(b.getInt32Ty(), Intrinsic::nvvm_read_ptx_sreg_laneid, ArrayRef<Value *>());
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
  visitFragment(b, f, base, stride, [&](Value *address, unsigned first, unsigned step, unsigned run) {
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

static std::optional<kbrt::MmaType> elementType(StringRef name) {
  using T = kbrt::MmaType;
  return StringSwitch<std::optional<T>>(name)
      .Case("f16", T::F16)
      .Case("bf16", T::BF16)
      .Case("tf32", T::TF32)
      .Case("f32", T::F32)
      .Case("f64", T::F64)
      .Case("s8", T::S8)
      .Case("u8", T::U8)
      .Case("s32", T::S32)
      .Default(std::nullopt);
}

static Type *memoryType(IRBuilder<> &b, kbrt::MmaType type) {
  using T = kbrt::MmaType;
  switch (type) {
  case T::F16: return b.getHalfTy();
  case T::BF16: return b.getInt16Ty();
  case T::TF32: return b.getInt32Ty();
  case T::F32: return b.getFloatTy();
  case T::F64: return b.getDoubleTy();
  case T::S32: return b.getInt32Ty();
  default: return b.getInt8Ty();
  }
}

/// wmma.SHAPE.mma.ALAYOUT.BLAYOUT.TYPES{.satfinite}
static bool expandProduct(ImageContext &context, CallInst &call, ArrayRef<StringRef> parts,
                          kbrt::MmaShape shape) {
  using T = kbrt::MmaType;
  std::vector<T> named;
  for (StringRef part : parts.drop_front(3))
    if (std::optional<T> type = elementType(part))
      named.push_back(*type);
  if (named.empty() || is_contained(parts, "popc"))
    return false;
  shape.layout = kbrt::MmaLayout::Wmma;
  shape.saturate = is_contained(parts, "satfinite");
  if (named.size() == 2) { // half: the types of D and C
    shape.aType = shape.bType = T::F16;
    shape.dType = named[0], shape.cType = named[1];
  } else {
    shape.aType = shape.bType = named[0];
    T accumulator = named[0] == T::F64                          ? T::F64
                    : named[0] == T::S8 || named[0] == T::U8 ? T::S32
                                                                : T::F32;
    shape.cType = shape.dType = accumulator;
  }
  // A, B and C follow each other; their sizes come from the shape. Half
  // fragments of A and B are always 8 registers of two.
  auto registersOf = [&](T type, unsigned total) -> unsigned {
    if (type == T::F16 && total != shape.m * shape.n)
      return 8;
    unsigned bits = bitsOf(type);
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
  std::vector<Value *> values =
      emitMatrixMultiply(context, builder, call, shape, all.take_front(a), all.slice(a, b),
                         all.drop_front(a + b), results);
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
  std::optional<kbrt::MmaType> type = elementType(parts[5]);
  if (!type)
    return false;
  IRBuilder<> b(&call);
  Fragment f{};
  f.rows = parts[2] == "b" ? shape.k : shape.m;
  f.columns = parts[2] == "a" ? shape.k : shape.n;
  f.element = memoryType(b, *type);
  f.isRowMajor = parts[3] == "row";
  unsigned bits = bitsOf(*type);
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
