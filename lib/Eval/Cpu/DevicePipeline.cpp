//===- DevicePipeline.cpp - Optimising device code as nvcc would ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what happens to NVPTX code before it is instrumented: reflection,
// visibility, inlining, O2 without unrolling and vectorisation, contraction.
//
//===----------------------------------------------------------------------===//
#include "OracleLanes.h"
#include "Steps.h"
#include "kb-opt/Support/AnalysisManagers.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/Analysis/CallGraph.h"
#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/IPO/StripDeadPrototypes.h"
#include "llvm/Transforms/Scalar/DCE.h"
#include "llvm/Transforms/Scalar/InferAddressSpaces.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include "llvm/Transforms/Vectorize/LoadStoreVectorizer.h"
#include <mutex>

using namespace llvm;

namespace kbopt::cpu {

static uint64_t moduleFlag(const Module &module, StringRef name) {
  if (auto *flag = mdconst::extract_or_null<ConstantInt>(module.getModuleFlag(name)))
    return flag->getZExtValue();
  return 0;
}

/// Value of a reflection parameter: nvcc's default of IEEE division and square
/// root, and the user's -ftz.
static uint64_t reflect(const ImageContext &context, StringRef name) {
  if (name == "__CUDA_FTZ")
    return context.flushDenormals;
  if (name == "__CUDA_PREC_DIV" || name == "__CUDA_PREC_SQRT")
    return 1;
  if (name == "__CUDA_ARCH") {
    for (const Kernel &kernel : context.kernels) {
      unsigned number = 0;
      StringRef cpu = kernel.function->getFnAttribute("target-cpu").getValueAsString();
      cpu.consume_front("sm_");
      if (!cpu.take_while([](char c) { return c >= '0' && c <= '9'; }).getAsInteger(10, number))
        return number * 10;
    }
    return 900;
  }
  return 0;
}

static void resolveReflection(ImageContext &context) {
  SmallVector<CallInst *> calls;
  for (Function &function : context.module)
    if (function.getName() == "__nvvm_reflect" ||
        function.getName().starts_with("llvm.nvvm.reflect"))
      for (User *user : function.users())
        if (auto *call = dyn_cast<CallInst>(user))
          calls.push_back(call);
  for (CallInst *call : calls) {
    StringRef name;
    const Value *text = getUnderlyingObject(call->getArgOperand(0), 0);
    if (auto *global = dyn_cast<GlobalVariable>(text))
      getConstantStringInfo(global, name);
    call->replaceAllUsesWith(ConstantInt::get(call->getType(), reflect(context, name)));
    call->eraseFromParent();
  }
}

/// Everything that no recursion forbids is inlined, as nvcc nearly does, unless
/// the whole would grow beyond measure.
static void chooseInlining(ImageContext &context) {
  constexpr uint64_t largeFunction = 400, largeExpansion = 400000;
  CallGraph graph(context.module);
  DenseMap<Function *, uint64_t> expanded;
  for (scc_iterator<CallGraph *> it = scc_begin(&graph); !it.isAtEnd(); ++it) {
    bool recursive = it.hasCycle();
    for (CallGraphNode *node : *it) {
      Function *function = node->getFunction();
      if (!function || function->isDeclaration())
        continue;
      function->removeFnAttr(Attribute::NoInline);
      function->removeFnAttr(Attribute::OptimizeNone);
      function->removeFnAttr(Attribute::AlwaysInline);
      uint64_t size = function->getInstructionCount();
      for (auto &[call, callee] : *node)
        if (Function *target = callee->getFunction())
          size += expanded.lookup(target);
      expanded[function] = size;
      if (function->getCallingConv() == CallingConv::PTX_Kernel || recursive)
        continue;
      if (context.mode == kbrt::ImageMode::Oracle && libraryOperation(function->getName())) {
        expanded[function] = 1;
        continue;
      }
      if (size < largeFunction || size < largeExpansion)
        function->addFnAttr(Attribute::AlwaysInline);
      else
        expanded[function] = 1;
    }
  }
}

/// C++ leaves shifts by the width or more undefined and LLVM may fold them to
/// anything; nvcc emits shl and shr, which clamp the amount. So do they here,
/// before anything is folded.
static void clampShifts(Module &module) {
  SmallVector<BinaryOperator *> shifts;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *shift = dyn_cast<BinaryOperator>(&instruction);
          shift && shift->isShift() && shift->getType()->isIntegerTy())
        shifts.push_back(shift);
  for (BinaryOperator *shift : shifts) {
    Type *type = shift->getType();
    unsigned bits = type->getIntegerBitWidth();
    Value *amount = shift->getOperand(1);
    if (auto *known = dyn_cast<ConstantInt>(amount); known && known->getValue().ult(bits))
      continue;
    IRBuilder<> b(shift);
    Constant *most = ConstantInt::get(type, bits - 1), *zero = ConstantInt::get(type, 0);
    if (shift->getOpcode() == Instruction::AShr) {
      shift->setOperand(1, b.CreateBinaryIntrinsic(Intrinsic::umin, amount, most));
      continue;
    }
    Value *isLess = b.CreateICmpULE(amount, most);
    shift->setOperand(1, b.CreateSelect(isLess, amount, zero));
    auto *result = SelectInst::Create(isLess, shift, zero, "", std::next(shift->getIterator()));
    shift->replaceUsesWithIf(result, [&](Use &use) { return use.getUser() != result; });
  }
}

static bool isOnlyRead(const Value &value) {
  return all_of(value.users(), [](const User *user) {
    if (isa<LoadInst>(user))
      return true;
    auto *expression = dyn_cast<Operator>(user);
    return expression &&
           (isa<GEPOperator>(user) || expression->getOpcode() == Instruction::AddrSpaceCast ||
            expression->getOpcode() == Instruction::BitCast) &&
           isOnlyRead(*user);
  });
}

