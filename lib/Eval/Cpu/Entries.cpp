//===- Entries.cpp - The functions through which a kernel is entered ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns `body`, `loop`, `countedBody` and the regions of kbrt/ImageInfo.h:
// argument loading, the loop over threads, and what a kernel is known to need.
//
//===----------------------------------------------------------------------===//
#include "BarrierSplit.h"
#include "Steps.h"
#include "llvm/IR/InstIterator.h"
#include <cstddef>

using namespace llvm;

namespace kbopt::cpu {

/// What the code of a kernel calls.
static void findNeeds(ImageContext &context, Kernel &kernel, Function &root) {
  bool indirect = false;
  for (Function *function : context.reachableFrom(root, &indirect)) {
    for (Instruction &instruction : instructions(*function)) {
      auto *call = dyn_cast<CallInst>(&instruction);
      Function *callee = call ? call->getCalledFunction() : nullptr;
      if (!callee)
        continue;
      StringRef name = callee->getName();
      if (name.starts_with("kbrt_barrier"))
        kernel.usesBarrier = true;
      else if (name == "kbrt_warp_sync" || name == "kbrt_shuffle" || name == "kbrt_vote" ||
               name.starts_with("kbrt_match") || name == "kbrt_redux" || name == "kbrt_mma" ||
               name == "kbrt_wgmma" || name == "kbrt_activemask")
        kernel.usesWarpOps = true;
      else if (name == "kbrt_yield" || name == "kbrt_exit" || name.starts_with("kbrt_mbarrier_"))
        kernel.needsFibers = true;
      else if (name == "kbrt_unsupported")
        kernel.unsupported.push_back(cast<ConstantInt>(call->getArgOperand(0))->getZExtValue());
    }
  }
  kernel.usesIndirectCalls |= indirect;
  kernel.needsFibers |= kernel.usesBarrier || kernel.usesWarpOps;
  llvm::sort(kernel.unsupported);
  kernel.unsupported.erase(llvm::unique(kernel.unsupported), kernel.unsupported.end());
}

/// Whether the code can ask which thread it is other than by its parameters.
static bool observesThread(ImageContext &context, Function &root) {
  for (Function *function : context.reachableFrom(root))
    for (Instruction &instruction : instructions(*function)) {
      auto *call = dyn_cast<CallInst>(&instruction);
      if (!call)
        continue;
      Function *callee = call->getCalledFunction();
      if (!callee || callee->getName().starts_with("kbrt_") ||
          (!callee->isDeclaration() && !callee->getName().starts_with("kb.")))
        return true;
    }
  return false;
}

namespace {
class EntryBuilder {
public:
  EntryBuilder(ImageContext &context, Kernel &kernel)
      : context(context), kernel(kernel), c(context.module.getContext()), b(c),
        pointer(PointerType::get(c, 0)), i32(Type::getInt32Ty(c)) {}

  Function *makeBody(Function &implementation, StringRef suffix);
  Function *makeLoop(Function &implementation);
  Function *makeRegionLoop(Function &region, const SplitKernel &split);

private:
  SmallVector<Value *> loadArguments(Function &implementation, Value *argumentArray);
  Value *threadField(Value *thread, size_t offset) {
    return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), thread, offset);
  }
  void emitLoop(Function &entry, Value *first, Value *last, Function &implementation,
                ArrayRef<Value *> more, MDNode *independent);
  CallInst *callImplementation(Function &implementation, ArrayRef<Value *> own, Value *block,
                               Value *thread, ArrayRef<Value *> tid);
  Function *create(StringRef suffix, ArrayRef<Type *> extra);

  ImageContext &context;
  Kernel &kernel;
  LLVMContext &c;
  IRBuilder<> b;
  Type *pointer, *i32;
};
} // namespace

Function *EntryBuilder::create(StringRef suffix, ArrayRef<Type *> extra) {
  SmallVector<Type *> types{pointer, pointer, pointer};
  types.append(extra.begin(), extra.end());
  Function *entry = Function::Create(FunctionType::get(Type::getVoidTy(c), types, false),
                                     GlobalValue::InternalLinkage,
                                     "kb." + suffix + "." + kernel.name, context.module);
  entry->addFnAttr(Attribute::NoUnwind);
  // Arguments, block and thread are the runtime's and nothing else points there.
  entry->addParamAttr(0, Attribute::NoAlias);
  entry->addParamAttr(1, Attribute::NoAlias);
  entry->addParamAttr(1, Attribute::ReadOnly);
  return entry;
}

