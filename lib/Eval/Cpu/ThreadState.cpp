//===- ThreadState.cpp - Where a function finds its thread ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ThreadState.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include <cstddef>

using namespace llvm;

namespace kbopt::cpu {

static constexpr StringLiteral stateAttribute = "kb-thread-state";

Function *addStateParameters(Function &kernel) {
  LLVMContext &c = kernel.getContext();
  Type *pointer = PointerType::get(c, 0), *i32 = Type::getInt32Ty(c);
  SmallVector<Type *> types(kernel.getFunctionType()->params());
  unsigned own = types.size();
  types.append({pointer, pointer, i32, i32, i32});
  Function *result = Function::Create(FunctionType::get(kernel.getReturnType(), types, false),
                                      GlobalValue::InternalLinkage, "", kernel.getParent());
  std::string name = kernel.getName().str();
  kernel.setName("");
  result->setName("kb.kernel." + name);
  result->setAttributes(kernel.getAttributes());
  result->splice(result->begin(), &kernel);
  for (unsigned i = 0; i < own; ++i) {
    kernel.getArg(i)->replaceAllUsesWith(result->getArg(i));
    result->getArg(i)->takeName(kernel.getArg(i));
  }
  const char *names[] = {"kb.block", "kb.thread", "kb.tid.x", "kb.tid.y", "kb.tid.z"};
  for (unsigned i = 0; i < stateParameters; ++i)
    result->getArg(own + i)->setName(names[i]);
  // CUDA's limits on a block's shape.
  unsigned limits[] = {1024, 1024, 64};
  for (unsigned i = 0; i < 3; ++i)
    result->addParamAttr(
        own + 2 + i,
        Attribute::get(c, Attribute::Range, ConstantRange(APInt(32, 0), APInt(32, limits[i]))));
  for (unsigned i = 0; i < 2; ++i)
    result->addParamAttr(own + i, Attribute::NonNull);
  result->addFnAttr(stateAttribute);
  result->setSubprogram(kernel.getSubprogram());
  kernel.setSubprogram(nullptr);
  kernel.replaceAllUsesWith(ConstantPointerNull::get(kernel.getType()));
  kernel.eraseFromParent();
  return result;
}

ThreadState::ThreadState(ImageContext &context, Function &function)
    : context(context), function(function), kernel(function.hasFnAttribute(stateAttribute)),
      builder(function.getContext()) {}

IRBuilder<> &ThreadState::atEntry() {
  BasicBlock &entry = function.getEntryBlock();
  if (!anchor) {
    // A marker that stays in place while code is put before it.
    builder.SetInsertPoint(&entry, entry.begin());
    anchor =
        cast<Instruction>(builder.CreateFreeze(PoisonValue::get(builder.getInt1Ty()), "kb.state"));
  }
  builder.SetInsertPoint(anchor);
  if (DISubprogram *subprogram = function.getSubprogram())
    builder.SetCurrentDebugLocation(DILocation::get(function.getContext(), 0, 0, subprogram));
  return builder;
}

Value *ThreadState::thread() {
  if (kernel)
    return function.getArg(function.arg_size() - stateParameters + 1);
  if (!threadValue) {
    Type *pointer = PointerType::get(function.getContext(), 0);
    Constant *current = context.module.getOrInsertGlobal("kbrt_current", pointer);
    threadValue = atEntry().CreateLoad(pointer, current, "kb.thread");
  }
  return threadValue;
}

Value *ThreadState::block() {
  if (kernel)
    return function.getArg(function.arg_size() - stateParameters);
  if (!blockValue) {
    Value *self = thread();
    blockValue = loadField(atEntry(), PointerType::get(function.getContext(), 0), self,
                           offsetof(kbrt::Thread, block), "kb.block");
  }
  return blockValue;
}

Value *ThreadState::tid(unsigned dimension) {
  if (kernel)
    return function.getArg(function.arg_size() - 3 + dimension);
  if (!tids[dimension]) {
    Value *self = thread();
    // Not invariant: another thread may call the function next.
    IRBuilder<> &at = atEntry();
    tids[dimension] = at.CreateLoad(
        at.getInt32Ty(),
        at.CreateConstGEP1_64(at.getInt8Ty(), self, offsetof(kbrt::Thread, tid) + 4 * dimension),
        "kb.tid");
  }
  return tids[dimension];
}

Value *ThreadState::field(Type *type, size_t blockOffset, const char *name) {
  Value *&value = fields[blockOffset];
  if (!value) {
    Value *base = block();
    value = loadField(atEntry(), type, base, blockOffset, name);
  }
  return value;
}

Value *ThreadState::ntid(unsigned d) {
  return field(builder.getInt32Ty(), offsetof(kbrt::Block, ntid) + 4 * d, "kb.ntid");
}
Value *ThreadState::ctaid(unsigned d) {
  return field(builder.getInt32Ty(), offsetof(kbrt::Block, ctaid) + 4 * d, "kb.ctaid");
}
Value *ThreadState::nctaid(unsigned d) {
  return field(builder.getInt32Ty(), offsetof(kbrt::Block, nctaid) + 4 * d, "kb.nctaid");
}
Value *ThreadState::sharedBase() {
  return field(builder.getPtrTy(), offsetof(kbrt::Block, shared), "kb.shared");
}
Value *ThreadState::dynamicShared() {
  return field(builder.getPtrTy(), offsetof(kbrt::Block, dynamicShared), "kb.dynamicShared");
}

Value *ThreadState::linear() {
  if (linearValue)
    return linearValue;
  Value *nx = ntid(0), *ny = ntid(1), *x = tid(0), *y = tid(1), *z = tid(2);
  IRBuilder<> &at = atEntry();
  Value *rows = at.CreateAdd(y, at.CreateMul(ny, z));
  return linearValue = at.CreateAdd(x, at.CreateMul(nx, rows), "kb.linear");
}

ThreadState &ThreadStates::of(Function &function) {
  std::unique_ptr<ThreadState> &state = states[&function];
  if (!state)
    state = std::make_unique<ThreadState>(context, function);
  return *state;
}

} // namespace kbopt::cpu