void prepareDevice(ImageContext &context) {
  Module &module = context.module;
  context.flushDenormals = moduleFlag(module, "nvvm-reflect-ftz") != 0;
  context.contracts = !moduleFlag(module, "kb-fmad-off");
  resolveReflection(context);
  clampShifts(module);
  for (const char *name : {"llvm.used", "llvm.compiler.used"})
    if (GlobalVariable *list = module.getNamedGlobal(name))
      list->eraseFromParent();
  for (Function &function : module) {
    function.setComdat(nullptr);
    if (!function.isDeclaration())
      function.setLinkage(function.getCallingConv() == CallingConv::PTX_Kernel
                              ? GlobalValue::ExternalLinkage
                              : GlobalValue::InternalLinkage);
  }
  for (GlobalVariable &global : module.globals()) {
    global.setComdat(nullptr);
    if (global.hasLocalLinkage() && !global.isExternallyInitialized() &&
        global.getAddressSpace() != Shared && isOnlyRead(global))
      global.setConstant(true);
    // Nothing may be concluded from the stores that this module makes: a
    // missing store is for the checks to find, not for the optimiser to use.
    if (global.getAddressSpace() == Shared || !global.isConstant()) {
      if (!global.isDeclaration()) {
        global.setLinkage(GlobalValue::ExternalLinkage);
        global.setExternallyInitialized(true);
      }
    } else if (!global.isDeclaration() && !global.isExternallyInitialized()) {
      global.setLinkage(GlobalValue::InternalLinkage);
    }
  }
  chooseInlining(context);
  ModuleAnalysisManager analyses;
  PassBuilder().registerModuleAnalyses(analyses);
  GlobalDCEPass().run(module, analyses);
  if (context.mode == kbrt::ImageMode::Oracle)
    keepLibraryCalls(context);
}

static void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
  });
}

static std::unique_ptr<TargetMachine> createDeviceMachine(const Module &module) {
  initializeTargets();
  std::string problem;
  Triple triple = module.getTargetTriple();
  const Target *target = TargetRegistry::lookupTarget(triple, problem);
  if (!target)
    return nullptr;
  return std::unique_ptr<TargetMachine>(
      target->createTargetMachine(triple, "sm_90", "", TargetOptions(), std::nullopt));
}

Error optimizeDevice(ImageContext &context) {
  std::unique_ptr<TargetMachine> machine = createDeviceMachine(context.module);
  if (!machine)
    return make_error<UsageError>(
        "the input is not NVPTX device code",
        "compile the device side with clang --cuda-device-only -emit-llvm",
        ExitStatus::Diagnostics);
  PipelineTuningOptions tuning;
  tuning.LoopUnrolling = tuning.LoopVectorization = tuning.SLPVectorization = false;
  tuning.LoopInterleaving = tuning.CallGraphProfile = false;
  PassBuilder builder(machine.get(), tuning);
  AnalysisManagers analyses(builder);
  ModulePassManager passes = builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2);
  FunctionPassManager late;
  late.addPass(InferAddressSpacesPass(Flat));
  // Puts split vectors together again, as the NVPTX backend does.
  late.addPass(LoadStoreVectorizerPass());
  late.addPass(DCEPass());
  passes.addPass(createModuleToFunctionPassAdaptor(std::move(late)));
  passes.addPass(GlobalDCEPass());
  passes.run(context.module, analyses.modules);
  expandMaskedAccesses(context.module);
  erase_if(context.variables, [&](const Variable &variable) {
    return !is_contained(make_pointer_range(context.module.globals()), variable.global);
  });
  return Error::success();
}

/// \p product of an fadd or fsub, if the two may become one operation.
static Instruction *contractibleProduct(Value *product) {
  auto *instruction = dyn_cast<Instruction>(product);
  if (!instruction || instruction->getOpcode() != Instruction::FMul ||
      !instruction->hasAllowContract())
    return nullptr;
  for (User *user : instruction->users()) {
    auto *use = dyn_cast<Instruction>(user);
    if (!use || (use->getOpcode() != Instruction::FAdd && use->getOpcode() != Instruction::FSub) ||
        !use->hasAllowContract())
      return nullptr;
  }
  return instruction;
}

void contractMultiplyAdd(ImageContext &context) {
  for (Function &function : context.module) {
    SmallVector<Instruction *> sums;
    for (Instruction &instruction : instructions(function))
      if ((instruction.getOpcode() == Instruction::FAdd ||
           instruction.getOpcode() == Instruction::FSub) &&
          instruction.hasAllowContract())
        sums.push_back(&instruction);
    for (Instruction *sum : sums) {
      bool isSub = sum->getOpcode() == Instruction::FSub;
      Value *left = sum->getOperand(0), *right = sum->getOperand(1);
      Instruction *product = contractibleProduct(left);
      bool fromLeft = product != nullptr;
      if (!product)
        product = contractibleProduct(right);
      if (!product)
        continue;
      IRBuilder<> builder(sum);
      builder.setFastMathFlags(sum->getFastMathFlags());
      Value *a = product->getOperand(0), *b = product->getOperand(1);
      Value *addend = fromLeft ? right : left;
      if (isSub && fromLeft)
        addend = builder.CreateFNeg(addend);
      else if (isSub)
        a = builder.CreateFNeg(a);
      Value *fused = builder.CreateIntrinsic(Intrinsic::fma, {sum->getType()}, {a, b, addend});
      sum->replaceAllUsesWith(fused);
      sum->eraseFromParent();
      if (product->use_empty())
        product->eraseFromParent();
    }
  }
}

} // namespace kbopt::cpu