SmallVector<Value *> EntryBuilder::loadArguments(Function &implementation, Value *array) {
  SmallVector<Value *> values;
  for (unsigned i = 0; i < kernel.parameters.size(); ++i) {
    Argument *argument = implementation.getArg(i);
    Value *place = b.CreateConstInBoundsGEP1_64(pointer, array, i);
    Value *address = b.CreateLoad(pointer, place);
    if (kernel.function->getArg(i)->hasByValAttr()) {
      values.push_back(address);
    } else if (argument->getType()->isIntegerTy(1)) {
      values.push_back(
          b.CreateTrunc(b.CreateAlignedLoad(b.getInt8Ty(), address, Align(1)), b.getInt1Ty()));
    } else {
      Align align(std::max(1u, kernel.parameters[i].align));
      values.push_back(
          b.CreateAlignedLoad(argument->getType(), address, align, kernel.parameters[i].name));
    }
  }
  return values;
}

CallInst *EntryBuilder::callImplementation(Function &implementation, ArrayRef<Value *> own,
                                           Value *block, Value *thread, ArrayRef<Value *> tid) {
  SmallVector<Value *> all(own);
  all.append({block, thread});
  all.append(tid.begin(), tid.end());
  CallInst *call = b.CreateCall(&implementation, all);
  // byval: each thread has its own copy of a struct parameter.
  for (unsigned i = 0; i < own.size(); ++i)
    if (implementation.getArg(i)->hasByValAttr()) {
      call->addParamAttr(
          i, Attribute::getWithByValType(c, implementation.getArg(i)->getParamByValType()));
      call->addParamAttr(i, Attribute::getWithAlignment(
                                c, implementation.getArg(i)->getParamAlign().valueOrOne()));
    }
  return call;
}

Function *EntryBuilder::makeBody(Function &implementation, StringRef suffix) {
  Function *entry = create(suffix, {});
  b.SetInsertPoint(BasicBlock::Create(c, "", entry));
  Value *block = entry->getArg(1), *thread = entry->getArg(2);
  SmallVector<Value *> own = loadArguments(implementation, entry->getArg(0));
  Value *tid[3];
  for (unsigned d = 0; d < 3; ++d)
    tid[d] = b.CreateLoad(i32, threadField(thread, offsetof(kbrt::Thread, tid) + 4 * d));
  callImplementation(implementation, own, block, thread, tid);
  b.CreateRetVoid();
  return entry;
}

/// for (linear = first; linear < last;) for (x …; to the end of the row) body
/// Regions hear of the linear id and \p more. \p independent is the group of the accesses that the
/// threads perform independently of each other.
void EntryBuilder::emitLoop(Function &entry, Value *first, Value *last, Function &implementation,
                            ArrayRef<Value *> more, MDNode *independent) {
  Value *block = entry.getArg(1), *thread = entry.getArg(2);
  auto *start = BasicBlock::Create(c, "start", &entry), *row = BasicBlock::Create(c, "row", &entry),
       *inner = BasicBlock::Create(c, "thread", &entry),
       *next = BasicBlock::Create(c, "next", &entry), *end = BasicBlock::Create(c, "end", &entry);
  b.SetInsertPoint(start);
  SmallVector<Value *> own = loadArguments(implementation, entry.getArg(0));
  Value *nx = loadField(b, i32, block, offsetof(kbrt::Block, ntid), "nx");
  Value *ny = loadField(b, i32, block, offsetof(kbrt::Block, ntid) + 4, "ny");
  Value *x0 = b.CreateURem(first, nx);
  Value *rows = b.CreateUDiv(first, nx);
  Value *y0 = b.CreateURem(rows, ny), *z0 = b.CreateUDiv(rows, ny);
  b.CreateCondBr(b.CreateICmpULT(first, last), row, end);

  b.SetInsertPoint(row);
  PHINode *linear = b.CreatePHI(i32, 2, "linear"), *rowX = b.CreatePHI(i32, 2, "x0");
  PHINode *y = b.CreatePHI(i32, 2, "y"), *z = b.CreatePHI(i32, 2, "z");
  linear->addIncoming(first, start), rowX->addIncoming(x0, start);
  y->addIncoming(y0, start), z->addIncoming(z0, start);
  Value *left = b.CreateAdd(rowX, b.CreateSub(last, linear));
  Value *rowEnd = b.CreateBinaryIntrinsic(Intrinsic::umin, nx, left);
  b.CreateBr(inner);

  b.SetInsertPoint(inner);
  PHINode *x = b.CreatePHI(i32, 2, "x");
  x->addIncoming(rowX, row);
  Value *id = b.CreateAdd(linear, b.CreateSub(x, rowX));
  if (observesThread(context, implementation)) {
    Value *values[] = {x, y, z, id, b.CreateAnd(id, 31), b.CreateLShr(id, 5)};
    size_t offsets[] = {offsetof(kbrt::Thread, tid),     offsetof(kbrt::Thread, tid) + 4,
                        offsetof(kbrt::Thread, tid) + 8, offsetof(kbrt::Thread, linear),
                        offsetof(kbrt::Thread, lane),    offsetof(kbrt::Thread, warp)};
    for (unsigned i = 0; i < 6; ++i)
      b.CreateStore(values[i], threadField(thread, offsets[i]));
  }
  SmallVector<Value *> state{x, y, z};
  if (!more.empty()) {
    state.push_back(id);
    append_range(state, more);
  }
  callImplementation(implementation, own, block, thread, state)->addFnAttr(Attribute::AlwaysInline);
  Value *nextX = b.CreateAdd(x, b.getInt32(1), "", true, true);
  x->addIncoming(nextX, inner);
  Instruction *again = b.CreateCondBr(b.CreateICmpULT(nextX, rowEnd), inner, next);
  if (independent) {
    Metadata *accesses[] = {MDString::get(c, "llvm.loop.parallel_accesses"), independent};
    // Compiling is a good part of judging a candidate.
    Metadata *once[] = {MDString::get(c, "llvm.loop.interleave.count"),
                        ConstantAsMetadata::get(b.getInt32(1))};
    Metadata *noUnroll[] = {MDString::get(c, "llvm.loop.unroll.disable")};
    MDNode *loop = MDNode::getDistinct(
        c, {nullptr, MDNode::get(c, accesses), MDNode::get(c, once), MDNode::get(c, noUnroll)});
    loop->replaceOperandWith(0, loop);
    again->setMetadata(LLVMContext::MD_loop, loop);
  }

  b.SetInsertPoint(next);
  Value *nextLinear = b.CreateAdd(linear, b.CreateSub(rowEnd, rowX));
  Value *nextY = b.CreateAdd(y, b.getInt32(1));
  Value *wraps = b.CreateICmpUGE(nextY, ny);
  linear->addIncoming(nextLinear, next), rowX->addIncoming(b.getInt32(0), next);
  y->addIncoming(b.CreateSelect(wraps, b.getInt32(0), nextY), next);
  z->addIncoming(b.CreateSelect(wraps, b.CreateAdd(z, b.getInt32(1)), z), next);
  b.CreateCondBr(b.CreateICmpULT(nextLinear, last), row, end);
  b.SetInsertPoint(end);
  b.CreateRetVoid();
}

