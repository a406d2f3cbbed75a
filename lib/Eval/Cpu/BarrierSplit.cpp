//===- BarrierSplit.cpp - Kernels in pieces between barriers --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the split of a kernel at the places where its threads wait for each
// other. Each piece, a region, is what one thread does from such a stop to the
// next; Entries.cpp makes a loop over threads of it. What a thread knows at a
// stop lies in memory: in slots, one row per value and one column per thread;
// in one place for all where the threads are sure to agree; or nowhere, where
// it is cheap to compute again.
//
//===----------------------------------------------------------------------===//
#include "BarrierSplit.h"
#include "Stops.h"
#include "Uniformity.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/CaptureTracking.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"
#include <cstddef>

using namespace llvm;

namespace kbopt::cpu {

/// Threads that the memory between regions has room for.
static constexpr unsigned maxThreads = 1024;
/// Local arrays of a thread beyond which its kernel keeps fibers.
static constexpr uint64_t mostArrayBytes = 64 << 10;
/// Instructions of all regions together beyond which compiling takes too long.
static constexpr unsigned mostInstructions = 60000;
/// Instructions that are rather executed again than remembered.
static constexpr unsigned mostRecomputed = 12, mostRecomputedUniform = 40;

namespace {
/// A value that lives across stops, or a local array.
struct Remembered {
  uint64_t offset = 0;
  bool isUniform = false, isArray = false;
  uint64_t stride = 0; ///< of an array, from thread to thread
};

class BarrierSplitter {
public:
  BarrierSplitter(ImageContext &context, Kernel &kernel)
      : context(context), kernel(kernel), layout(context.module.getDataLayout()),
        c(context.module.getContext()) {}
  std::optional<SplitKernel> run();

private:
  bool prepare();
  bool placeArrays();
  void keepParameters();
  void isolateStops();
  void computeEarly();
  SmallPtrSet<BasicBlock *, 16> blocksWhereLive(Instruction &value) const;
  bool isAlwaysThere(const LoadInst &load) const;
  unsigned costOf(const Value *value, DenseMap<const Value *, unsigned> &known) const;
  void hoist(Value *value);
  void rememberCrossing();
  Function *makeRegion(unsigned number);
  SmallVector<BasicBlock *> blocksFrom(BasicBlock *start) const;
  void beginRegion(Function &region, BasicBlock &head, unsigned number, ValueToValueMapTy &map,
                   SmallVectorImpl<AllocaInst *> &slots);
  void endAtStop(BasicBlock &exit, unsigned stop, ValueToValueMapTy &map);
  Value *placeOf(IRBuilder<> &b, const Remembered &kept, Type *type);
  Value *exchangePlace(IRBuilder<> &b, size_t offset, Type *type, bool isUniform = false);
  void markParallel(Function &region);

  ImageContext &context;
  Kernel &kernel;
  const DataLayout &layout;
  LLVMContext &c;
  Function *function = nullptr; ///< a copy of the kernel, taken to pieces
  SplitKernel split;
  SmallVector<CallInst *> stops;     ///< the markers of Stops.h
  SmallVector<BasicBlock *> resumes; ///< behind each of them
  SmallPtrSet<BasicBlock *, 16> stopBlocks;
  SmallPtrSet<const Instruction *, 16> uniformResults;
  std::unique_ptr<Uniformity> uniformity;
  BasicBlock *early = nullptr; ///< what every region computes first, and the allocas
  MapVector<AllocaInst *, Remembered> kept;
  SmallVector<SmallPtrSet<AllocaInst *, 16>> liveAt; ///< by stop
  bool arraysEscape = false, sharesUniforms = false;
  // Of the region in work.
  Value *linear = nullptr, *slotBase = nullptr, *arrayBase = nullptr, *uniformBase = nullptr,
        *nextUniformBase = nullptr;
};
} // namespace

/// Whether nothing but loads of it happens to \p pointer; they go to \p reads.
static bool isOnlyRead(Value &pointer, SmallVectorImpl<Instruction *> &reads) {
  return all_of(pointer.users(), [&](User *user) {
    if (auto *load = dyn_cast<LoadInst>(user)) {
      reads.push_back(load);
      return !load->isVolatile();
    }
    return isa<GetElementPtrInst>(user) && isOnlyRead(*user, reads);
  });
}

/// Structures passed by value that the kernel writes to are local arrays.
void BarrierSplitter::keepParameters() {
  for (Argument &argument : function->args()) {
    if (!argument.hasByValAttr())
      continue;
    SmallVector<Instruction *> reads;
    if (isOnlyRead(argument, reads)) {
      for (Instruction *read : reads)
        read->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(c, {}));
    } else {
      BasicBlock &entry = function->getEntryBlock();
      IRBuilder<> b(&entry, entry.begin());
      Type *type = argument.getParamByValType();
      Align align = argument.getParamAlign().valueOrOne();
      AllocaInst *copy = b.CreateAlloca(type);
      copy->setAlignment(align);
      argument.replaceAllUsesWith(copy);
      b.CreateMemCpy(copy, align, &argument, align, layout.getTypeAllocSize(type));
    }
    argument.removeAttr(Attribute::ByVal);
  }
}

