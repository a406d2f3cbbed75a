//===- Counts.cpp - Instrumentation of mode Count -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the counted versions of kernels and of the functions they call: block
// counters, logged accesses and branches, and the key that tells the
// iterations of the enclosing loops apart. The others, which blocks run that
// are not sampled, count their instructions and atomics.
//
//===----------------------------------------------------------------------===//
#include "Accesses.h"
#include "InstructionMix.h"
#include "LoadOrder.h"
#include "Steps.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <cstddef>
#include <numeric>

using namespace llvm;

namespace kbopt::cpu {

namespace {
class CountInserter {
public:
  CountInserter(ImageContext &context, Function &function, unsigned kernel)
      : context(context), function(function), kernel(kernel), dominators(function),
        loops(dominators) {}
  void run(const DenseMap<Function *, Function *> &counted);

private:
  void makeKeys();
  Value *keyOf(const BasicBlock &block);
  void countBlock(BasicBlock &block, Value *counters);
  void countBranch(BasicBlock &block);
  unsigned describeBlock(const BasicBlock &block);
  Value *threadField(IRBuilder<> &b, size_t offset, const char *name);

  ImageContext &context;
  Function &function;
  unsigned kernel;
  DominatorTree dominators;
  LoopInfo loops;
  Value *thread = nullptr, *baseKey = nullptr;
  DenseMap<const Loop *, Value *> keys;
  DenseMap<const BasicBlock *, unsigned> blockIndex;
};
} // namespace

/// An odd constant with well mixed bits (the golden ratio of 2^64).
static constexpr uint64_t mixing = 0x9E3779B97F4A7C15ull;

/// One key per loop: starts at a hash of the outer key and the loop's number,
/// and counts the iterations.
void CountInserter::makeKeys() {
  for (Loop *loop : loops.getLoopsInPreorder()) {
    Loop *parent = loop->getParentLoop();
    Value *outer = parent ? keys.lookup(parent) : baseKey;
    IRBuilder<> b(function.getContext());
    if (auto *instruction = dyn_cast<PHINode>(outer))
      b.SetInsertPoint(instruction->getParent()->getFirstInsertionPt());
    else if (auto *base = dyn_cast<Instruction>(outer))
      b.SetInsertPoint(base->getNextNode());
    else
      b.SetInsertPoint(&function.getEntryBlock(), function.getEntryBlock().getFirstInsertionPt());
    Value *start = b.CreateAdd(b.CreateMul(outer, b.getInt64(mixing)),
                               b.getInt64(uint64_t(keys.size() + 1) << 40));
    BasicBlock *header = loop->getHeader();
    IRBuilder<> atHeader(header, header->begin());
    PHINode *key = atHeader.CreatePHI(b.getInt64Ty(), 2, "kb.key");
    atHeader.SetInsertPoint(header->getFirstInsertionPt());
    Value *next = atHeader.CreateAdd(key, atHeader.getInt64(1));
    for (BasicBlock *before : predecessors(header))
      key->addIncoming(loop->contains(before) ? next : start, before);
    keys[loop] = key;
  }
}

Value *CountInserter::keyOf(const BasicBlock &block) {
  const Loop *loop = loops.getLoopFor(&block);
  return loop ? keys.lookup(loop) : baseKey;
}

unsigned CountInserter::describeBlock(const BasicBlock &block) {
  CountedBlock entry;
  entry.function = kernel;
  entry.firstMix = context.mixes.size();
  entry.loopDepth = loops.getLoopDepth(&block);
  SourcePlace last;
  for (const Instruction &instruction : block) {
    std::array<uint16_t, kbrt::opCount> ops{};
    addToMix(instruction, ops);
    SourcePlace place = context.placeOf(instruction.getDebugLoc());
    if (!place.line)
      place = last;
    last = place;
    if (entry.place.line == 0)
      entry.place = place;
    if (all_of(ops, [](uint16_t n) { return n == 0; }))
      continue;
    Mix *mix = nullptr;
    for (unsigned n = entry.firstMix; n < context.mixes.size(); ++n)
      if (context.mixes[n].place.line == place.line && context.mixes[n].place.file == place.file)
        mix = &context.mixes[n];
    if (!mix) {
      context.mixes.push_back({place, {}});
      mix = &context.mixes.back();
    }
    for (unsigned op = 0; op < kbrt::opCount; ++op) {
      mix->ops[op] += ops[op];
      if (op != unsigned(kbrt::Op::TensorFlops))
        entry.instructions += ops[op];
    }
  }
  entry.mixCount = context.mixes.size() - entry.firstMix;
  context.blocks.push_back(entry);
  return context.blocks.size() - 1;
}

void CountInserter::countBlock(BasicBlock &block, Value *counters) {
  IRBuilder<> b(&block, block.getFirstInsertionPt());
  if (&block == &function.getEntryBlock())
    b.SetInsertPoint(cast<Instruction>(counters)->getNextNode());
  Value *counter = b.CreateConstInBoundsGEP1_64(b.getInt32Ty(), counters, blockIndex[&block]);
  b.CreateStore(b.CreateAdd(b.CreateLoad(b.getInt32Ty(), counter), b.getInt32(1)), counter);
}

void CountInserter::countBranch(BasicBlock &block) {
  Instruction *terminator = block.getTerminator();
  Value *condition = nullptr;
  if (auto *branch = dyn_cast<BranchInst>(terminator); branch && branch->isConditional())
    condition = branch->getCondition();
  else if (auto *select = dyn_cast<SwitchInst>(terminator))
    condition = select->getCondition();
  if (!condition)
    return;
  Branch entry;
  entry.function = kernel;
  entry.block = blockIndex[&block];
  entry.place = context.placeOf(terminator->getDebugLoc());
  if (const Loop *loop = loops.getLoopFor(&block))
    entry.isLoopExit = loop->isLoopExiting(&block);
  context.branches.push_back(entry);
  IRBuilder<> b(terminator);
  b.CreateCall(context.runtime("kbrt_count_branch"),
               {b.getInt32(context.branches.size() - 1),
                b.CreateZExtOrTrunc(condition, b.getInt32Ty()), keyOf(block)});
}

Value *CountInserter::threadField(IRBuilder<> &b, size_t offset, const char *name) {
  return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), thread, offset, name);
}

