//===- KernelParts.cpp - A module as one object for each kernel -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the cut of an image's module into parts: what each kernel runs, and the tables and
// variables. A candidate changes one kernel of several as a rule, and the objects of the others are
// found in the compile cache.
//
//===----------------------------------------------------------------------===//
#include "BarrierSplit.h"
#include "Steps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace kbopt::cpu {

namespace {

/// The functions through which the runtime enters \p kernel.
SmallVector<Function *> entriesOf(const Kernel &kernel) {
  SmallVector<Function *> entries;
  for (Function *entry : {kernel.body, kernel.loop, kernel.countedBody})
    if (entry)
      entries.push_back(entry);
  if (kernel.split)
    append_range(entries, kernel.split->regions);
  return entries;
}

using Globals = SetVector<GlobalValue *>;

/// Adds the variables and functions that \p value names.
void addNamed(const Value *value, Globals &named, SmallPtrSetImpl<const Value *> &seen) {
  if (!isa<Constant>(value) || !seen.insert(value).second)
    return;
  if (auto *global = dyn_cast<GlobalValue>(value)) {
    named.insert(const_cast<GlobalValue *>(global));
    auto *variable = dyn_cast<GlobalVariable>(global);
    if (variable && variable->hasInitializer())
      addNamed(variable->getInitializer(), named, seen);
    return;
  }
  for (const Use &operand : cast<Constant>(value)->operands())
    addNamed(operand.get(), named, seen);
}

/// What the code of \p functions names.
Globals namedBy(ArrayRef<Function *> functions) {
  Globals named;
  SmallPtrSet<const Value *, 32> seen;
  for (Function *function : functions)
    for (Instruction &instruction : instructions(*function))
      for (const Use &operand : instruction.operands())
        addNamed(operand.get(), named, seen);
  return named;
}

/// Whether \p function calls what a pointer leads to.
bool callsIndirectly(const Function &function) {
  return any_of(instructions(function), [](const Instruction &instruction) {
    auto *call = dyn_cast<CallBase>(&instruction);
    return call && !call->getCalledFunction() && !call->isInlineAsm();
  });
}

/// What runs behind \p entries; \p all are the entries of every kernel, which only the runtime
/// calls.
SetVector<Function *> codeBehind(ArrayRef<Function *> entries, const SetVector<Function *> &all) {
  SetVector<Function *> code(entries.begin(), entries.end());
  auto add = [&](Function &function) {
    if (!function.isDeclaration() && !all.contains(&function))
      code.insert(&function);
  };
  bool addedPointers = false;
  for (size_t i = 0; i < code.size(); ++i) {
    for (GlobalValue *named : namedBy(code[i]))
      if (auto *function = dyn_cast<Function>(named))
        add(*function);
    if (addedPointers || !callsIndirectly(*code[i]))
      continue;
    addedPointers = true;
    for (Function &function : *code[i]->getParent())
      if (function.hasAddressTaken())
        add(function);
  }
  return code;
}

/// Whether a copy of \p variable is as good as the variable.
bool isPlainConstant(const GlobalVariable &variable) {
  return variable.isConstant() && variable.hasLocalLinkage() && variable.hasGlobalUnnamedAddr();
}

/// The definitions of \p module that \p takes, as a module of their own. \p entries are seen from
/// outside.
std::unique_ptr<Module> partOf(const Module &module, const SetVector<Function *> &entries,
                               function_ref<bool(const GlobalValue *)> takes) {
  ValueToValueMapTy map;
  std::unique_ptr<Module> part = CloneModule(module, map, takes);
  part->setModuleIdentifier("part");
  part->setSourceFileName("part");
  for (NamedMDNode &list : make_early_inc_range(part->named_metadata()))
    if (list.getName() != "llvm.module.flags")
      part->eraseNamedMetadata(&list);
  for (Function &function : *part) {
    if (function.isDeclaration())
      continue;
    for (Argument &argument : function.args())
      argument.setName("");
    for (BasicBlock &block : function)
      block.setName("");
    for (Instruction &instruction : instructions(function))
      if (!instruction.getType()->isVoidTy())
        instruction.setName("");
  }
  for (Function *entry : entries)
    if (auto *copy = cast_or_null<Function>(map.lookup(entry)); copy && !copy->isDeclaration())
      copy->setLinkage(GlobalValue::ExternalLinkage);
  auto dropUnused = [](auto &&list) {
    for (auto &global : make_early_inc_range(list))
      if (global.isDeclaration() && global.use_empty())
        global.eraseFromParent();
  };
  dropUnused(part->functions());
  dropUnused(part->globals());
  return part;
}

/// Lets other parts see \p global by its name.
void share(GlobalValue &global) {
  if (!global.hasName())
    global.setName("kb.shared");
  if (global.hasLocalLinkage()) {
    global.setLinkage(GlobalValue::ExternalLinkage);
    global.setVisibility(GlobalValue::HiddenVisibility);
    global.setDSOLocal(true);
  }
}

/// The object of \p part, which is kept by the bytes of its bitcode.
Expected<std::string> compilePart(Module &part, TargetMachine &machine, StringRef builder,
                                  CompileCache *compiles) {
  SmallVector<char, 0> bitcode;
  raw_svector_ostream stream(bitcode);
  WriteBitcodeToFile(part, stream);
  Digest key = DigestBuilder()
                   .add("part of a CPU image")
                   .add(builder)
                   .add(machine.getTargetCPU())
                   .add(machine.getTargetFeatureString())
                   .add(stream.str())
                   .finish();
  Expected<CompileOutcome> outcome = compileThrough(compiles, key, [&]() -> Expected<NewCompile> {
    Expected<std::string> object = compileForHost(part, machine);
    if (!object)
      return object.takeError();
    NewCompile made;
    made.outcome.outputs["object"] = std::move(*object);
    return made;
  });
  if (!outcome)
    return outcome.takeError();
  return std::move(outcome->outputs["object"]);
}

} // namespace