Function *EntryBuilder::makeLoop(Function &implementation) {
  Function *entry = create("loop", {i32, i32});
  emitLoop(*entry, entry->getArg(3), entry->getArg(4), implementation, {}, nullptr);
  return entry;
}

Function *EntryBuilder::makeRegionLoop(Function &region, const SplitKernel &split) {
  Function *entry = create("region", {pointer, pointer, pointer, pointer, i32, i32});
  entry->addFnAttr(regionAttribute);
  Value *memory[] = {entry->getArg(3), entry->getArg(4), entry->getArg(5), entry->getArg(6)};
  // Slots and uniforms are the regions' own; code that writes to arrays may have their address.
  for (unsigned i : {3, 5, 6})
    entry->addParamAttr(i, Attribute::NoAlias);
  if (region.getArg(region.arg_size() - 3)->hasNoAliasAttr())
    entry->addParamAttr(4, Attribute::NoAlias);
  entry->addParamAttr(5, Attribute::ReadOnly);
  if (split.uniformBytes) {
    entry->addParamAttr(6, Attribute::Writable);
    entry->addParamAttr(6, Attribute::getWithDereferenceableBytes(c, split.uniformBytes));
  }
  emitLoop(*entry, entry->getArg(7), entry->getArg(8), region, memory, split.accessGroup);
  return entry;
}

void buildEntries(ImageContext &context) {
  for (Function &function : context.module) {
    if (function.isIntrinsic())
      continue;
    // The host's target, not NVPTX's, decides how these are compiled.
    for (const char *name : {"target-cpu", "target-features", "nvvm.annotations_transplanted"})
      function.removeFnAttr(name);
    function.setCallingConv(CallingConv::C);
  }
  for (Kernel &kernel : context.kernels) {
    findNeeds(context, kernel, *kernel.function);
    if (kernel.counted)
      findNeeds(context, kernel, *kernel.counted);
    EntryBuilder builder(context, kernel);
    if (kernel.needsFibers && context.splitsBarriers)
      kernel.split = splitAtBarriers(context, kernel);
    if (kernel.split)
      for (Function *&region : kernel.split->regions)
        region = builder.makeRegionLoop(*region, *kernel.split);
    else if (kernel.needsFibers)
      kernel.body = builder.makeBody(*kernel.function, "body");
    else
      kernel.loop = builder.makeLoop(*kernel.function);
    if (kernel.counted)
      kernel.countedBody = builder.makeBody(*kernel.counted, "counted");
  }
  for (Function &function : context.module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallInst>(&instruction))
        call->setCallingConv(call->getCalledFunction() ? call->getCalledFunction()->getCallingConv()
                                                       : CallingConv::C);
}

} // namespace kbopt::cpu