/// The copy, with markers for stops and its loose ends tied.
bool BarrierSplitter::prepare() {
  if (!canSplit(context, *kernel.function))
    return false;
  ValueToValueMapTy map;
  function = CloneFunction(kernel.function, map);
  keepParameters();
  split.stops = markStops(context, *function);
  tidy(*function);
  stops.resize(split.stops.size());
  for (Instruction &instruction : instructions(*function))
    if (isStopMarker(instruction)) {
      auto *call = cast<CallInst>(&instruction);
      stops[cast<ConstantInt>(call->getArgOperand(0))->getZExtValue()] = call;
    }
  uint64_t size = function->getInstructionCount();
  return size * (stops.size() + 1) / 4 < mostInstructions && placeArrays();
}

bool BarrierSplitter::placeArrays() {
  uint64_t perThread = 0;
  SmallVector<Instruction *> lifetimes;
  for (Instruction &instruction : instructions(*function)) {
    if (instruction.isLifetimeStartOrEnd())
      lifetimes.push_back(&instruction);
    auto *array = dyn_cast<AllocaInst>(&instruction);
    if (!array)
      continue;
    if (!array->isStaticAlloca())
      return false;
    Remembered &place = kept[array];
    Align align = std::max(array->getAlign(), Align(8));
    place.isArray = true;
    place.stride = alignTo(array->getAllocationSize(layout)->getFixedValue(), align);
    place.offset = alignTo(split.arrayBytes, std::max(align, Align(64)));
    split.arrayBytes = place.offset + place.stride * maxThreads;
    perThread += place.stride;
    arraysEscape |= PointerMayBeCaptured(array, /*ReturnCaptures=*/false);
  }
  for (Instruction *lifetime : lifetimes)
    lifetime->eraseFromParent();
  return perThread <= mostArrayBytes;
}

void BarrierSplitter::isolateStops() {
  for (CallInst *stop : stops) {
    if (!stop) { // the optimiser found it unreachable
      resumes.push_back(nullptr);
      continue;
    }
    BasicBlock *block = SplitBlock(stop->getParent(), stop);
    resumes.push_back(SplitBlock(block, stop->getNextNode()));
    stopBlocks.insert(block);
    if (split.stops[resumes.size() - 1].kind == kbrt::StopKind::BarrierReduction)
      if (Instruction &result = resumes.back()->front(); isStopResult(result))
        uniformResults.insert(&result);
  }
  BasicBlock *entry = &function->getEntryBlock();
  early = BasicBlock::Create(c, "early", function, entry);
  IRBuilder<> b(early);
  Instruction *end = b.CreateBr(entry);
  for (auto &[array, place] : kept)
    array->moveBefore(end->getIterator());
}

/// At whose beginning \p value is still needed.
SmallPtrSet<BasicBlock *, 16> BarrierSplitter::blocksWhereLive(Instruction &value) const {
  SmallPtrSet<BasicBlock *, 16> live;
  SmallVector<BasicBlock *> work;
  BasicBlock *home = value.getParent();
  for (Use &use : value.uses()) {
    auto *user = cast<Instruction>(use.getUser());
    if (auto *phi = dyn_cast<PHINode>(user)) {
      if (BasicBlock *from = phi->getIncomingBlock(use); from != home)
        work.push_back(from);
    } else if (user->getParent() != home) {
      work.push_back(user->getParent());
    }
  }
  while (!work.empty()) {
    BasicBlock *block = work.pop_back_val();
    if (!live.insert(block).second)
      continue;
    for (BasicBlock *before : predecessors(block))
      if (before != home)
        work.push_back(before);
  }
  return live;
}