void CountInserter::run(const DenseMap<Function *, Function *> &counted) {
  FunctionAccesses found(function);
  SmallVector<CallInst *> calls;
  for (Instruction &instruction : instructions(function))
    if (auto *call = dyn_cast<CallInst>(&instruction))
      calls.push_back(call);
  for (BasicBlock &block : function)
    blockIndex[&block] = describeBlock(block);

  BasicBlock &entry = function.getEntryBlock();
  IRBuilder<> b(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
  if (DISubprogram *subprogram = function.getSubprogram())
    b.SetCurrentDebugLocation(DILocation::get(function.getContext(), 0, 0, subprogram));
  thread = b.CreateLoad(
      b.getPtrTy(), context.module.getOrInsertGlobal("kbrt_current", b.getPtrTy()), "kb.thread");
  bool isKernel = function.getCallingConv() == CallingConv::PTX_Kernel;
  baseKey = b.getInt64(0);
  if (!isKernel)
    baseKey = b.CreateLoad(b.getInt64Ty(),
                           threadField(b, offsetof(kbrt::Thread, iteration), "kb.at"), "kb.base");
  Value *counters = b.CreateLoad(
      b.getPtrTy(), threadField(b, offsetof(kbrt::Thread, blockCounts), "kb.at"), "kb.counts");
  auto orders = loadOrders(function, loops, found.accesses, context.loadGroups);
  makeKeys();
  for (const Access &access : found.accesses) {
    IRBuilder<> at(access.instruction);
    auto log = [&](const Access &one) {
      Value *pointer = one.pointer;
      if (pointer->getType()->getPointerAddressSpace() != Flat)
        pointer = at.CreateAddrSpaceCast(pointer, at.getPtrTy());
      unsigned site = addAccessSite(context, one);
      LoadOrder order = orders.lookup(one.instruction);
      context.sites[site].loadGroup = order.group;
      context.sites[site].isAlone = order.isAlone;
      context.callAtSite(at, "kbrt_count_access", site,
                         {pointer, keyOf(*one.instruction->getParent())});
    };
    if (access.source) {
      Access read = access;
      read.pointer = access.source;
      read.kind = kbrt::AccessKind::Load;
      read.space = spaceOf(*access.source);
      log(read);
    }
    log(access);
  }
  unsigned number = 0;
  for (CallInst *call : calls) {
    Function *callee = call->getCalledFunction();
    if (callee && callee->isDeclaration())
      continue;
    // The callee's keys begin with this call and its iteration.
    IRBuilder<> at(call);
    Value *key = at.CreateAdd(at.CreateMul(keyOf(*call->getParent()), at.getInt64(mixing)),
                              at.getInt64(++number));
    at.CreateStore(key, threadField(at, offsetof(kbrt::Thread, iteration), "kb.at"));
    if (Function *version = counted.lookup(callee))
      call->setCalledFunction(version);
  }
  for (BasicBlock &block : function) {
    countBlock(block, counters);
    countBranch(block);
  }
}

/// Makes \p function add the instructions of its basic blocks to `kbrt_work`, and log its atomics.
static void countWork(ImageContext &context, Function &function) {
  for (const Access &access : FunctionAccesses(function).accesses)
    if (access.kind == kbrt::AccessKind::Atomic) {
      IRBuilder<> b(access.instruction);
      b.CreateCall(context.runtime("kbrt_count_atomic"),
                   {b.CreateAddrSpaceCast(access.pointer, b.getPtrTy())});
    }
  Constant *work =
      context.module.getOrInsertGlobal("kbrt_work", Type::getInt64Ty(function.getContext()));
  for (BasicBlock &block : function) {
    std::array<uint16_t, kbrt::opCount> ops{};
    for (const Instruction &instruction : block)
      addToMix(instruction, ops);
    ops[unsigned(kbrt::Op::TensorFlops)] = 0; // no instructions
    const unsigned instructions = std::accumulate(ops.begin(), ops.end(), 0u);
    if (!instructions)
      continue;
    IRBuilder<> b(&block, block.getFirstNonPHIOrDbgOrAlloca());
    b.CreateStore(b.CreateAdd(b.CreateLoad(b.getInt64Ty(), work), b.getInt64(instructions)), work);
  }
}

/// Where a function is called through a pointer, the version is chosen at run
/// time: counted if the block is sampled.
static void chooseAtRunTime(ImageContext &context, Function &plain, Function &counted) {
  Function *chooser = Function::Create(plain.getFunctionType(), GlobalValue::InternalLinkage,
                                       plain.getName() + ".chosen", context.module);
  LLVMContext &c = plain.getContext();
  auto *entry = BasicBlock::Create(c, "", chooser), *yes = BasicBlock::Create(c, "", chooser),
       *no = BasicBlock::Create(c, "", chooser);
  IRBuilder<> b(entry);
  Value *thread =
      b.CreateLoad(b.getPtrTy(), context.module.getOrInsertGlobal("kbrt_current", b.getPtrTy()));
  Value *counts =
      b.CreateLoad(b.getPtrTy(), b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), thread,
                                                              offsetof(kbrt::Thread, blockCounts)));
  b.CreateCondBr(b.CreateIsNotNull(counts), yes, no);
  SmallVector<Value *> arguments;
  for (Argument &argument : chooser->args())
    arguments.push_back(&argument);
  for (auto [block, version] : {std::pair(yes, &counted), std::pair(no, &plain)}) {
    b.SetInsertPoint(block);
    CallInst *call = b.CreateCall(version, arguments);
    call->setAttributes(plain.getAttributes());
    if (plain.getReturnType()->isVoidTy())
      b.CreateRetVoid();
    else
      b.CreateRet(call);
  }
  plain.replaceUsesWithIf(chooser, [&](Use &use) {
    auto *call = dyn_cast<CallBase>(use.getUser());
    return !(call && call->isCallee(&use));
  });
}

