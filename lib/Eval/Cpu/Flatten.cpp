//===- Flatten.cpp - One address space, variables behind slots ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns where shared arrays and variables live in an image, and the removal of
// NVPTX's address spaces from types.
//
//===----------------------------------------------------------------------===//
#include "Steps.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/ReplaceConstant.h"

using namespace llvm;

namespace kbopt::cpu {

namespace {
class Flattener {
public:
  Flattener(ImageContext &context, ThreadStates &states)
      : context(context), states(states), module(context.module), layout(module.getDataLayout()) {}
  void run();

private:
  void expandConstants();
  void layOutShared();
  void placeVariables();
  Constant *flattenInitializer(Constant *initializer, uint64_t at,
                               std::vector<Relocation> &relocations);
  void refuseUndefined();
  void eraseOldVariables();
  void replaceInFunctions(GlobalVariable &global, function_ref<Value *(ThreadState &)> place);
  void flattenFunction(Function &function);
  Type *flat(Type *type) const;

  ImageContext &context;
  ThreadStates &states;
  Module &module;
  const DataLayout &layout;
  DenseMap<GlobalVariable *, GlobalVariable *> images; ///< old to new, inside the image
};
} // namespace

Type *Flattener::flat(Type *type) const {
  if (auto *pointer = dyn_cast<PointerType>(type))
    return PointerType::get(pointer->getContext(), 0);
  if (auto *vector = dyn_cast<VectorType>(type); vector && vector->isPtrOrPtrVectorTy())
    return VectorType::get(PointerType::get(type->getContext(), 0), vector->getElementCount());
  return type;
}

void Flattener::expandConstants() {
  SmallVector<Constant *> globals;
  for (GlobalVariable &global : module.globals())
    if (!global.getName().starts_with("llvm."))
      globals.push_back(&global);
  convertUsersOfConstantsToInstructions(globals);
}

void Flattener::replaceInFunctions(GlobalVariable &global,
                                   function_ref<Value *(ThreadState &)> place) {
  DenseMap<Function *, Value *> placed;
  SmallVector<Use *> uses;
  for (Use &use : global.uses())
    if (isa<Instruction>(use.getUser()))
      uses.push_back(&use);
  for (Use *use : uses) {
    Function *function = cast<Instruction>(use->getUser())->getFunction();
    Value *&value = placed[function];
    if (!value)
      value = place(states.of(*function));
    use->set(value);
  }
}

/// Arrays of one kernel begin behind those that several kernels share.
void Flattener::layOutShared() {
  struct Array {
    GlobalVariable *global;
    SmallVector<unsigned> kernels;
    uint64_t offset = 0;
  };
  std::vector<Array> arrays;
  std::vector<std::vector<Function *>> reached;
  for (Kernel &kernel : context.kernels) {
    reached.push_back(context.reachableFrom(*kernel.function));
    if (kernel.counted)
      for (Function *function : context.reachableFrom(*kernel.counted))
        reached.back().push_back(function);
  }
  for (GlobalVariable &global : module.globals()) {
    if (global.getAddressSpace() != Shared)
      continue;
    SmallPtrSet<Function *, 8> users;
    for (User *user : global.users())
      if (auto *instruction = dyn_cast<Instruction>(user))
        users.insert(instruction->getFunction());
    Array array{&global, {}};
    for (unsigned k = 0; k < reached.size(); ++k)
      if (any_of(reached[k], [&](Function *f) { return users.contains(f); }))
        array.kernels.push_back(k);
    arrays.push_back(std::move(array));
  }
  auto isDynamic = [](const Array &array) { return array.global->isDeclaration(); };
  auto alignOf = [&](const Array &array) {
    return std::max<uint64_t>(layout.getPreferredAlign(array.global).value(), 16);
  };
  auto sizeOf = [&](const Array &array) {
    return layout.getTypeAllocSize(array.global->getValueType()).getFixedValue();
  };
  uint64_t common = 0;
  std::vector<uint64_t> spans(context.kernels.size());
  for (bool shared : {true, false}) {
    for (Array &array : arrays) {
      if (isDynamic(array) || (array.kernels.size() > 1) != shared || array.kernels.empty())
        continue;
      uint64_t &end = shared ? common : spans[array.kernels[0]];
      array.offset = alignTo(end, alignOf(array));
      end = array.offset + sizeOf(array);
    }
    if (shared)
      spans.assign(spans.size(), common);
  }
  for (unsigned k = 0; k < spans.size(); ++k)
    context.kernels[k].sharedSpan = alignTo(spans[k], 1024);
  for (Array &array : arrays) {
    SharedArray entry;
    entry.offset = array.offset;
    entry.bytes = isDynamic(array) ? 0 : sizeOf(array);
    entry.align = array.global->getAlign().valueOrOne().value();
    StringRef name = array.global->getName();
    entry.name = name.str();
    SmallVector<DIGlobalVariableExpression *, 1> expressions;
    array.global->getDebugInfo(expressions);
    if (!expressions.empty()) {
      entry.name = expressions[0]->getVariable()->getName().str();
      entry.line = expressions[0]->getVariable()->getLine();
    }
    Type *element = array.global->getValueType();
    while (auto *type = dyn_cast<ArrayType>(element))
      element = type->getElementType();
    raw_string_ostream(entry.elementType) << *element;
    for (unsigned k : array.kernels) {
      context.kernels[k].shared.push_back(entry);
      if (isDynamic(array))
        context.kernels[k].usesDynamicShared = true;
      else
        context.kernels[k].staticSharedBytes =
            alignTo(context.kernels[k].staticSharedBytes, entry.align) + entry.bytes;
    }
    replaceInFunctions(*array.global, [&](ThreadState &state) -> Value * {
      if (isDynamic(array))
        return state.dynamicShared();
      Value *base = state.sharedBase();
      return state.atEntry().CreateConstInBoundsGEP1_64(Type::getInt8Ty(module.getContext()), base,
                                                        array.offset, entry.name);
    });
  }
}

/// The same constant with every pointer in address space 0. A pointer to a
/// variable of the arena becomes null and a relocation.
Constant *Flattener::flattenInitializer(Constant *initializer, uint64_t at,
                                        std::vector<Relocation> &relocations) {
  Type *type = initializer->getType();
  if (isa<UndefValue>(initializer))
    return Constant::getNullValue(flat(type));
  if (type->isPointerTy()) {
    APInt offset(layout.getIndexTypeSizeInBits(type), 0);
    Value *base = initializer->stripAndAccumulateConstantOffsets(layout, offset, true);
    if (auto *global = dyn_cast<GlobalVariable>(base)) {
      if (GlobalVariable *data = images.lookup(global))
        return ConstantExpr::getGetElementPtr(Type::getInt8Ty(type->getContext()), data,
                                              ConstantInt::get(type->getContext(), offset));
      for (unsigned i = 0; i < context.variables.size(); ++i)
        if (context.variables[i].global == global)
          relocations.push_back({unsigned(at), i, offset.getSExtValue()});
    } else if (isa<Function>(base)) {
      return cast<Constant>(base);
    }
    return ConstantPointerNull::get(PointerType::get(type->getContext(), 0));
  }
  if (!isa<ConstantAggregate>(initializer))
    return initializer;
  SmallVector<Constant *> elements;
  for (Use &operand : initializer->operands()) {
    unsigned index = operand.getOperandNo();
    uint64_t offset = isa<StructType>(type)
                          ? layout.getStructLayout(cast<StructType>(type))
                                ->getElementOffset(index)
                                .getFixedValue()
                          : index * layout.getTypeAllocSize(operand->getType()).getFixedValue();
    elements.push_back(flattenInitializer(cast<Constant>(operand), at + offset, relocations));
  }
  if (auto *structure = dyn_cast<StructType>(type))
    return ConstantStruct::get(structure, elements);
  if (auto *array = dyn_cast<ArrayType>(type))
    return ConstantArray::get(array, elements);
  return ConstantVector::get(elements);
}

/// Whether \p initializer points to a variable that is not in the image.
static bool pointsToArena(const Constant &initializer,
                          const SmallPtrSetImpl<const GlobalVariable *> &images) {
  if (auto *global = dyn_cast<GlobalVariable>(&initializer))
    return !images.contains(global);
  return any_of(initializer.operands(), [&](const Use &operand) {
    auto *constant = dyn_cast<Constant>(operand);
    return constant && !isa<Function>(constant) && pointsToArena(*constant, images);
  });
}

void Flattener::placeVariables() {
  PointerType *pointer = PointerType::get(module.getContext(), 0);
  SmallPtrSet<const GlobalVariable *, 16> candidates;
  for (Variable &variable : context.variables)
    if (variable.kind == kbrt::VariableKind::Image && variable.global->isConstant())
      candidates.insert(variable.global);
  for (bool changed = true; changed;) {
    changed = false;
    for (Variable &variable : context.variables)
      if (candidates.contains(variable.global) &&
          pointsToArena(*variable.global->getInitializer(), candidates))
        changed |= candidates.erase(variable.global);
  }
  for (Variable &variable : context.variables) {
    bool isImage = candidates.contains(variable.global);
    if (isImage || !isa<UndefValue>(variable.global->getInitializer())) {
      variable.initial = new GlobalVariable(
          module, variable.global->getValueType(), true, GlobalValue::InternalLinkage, nullptr,
          (isImage ? "kb.image." : "kb.initial.") + variable.name);
      variable.initial->setAlignment(variable.global->getAlign());
    }
    if (isImage)
      images[variable.global] = variable.initial;
    else if (variable.kind == kbrt::VariableKind::Image)
      variable.kind = kbrt::VariableKind::Device;
  }
  for (Variable &variable : context.variables)
    if (variable.initial)
      variable.initial->setInitializer(
          flattenInitializer(variable.global->getInitializer(), 0, variable.relocations));
  for (Variable &variable : context.variables) {
    GlobalVariable *data = images.lookup(variable.global);
    variable.slot = new GlobalVariable(module, pointer, false, GlobalValue::InternalLinkage,
                                       data ? (Constant *)data : ConstantPointerNull::get(pointer),
                                       "kb.slot." + variable.name);
    variable.slot->setExternallyInitialized(true);
    replaceInFunctions(*variable.global, [&](ThreadState &state) -> Value * {
      if (data)
        return data;
      return loadField(state.atEntry(), pointer, variable.slot, 0, variable.name);
    });
  }
}

/// A variable that another translation unit defines.
void Flattener::refuseUndefined() {
  for (GlobalVariable &global : module.globals()) {
    if (!global.isDeclaration() || global.getAddressSpace() == Shared ||
        global.getName().starts_with("kbrt_") || global.getName().starts_with("llvm."))
      continue;
    SmallVector<Use *> uses;
    for (Use &use : global.uses())
      if (isa<Instruction>(use.getUser()))
        uses.push_back(&use);
    for (Use *use : uses) {
      auto *user = cast<Instruction>(use->getUser());
      IRBuilder<> builder(user->getContext());
      if (isa<PHINode>(user))
        builder.SetInsertPoint(user->getParent()->getFirstInsertionPt());
      else
        builder.SetInsertPoint(user);
      builder.SetCurrentDebugLocation(user->getDebugLoc());
      context.emitUnsupported(builder, *user, ("extern variable " + global.getName()).str(),
                              builder.getVoidTy());
      use->set(PoisonValue::get(builder.getPtrTy()));
    }
  }
}

void Flattener::eraseOldVariables() {
  SmallVector<GlobalVariable *> old;
  for (GlobalVariable &global : module.globals())
    if (global.getAddressSpace() != Flat ||
        any_of(context.variables, [&](Variable &v) { return v.global == &global; }))
      old.push_back(&global);
  for (GlobalVariable *global : old)
    global->setInitializer(nullptr);
  for (GlobalVariable *global : old) {
    global->replaceAllUsesWith(PoisonValue::get(global->getType()));
    global->eraseFromParent();
  }
  for (Variable &variable : context.variables)
    variable.global = nullptr;
}

/// Addresses of shared memory become numbers, and numbers become such addresses, as on a GPU: there
/// they are offsets.
static void countFromWindow(Function &function) {
  SmallVector<CastInst *> conversions;
  for (Instruction &instruction : instructions(function))
    if (auto *cast = dyn_cast<CastInst>(&instruction))
      if ((isa<PtrToIntInst>(cast) && cast->getSrcTy()->getPointerAddressSpace() == Shared) ||
          (isa<IntToPtrInst>(cast) && cast->getDestTy()->getPointerAddressSpace() == Shared))
        conversions.push_back(cast);
  for (CastInst *cast : conversions) {
    if (cast->getType()->isVectorTy())
      continue;
    if (isa<PtrToIntInst>(cast)) {
      IRBuilder<> b(cast->getNextNode());
      const unsigned bits = cast->getType()->getIntegerBitWidth();
      if (bits <= 32)
        continue;
      Value *masked = b.CreateAnd(cast, ConstantInt::get(cast->getType(), kbrt::sharedOffsetMask));
      cast->replaceUsesWithIf(masked, [&](Use &use) { return use.getUser() != masked; });
      continue;
    }
    IRBuilder<> b(cast);
    Value *offset = b.CreateZExtOrTrunc(cast->getOperand(0), b.getInt32Ty());
    cast->setOperand(
        0, b.CreateOr(b.CreateZExt(offset, b.getInt64Ty()), b.getInt64(kbrt::sharedWindow)));
  }
}

void Flattener::flattenFunction(Function &function) {
  countFromWindow(function);
  SmallVector<Instruction *> casts, intrinsics;
  for (Instruction &instruction : instructions(function)) {
    instruction.mutateType(flat(instruction.getType()));
    for (Use &operand : instruction.operands()) {
      auto *constant = dyn_cast<Constant>(operand.get());
      if (!constant || constant->getType() == flat(constant->getType()) ||
          isa<GlobalValue>(constant))
        continue;
      Type *type = flat(constant->getType());
      if (isa<PoisonValue>(constant))
        operand.set(PoisonValue::get(type));
      else if (isa<UndefValue>(constant))
        operand.set(UndefValue::get(type));
      else if (auto *expression = dyn_cast<ConstantExpr>(constant);
               expression && expression->getOpcode() == Instruction::IntToPtr)
        operand.set(ConstantExpr::getIntToPtr(expression->getOperand(0), type));
      else
        operand.set(Constant::getNullValue(type));
    }
    if (isa<AddrSpaceCastInst>(instruction))
      casts.push_back(&instruction);
    else if (auto *call = dyn_cast<CallInst>(&instruction);
             call && call->getCalledFunction() && call->getCalledFunction()->isIntrinsic())
      intrinsics.push_back(call);
  }
  for (Instruction *cast : casts) {
    cast->replaceAllUsesWith(cast->getOperand(0));
    cast->eraseFromParent();
  }
  for (Instruction *instruction : intrinsics) {
    auto *call = cast<CallInst>(instruction);
    FunctionType *type = call->getFunctionType();
    SmallVector<Type *> parameters;
    for (Value *argument : call->args())
      parameters.push_back(argument->getType());
    auto *actual = FunctionType::get(call->getType(), parameters, type->isVarArg());
    if (actual == type)
      continue;
    SmallVector<Type *> overloads;
    Intrinsic::ID id = call->getIntrinsicID();
    if (Intrinsic::getIntrinsicSignature(id, actual, overloads))
      call->setCalledFunction(Intrinsic::getOrInsertDeclaration(&module, id, overloads));
  }
}

void Flattener::run() {
  expandConstants();
  layOutShared();
  placeVariables();
  refuseUndefined();
  for (Function &function : module)
    if (!function.isDeclaration())
      flattenFunction(function);
  eraseOldVariables();
}

void flattenMemory(ImageContext &context, ThreadStates &states) {
  Flattener(context, states).run();
}

} // namespace kbopt::cpu