/// Whether \p load reads what can be read at any time: the block's state, structures passed by
/// value, the places of variables.
bool BarrierSplitter::isAlwaysThere(const LoadInst &load) const {
  APInt offset(64, 0);
  const Value *base =
      load.getPointerOperand()->stripAndAccumulateConstantOffsets(layout, offset, true);
  uint64_t bytes = 0;
  if (auto *argument = dyn_cast<Argument>(base)) {
    const Argument *original = kernel.function->getArg(argument->getArgNo());
    if (argument->getArgNo() == function->arg_size() - stateParameters)
      bytes = sizeof(kbrt::Block);
    else if (original->hasByValAttr())
      bytes = layout.getTypeAllocSize(original->getParamByValType());
  } else if (auto *global = dyn_cast<GlobalVariable>(base)) {
    bytes = layout.getTypeAllocSize(global->getValueType());
  }
  return offset.isNonNegative() &&
         offset.getZExtValue() + layout.getTypeStoreSize(load.getType()) <= bytes;
}

/// How many instructions compute \p value from what every region has; the most if none do.
unsigned BarrierSplitter::costOf(const Value *value,
                                 DenseMap<const Value *, unsigned> &known) const {
  constexpr unsigned never = 1000;
  auto *instruction = dyn_cast<Instruction>(value);
  if (!instruction || isa<AllocaInst>(instruction))
    return 0;
  if (auto it = known.find(value); it != known.end())
    return it->second;
  known[value] = never;
  auto isFixed = [&] {
    if (auto *load = dyn_cast<LoadInst>(instruction))
      return load->hasMetadata(LLVMContext::MD_invariant_load) && isAlwaysThere(*load);
    return !isa<PHINode, FreezeInst>(instruction) && !instruction->mayReadOrWriteMemory() &&
           isSafeToSpeculativelyExecute(instruction);
  };
  if (!isFixed())
    return never;
  unsigned cost = 1;
  for (const Use &operand : instruction->operands())
    cost = std::min(never, cost + costOf(operand, known));
  return known[value] = cost;
}

void BarrierSplitter::hoist(Value *value) {
  auto *instruction = dyn_cast<Instruction>(value);
  if (!instruction || instruction->getParent() == early)
    return;
  for (Use &operand : instruction->operands())
    hoist(operand);
  instruction->dropUBImplyingAttrsAndMetadata({LLVMContext::MD_invariant_load});
  instruction->moveBefore(early->getTerminator()->getIterator());
}

/// Moves to the beginning what regions rather compute again than remember.
void BarrierSplitter::computeEarly() {
  DenseMap<const Value *, unsigned> known;
  SmallVector<Instruction *> found;
  for (Instruction &instruction : instructions(*function)) {
    if (instruction.getParent() == early || instruction.use_empty())
      continue;
    unsigned cost = costOf(&instruction, known);
    if (cost > (uniformity->isUniform(&instruction) ? mostRecomputedUniform : mostRecomputed))
      continue;
    SmallPtrSet<BasicBlock *, 16> live = blocksWhereLive(instruction);
    if (any_of(resumes, [&](BasicBlock *resume) { return live.contains(resume); }))
      found.push_back(&instruction);
  }
  for (Instruction *instruction : found)
    hoist(instruction);
}