void instrumentCounts(ImageContext &context) {
  SmallVector<Function *> functions;
  for (Function &function : context.module)
    if (!function.isDeclaration() && !function.getName().starts_with("kb.") &&
        function.getCallingConv() != CallingConv::PTX_Kernel)
      functions.push_back(&function);
  DenseMap<Function *, Function *> counted;
  auto clone = [](Function &function) {
    ValueToValueMapTy map;
    Function *copy = CloneFunction(&function, map);
    copy->setName(function.getName() + ".counted");
    copy->setLinkage(GlobalValue::InternalLinkage);
    return copy;
  };
  for (Function *function : functions)
    counted[function] = clone(*function);
  for (Kernel &kernel : context.kernels)
    kernel.counted = clone(*kernel.function);
  for (Function *function : functions) {
    CountInserter(context, *counted[function], ~0u).run(counted);
    if (function->hasAddressTaken())
      chooseAtRunTime(context, *function, *counted[function]);
  }
  for (unsigned k = 0; k < context.kernels.size(); ++k)
    CountInserter(context, *context.kernels[k].counted, k).run(counted);
  for (Function *function : functions)
    countWork(context, *function);
  for (Kernel &kernel : context.kernels)
    countWork(context, *kernel.function);
}

} // namespace kbopt::cpu
