//===- DeviceModule.cpp - Device code prepared for analysis ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the analysis pipeline over device bitcode. It duplicates, merges and
// moves no memory access, so that each one still stands for one in the source.
//
//===----------------------------------------------------------------------===//
#include "DeviceModule.h"

#include "kb-opt/Support/AnalysisManagers.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/Scalar/DCE.h"
#include "llvm/Transforms/Scalar/InstSimplifyPass.h"
#include "llvm/Transforms/Scalar/JumpThreading.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/LCSSA.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"

using namespace llvm;

namespace kbopt::analysis {

bool isLibdevice(const Function &function) { return function.getName().starts_with("__nv_"); }

/// Everything but libdevice and kernels becomes part of its callers.
static void requestInlining(Module &module) {
  for (Function &function : module) {
    for (Instruction &inst : instructions(function))
      if (auto *call = dyn_cast<CallBase>(&inst))
        call->removeFnAttr(Attribute::NoInline);
    if (function.isDeclaration() || function.getCallingConv() == CallingConv::PTX_Kernel)
      continue;
    function.removeFnAttr(Attribute::OptimizeNone);
    function.removeFnAttr(isLibdevice(function) ? Attribute::AlwaysInline : Attribute::NoInline);
    function.addFnAttr(isLibdevice(function) ? Attribute::NoInline : Attribute::AlwaysInline);
  }
}

/// Special registers are read once, in the entry block: one value per register
/// lets scalar evolution see that two expressions are the same.
static void mergeSpecialRegisters(Function &kernel) {
  DenseMap<Function *, CallInst *> first;
  for (Instruction &inst : make_early_inc_range(instructions(kernel))) {
    auto *call = dyn_cast<CallInst>(&inst);
    Function *callee = call ? call->getCalledFunction() : nullptr;
    if (!callee || !callee->isIntrinsic() || !call->arg_empty() ||
        !callee->getName().starts_with("llvm.nvvm.read.ptx.sreg.") ||
        callee->getName().contains("clock") || callee->getName().contains("timer"))
      continue;
    CallInst *&kept = first[callee];
    if (!kept) {
      kept = call;
      call->moveBefore(kernel.getEntryBlock().getFirstNonPHIIt());
    } else {
      call->replaceAllUsesWith(kept);
      call->eraseFromParent();
    }
  }
}

/// A struct parameter is constant memory. Reads of its fields move to the entry
/// block, one per field, unless something writes to the struct.
static void mergeParameterReads(Function &kernel) {
  const DataLayout &layout = kernel.getDataLayout();
  for (Argument &argument : kernel.args()) {
    if (!argument.hasByValAttr())
      continue;
    bool readOnly = true;
    SmallVector<std::pair<LoadInst *, int64_t>> loads;
    SmallVector<std::pair<Value *, int64_t>> work = {{&argument, 0}};
    while (!work.empty() && readOnly) {
      auto [pointer, offset] = work.pop_back_val();
      for (User *user : pointer->users()) {
        if (auto *load = dyn_cast<LoadInst>(user)) {
          if (offset >= 0 && load->isSimple())
            loads.emplace_back(load, offset);
        } else if (auto *gep = dyn_cast<GetElementPtrInst>(user)) {
          APInt delta(64, 0);
          bool constant = offset >= 0 && gep->accumulateConstantOffset(layout, delta);
          work.emplace_back(gep, constant ? offset + delta.getSExtValue() : -1);
        } else if (isa<AddrSpaceCastInst>(user)) {
          work.emplace_back(user, offset);
        } else if (auto *copy = dyn_cast<MemCpyInst>(user)) {
          readOnly &= copy->getRawDest() != pointer;
        } else {
          readOnly = false;
        }
      }
    }
    if (!readOnly)
      continue;
    std::map<std::pair<int64_t, Type *>, Value *> merged;
    IRBuilder<> builder(&*kernel.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    for (auto [load, offset] : loads) {
      Value *&kept = merged[{offset, load->getType()}];
      if (!kept) {
        Value *address =
            offset ? builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), &argument, offset)
                   : &argument;
        auto *copy = builder.CreateAlignedLoad(load->getType(), address, load->getAlign(),
                                               argument.getName() + ".field");
        copy->setMetadata("kb.param", MDNode::get(kernel.getContext(), {}));
        kept = copy;
      }
      load->replaceAllUsesWith(kept);
      load->eraseFromParent();
    }
  }
}

static void dropLifetimes(Function &kernel) {
  for (Instruction &inst : make_early_inc_range(instructions(kernel)))
    if (auto *intrinsic = dyn_cast<IntrinsicInst>(&inst))
      if (intrinsic->isLifetimeStartOrEnd() ||
          intrinsic->getIntrinsicID() == Intrinsic::experimental_noalias_scope_decl)
        intrinsic->eraseFromParent();
}

static void prepare(Module &module) {
  requestInlining(module);
  PassBuilder builder;
  kbopt::AnalysisManagers analyses(builder);
  AlwaysInlinerPass(/*InsertLifetime=*/false).run(module, analyses.modules);
  analyses.modules.clear();
  analyses.functions.clear();

  SimplifyCFGOptions keepShape;
  keepShape.speculateBlocks(false).setSimplifyCondBranch(false);
  FunctionPassManager first, second;
  first.addPass(SROAPass(SROAOptions::ModifyCFG));
  first.addPass(InstSimplifyPass());
  second.addPass(SROAPass(SROAOptions::ModifyCFG));
  second.addPass(InstSimplifyPass());
  second.addPass(SimplifyCFGPass(keepShape));
  // Threads `return` and `break` through clang's cleanup switches; with no
  // budget it copies nothing else.
  second.addPass(JumpThreadingPass(/*Threshold=*/0));
  second.addPass(SimplifyCFGPass(keepShape));
  second.addPass(DCEPass());
  second.addPass(LoopSimplifyPass());
  second.addPass(LCSSAPass());
  for (Function &function : module) {
    if (function.isDeclaration() || function.getCallingConv() != CallingConv::PTX_Kernel)
      continue;
    dropLifetimes(function);
    first.run(function, analyses.functions);
    analyses.functions.clear(function, function.getName());
    mergeSpecialRegisters(function);
    mergeParameterReads(function);
    second.run(function, analyses.functions);
  }
}

Expected<std::unique_ptr<DeviceModule>> DeviceModule::create(StringRef bitcode) {
  std::unique_ptr<DeviceModule> result(new DeviceModule);
  auto module = parseBitcodeFile(MemoryBufferRef(bitcode, "device"), result->context);
  if (!module)
    return make_error<ToolError>("cannot read the device bitcode: " + toString(module.takeError()),
                                 std::vector<std::string>{"clang"}, 0, "");
  result->contents = std::move(*module);
  for (Function &function : *result->contents)
    if (DISubprogram *scope = function.getSubprogram())
      result->names[scope] = function.getName().str();
  prepare(*result->contents);
  return result;
}

Function *DeviceModule::kernel(StringRef mangledName) const {
  Function *function = contents->getFunction(mangledName);
  return function && !function->isDeclaration() &&
                 function->getCallingConv() == CallingConv::PTX_Kernel
             ? function
             : nullptr;
}

StringRef DeviceModule::functionName(const DISubprogram *scope) const {
  auto it = names.find(scope);
  return it == names.end() ? StringRef() : StringRef(it->second);
}

} // namespace kbopt::analysis