/// Gives each value that some thread carries through a stop a place, and a
/// variable in its stead.
void BarrierSplitter::rememberCrossing() {
  MapVector<Instruction *, SmallVector<unsigned>> crossing;
  for (Instruction &instruction : instructions(*function)) {
    if (instruction.getParent() == early || instruction.use_empty() ||
        !instruction.isUsedOutsideOfBlock(instruction.getParent()))
      continue;
    SmallPtrSet<BasicBlock *, 16> live = blocksWhereLive(instruction);
    for (unsigned stop = 0; stop < stops.size(); ++stop)
      if (resumes[stop] && live.contains(resumes[stop]))
        crossing[&instruction].push_back(stop);
  }
  liveAt.resize(stops.size());
  split.slotBytes = sizeof(kbrt::Exchange);
  for (auto &[value, where] : crossing) {
    Type *type = value->getType();
    uint64_t bytes = layout.getTypeAllocSize(type);
    Remembered place;
    place.isUniform = sharesUniforms && uniformity->isUniform(value);
    uint64_t &end = place.isUniform ? split.uniformBytes : split.slotBytes;
    place.offset = alignTo(end, std::max(layout.getABITypeAlign(type), Align(64)));
    if (place.isUniform)
      place.offset = alignTo(end, layout.getABITypeAlign(type));
    end = place.offset + bytes * (place.isUniform ? 1 : maxThreads);
    arraysEscape |= type->isPointerTy() && split.arrayBytes > 0;
    AllocaInst *variable = DemoteRegToStack(*value, false, early->begin());
    kept[variable] = place;
    for (unsigned stop : where)
      liveAt[stop].insert(variable);
  }
}

/// The blocks that a thread executes from \p start to the next stops.
SmallVector<BasicBlock *> BarrierSplitter::blocksFrom(BasicBlock *start) const {
  SetVector<BasicBlock *> found;
  found.insert(start);
  for (unsigned i = 0; i < found.size(); ++i)
    for (BasicBlock *next : successors(found[i]))
      if (!stopBlocks.contains(next))
        found.insert(next);
  return {found.begin(), found.end()};
}

Value *BarrierSplitter::placeOf(IRBuilder<> &b, const Remembered &place, Type *type) {
  Value *index = b.CreateZExt(linear, b.getInt64Ty());
  if (place.isArray)
    return b.CreateInBoundsGEP(b.getInt8Ty(),
                               b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), arrayBase, place.offset),
                               b.CreateMul(index, b.getInt64(place.stride), "", true, true));
  return b.CreateInBoundsGEP(
      type, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), slotBase, place.offset), index);
}

Value *BarrierSplitter::exchangePlace(IRBuilder<> &b, size_t offset, Type *type, bool isUniform) {
  Value *row = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), slotBase, offset);
  return isUniform ? row : b.CreateInBoundsGEP(type, row, b.CreateZExt(linear, b.getInt64Ty()));
}

/// What a thread finds: recomputed values, its arrays, and what it remembered.
void BarrierSplitter::beginRegion(Function &region, BasicBlock &head, unsigned number,
                                  ValueToValueMapTy &map, SmallVectorImpl<AllocaInst *> &slots) {
  IRBuilder<> b(&head);
  for (Instruction &instruction : *early) {
    if (instruction.isTerminator())
      break;
    auto *variable = dyn_cast<AllocaInst>(&instruction);
    if (!variable) {
      Instruction *copy = instruction.clone();
      b.Insert(copy);
      map[&instruction] = copy;
      RemapInstruction(copy, map, RF_NoModuleLevelChanges | RF_IgnoreMissingLocals);
      continue;
    }
    const Remembered &place = kept[variable];
    Type *type = variable->getAllocatedType();
    if (place.isArray) {
      map[variable] = placeOf(b, place, type);
      continue;
    }
    AllocaInst *local = b.CreateAlloca(type);
    map[variable] = local;
    slots.push_back(local);
    if (number == 0 || !liveAt[number - 1].contains(variable))
      continue;
    if (!place.isUniform) {
      b.CreateStore(b.CreateLoad(type, placeOf(b, place, type)), local);
      continue;
    }
    LoadInst *agreed =
        b.CreateLoad(type, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), uniformBase, place.offset));
    agreed->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(c, {}));
    b.CreateStore(agreed, local);
  }
}