Expected<std::vector<std::string>> compileParts(ImageContext &context, TargetMachine &machine,
                                                StringRef builder, CompileCache *compiles) {
  std::vector<std::string> objects;
  auto add = [&](Module &part) -> Error {
    Expected<std::string> object = compilePart(part, machine, builder, compiles);
    if (!object)
      return object.takeError();
    objects.push_back(std::move(*object));
    return Error::success();
  };
  if (context.kernels.size() < 2 || !compiles) {
    Expected<std::string> object = compileForHost(context.module, machine);
    if (!object)
      return object.takeError();
    return std::vector<std::string>{std::move(*object)};
  }

  SetVector<Function *> entries;
  std::vector<SetVector<Function *>> code; // of each kernel
  Globals used;
  for (const Kernel &kernel : context.kernels)
    entries.insert_range(entriesOf(kernel));
  for (const Kernel &kernel : context.kernels) {
    code.push_back(codeBehind(entriesOf(kernel), entries));
    for (GlobalValue *global : namedBy(code.back().getArrayRef()))
      used.insert(global);
  }
  for (Function *entry : entries)
    share(*entry);
  for (GlobalValue *global : used)
    if (auto *variable = dyn_cast<GlobalVariable>(global); variable && !isPlainConstant(*variable))
      share(*variable);

  for (const SetVector<Function *> &reached : code) {
    SmallPtrSet<const GlobalValue *, 32> taken(reached.begin(), reached.end());
    for (GlobalValue *global : namedBy(reached.getArrayRef()))
      if (auto *variable = dyn_cast<GlobalVariable>(global); variable && isPlainConstant(*variable))
        taken.insert(variable);
    std::unique_ptr<Module> part = partOf(
        context.module, entries, [&](const GlobalValue *global) { return taken.contains(global); });
    if (Error error = add(*part))
      return std::move(error);
  }
  // Variables may hold the address of a function; the tables hold those of the entries.
  SmallVector<Function *> pointedTo;
  for (Function &function : context.module)
    if (!function.isDeclaration() && function.hasAddressTaken() && !entries.contains(&function))
      pointedTo.push_back(&function);
  const SetVector<Function *> kept = codeBehind(pointedTo, entries);
  std::unique_ptr<Module> rest = partOf(context.module, entries, [&](const GlobalValue *global) {
    auto *function = dyn_cast<Function>(global);
    return !function || kept.contains(const_cast<Function *>(function));
  });
  if (Error error = add(*rest))
    return std::move(error);
  return objects;
}

} // namespace kbopt::cpu