/// A thread comes to a stop: it remembers what it will need, and says where it is.
void BarrierSplitter::endAtStop(BasicBlock &exit, unsigned stop, ValueToValueMapTy &map) {
  IRBuilder<> b(&exit);
  for (Instruction &instruction : *stops[stop]->getParent()) {
    if (&instruction == stops[stop])
      break;
    Instruction *copy = instruction.clone(); // loads of what it tells
    b.Insert(copy);
    map[&instruction] = copy;
    RemapInstruction(copy, map, RF_NoModuleLevelChanges | RF_IgnoreMissingLocals);
  }
  for (auto &[variable, place] : kept) {
    if (!liveAt[stop].contains(variable))
      continue;
    Type *type = variable->getAllocatedType();
    Value *value = b.CreateLoad(type, map[variable]);
    b.CreateStore(value, place.isUniform ? b.CreateConstInBoundsGEP1_64(
                                               b.getInt8Ty(), nextUniformBase, place.offset)
                                         : placeOf(b, place, type));
  }
  constexpr size_t rows[] = {offsetof(kbrt::Exchange, mask), offsetof(kbrt::Exchange, value),
                             offsetof(kbrt::Exchange, lane), offsetof(kbrt::Exchange, clamp)};
  for (unsigned i = 0; i < 4; ++i) {
    Value *operand = stops[stop]->getArgOperand(i + 1);
    if (isa<PoisonValue>(operand))
      continue;
    Value *value = MapValue(operand, map, RF_NoModuleLevelChanges);
    b.CreateStore(value, exchangePlace(b, rows[i], value->getType()));
  }
  b.CreateStore(b.getInt32(stop + 1),
                exchangePlace(b, offsetof(kbrt::Exchange, next), b.getInt32Ty()));
  b.CreateRetVoid();
}

/// Between barriers the threads of a correct kernel are independent: no
/// thread's access waits for another's.
void BarrierSplitter::markParallel(Function &region) {
  if (kernel.usesAtomics)
    return;
  if (!split.accessGroup)
    split.accessGroup = MDNode::getDistinct(c, {});
  for (Instruction &instruction : instructions(region))
    if (instruction.mayReadOrWriteMemory())
      instruction.setMetadata(LLVMContext::MD_access_group, split.accessGroup);
}

/// The row of the slots in which \p pointer is the thread's column.
static std::optional<uint64_t> rowOf(const Value *pointer, const Value &slotBase) {
  auto *column = dyn_cast<GEPOperator>(pointer);
  if (!column || column->getNumIndices() != 1 || column->hasAllConstantIndices())
    return std::nullopt;
  APInt offset(64, 0);
  const Value *base = column->getPointerOperand();
  const DataLayout &layout = cast<Argument>(slotBase).getParent()->getDataLayout();
  if (base->stripAndAccumulateConstantOffsets(layout, offset, true) != &slotBase)
    return std::nullopt;
  return offset.getZExtValue();
}

/// Stores of what the same place holds already.
static void removeIdleStores(Function &region, const Value &slotBase) {
  for (Instruction &instruction : make_early_inc_range(instructions(region))) {
    auto *store = dyn_cast<StoreInst>(&instruction);
    auto *load = store ? dyn_cast<LoadInst>(store->getValueOperand()) : nullptr;
    if (!load)
      continue;
    std::optional<uint64_t> row = rowOf(store->getPointerOperand(), slotBase);
    if (row && row == rowOf(load->getPointerOperand(), slotBase))
      store->eraseFromParent();
  }
}

Function *BarrierSplitter::makeRegion(unsigned number) {
  BasicBlock *start = number ? resumes[number - 1] : early->getSingleSuccessor();
  Type *pointer = PointerType::get(c, 0);
  SmallVector<Type *> types(function->getFunctionType()->params());
  types.append({Type::getInt32Ty(c), pointer, pointer, pointer, pointer});
  Function *region = Function::Create(
      FunctionType::get(Type::getVoidTy(c), types, false), GlobalValue::InternalLinkage,
      "kb.region." + Twine(number) + "." + kernel.name, context.module);
  region->addFnAttr(Attribute::NoUnwind);
  ValueToValueMapTy map;
  for (Argument &argument : function->args()) {
    Argument *own = region->getArg(argument.getArgNo());
    AttrBuilder attributes(c, function->getAttributes().getParamAttrs(argument.getArgNo()));
    own->addAttrs(attributes);
    map[&argument] = own;
  }
  unsigned first = function->arg_size();
  linear = region->getArg(first);
  slotBase = region->getArg(first + 1);
  arrayBase = region->getArg(first + 2);
  uniformBase = region->getArg(first + 3);
  nextUniformBase = region->getArg(first + 4);

  BasicBlock *head = BasicBlock::Create(c, "head", region);
  SmallVector<AllocaInst *> slots;
  beginRegion(*region, *head, number, map, slots);
  SmallVector<BasicBlock *> blocks = start ? blocksFrom(start) : SmallVector<BasicBlock *>();
  SmallPtrSet<BasicBlock *, 16> isInside(blocks.begin(), blocks.end());
  SmallVector<unsigned> exits;
  for (unsigned stop = 0; stop < stops.size(); ++stop)
    if (stops[stop] && isInside.contains(stops[stop]->getParent()->getSinglePredecessor())) {
      map[stops[stop]->getParent()] = BasicBlock::Create(c, "stop", region);
      exits.push_back(stop);
    }
  for (BasicBlock *block : blocks)
    map[block] = CloneBasicBlock(block, map, "", region);
  for (BasicBlock *block : blocks) {
    auto *copy = cast<BasicBlock>(map[block]);
    for (PHINode &phi : copy->phis())
      for (unsigned i = phi.getNumIncomingValues(); i-- > 0;)
        if (!isInside.contains(phi.getIncomingBlock(i)))
          phi.removeIncomingValue(i, /*DeletePHIIfEmpty=*/false);
    for (Instruction &instruction : *copy)
      RemapInstruction(&instruction, map, RF_NoModuleLevelChanges | RF_IgnoreMissingLocals);
  }
  for (unsigned stop : exits)
    endAtStop(*cast<BasicBlock>(map[stops[stop]->getParent()]), stop, map);
  for (BasicBlock *block : blocks)
    for (Instruction &instruction : make_early_inc_range(*cast<BasicBlock>(map[block]))) {
      IRBuilder<> b(&instruction);
      if (isa<ReturnInst>(instruction))
        b.CreateStore(b.getInt32(kbrt::Exchange::done),
                      exchangePlace(b, offsetof(kbrt::Exchange, next), b.getInt32Ty()));
      if (std::optional<size_t> row = isStopResult(instruction)) {
        bool isUniform = uniformity->isLockstep() && number &&
                         split.stops[number - 1].kind == kbrt::StopKind::BarrierReduction;
        instruction.replaceAllUsesWith(
            b.CreateLoad(b.getInt32Ty(), exchangePlace(b, *row, b.getInt32Ty(), isUniform)));
        instruction.eraseFromParent();
      }
    }
  IRBuilder<> b(head);
  if (start)
    b.CreateBr(cast<BasicBlock>(map[start]));
  else
    b.CreateRetVoid();
  DominatorTree dominators(*region);
  PromoteMemToReg(slots, dominators);
  removeIdleStores(*region, *slotBase);
  markParallel(*region);
  region->addParamAttr(first + 1, Attribute::NoAlias);
  if (!arraysEscape)
    region->addParamAttr(first + 2, Attribute::NoAlias);
  return region;
}

std::optional<SplitKernel> BarrierSplitter::run() {
  bool isPossible = prepare();
  if (isPossible) {
    isolateStops();
    uniformity = std::make_unique<Uniformity>(*function, stopBlocks, uniformResults);
    computeEarly();
    // Lanes of a warp that wait in groups are not in lockstep with each other.
    sharesUniforms =
        uniformity->isLockstep() && all_of(stops, [&](CallInst *stop) {
          auto *mask = stop ? dyn_cast<ConstantInt>(stop->getArgOperand(1)) : nullptr;
          return !stop || isa<PoisonValue>(stop->getArgOperand(1)) || (mask && mask->isMinusOne());
        });
    rememberCrossing();
    for (unsigned number = 0; number <= stops.size(); ++number)
      split.regions.push_back(makeRegion(number));
  }
  if (function)
    function->eraseFromParent();
  if (!isPossible)
    return std::nullopt;
  return std::move(split);
}

std::optional<SplitKernel> splitAtBarriers(ImageContext &context, Kernel &kernel) {
  return BarrierSplitter(context, kernel).run();
}

} // namespace kbopt::cpu
