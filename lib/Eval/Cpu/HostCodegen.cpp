//===- HostCodegen.cpp - Host IR to an object file ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "BarrierSplit.h"
#include "Steps.h"
#include "kb-opt/Support/AnalysisManagers.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SimpleLoopUnswitch.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

namespace kbopt::cpu {

static Error hostError(const Twine &problem) {
  return make_error<ToolError>(("cannot compile for this host: " + problem).str(),
                               std::vector<std::string>{}, 0, "",
                               "install LLVM 22 with the host's target");
}

Expected<std::unique_ptr<TargetMachine>> createHostMachine(StringRef cpu) {
  static const bool initialized = !InitializeNativeTarget() &&
                                  !InitializeNativeTargetAsmPrinter() &&
                                  !InitializeNativeTargetAsmParser();
  if (!initialized)
    return hostError("LLVM has no target for it");
  std::string problem;
  Triple triple(sys::getDefaultTargetTriple());
  const Target *target = TargetRegistry::lookupTarget(triple, problem);
  if (!target)
    return hostError(problem);
  SubtargetFeatures features;
  if (cpu.empty())
    for (auto &[name, enabled] : sys::getHostCPUFeatures())
      features.AddFeature(name, enabled);
  TargetOptions options;
  // What nvcc contracts is contracted already; the host adds nothing.
  options.AllowFPOpFusion = FPOpFusion::Strict;
  std::unique_ptr<TargetMachine> machine(target->createTargetMachine(
      triple, cpu.empty() ? sys::getHostCPUName() : cpu, features.getString(), options, Reloc::PIC_,
      std::nullopt, CodeGenOptLevel::Default));
  if (!machine)
    return hostError("no machine for " + triple.str());
  return machine;
}

/// Whether \p loop touches memory in rows only, so that its vector form has no access by the lane.
static bool accessesRows(const Loop &loop, ScalarEvolution &evolution) {
  for (BasicBlock *block : loop.blocks())
    for (Instruction &instruction : *block) {
      Value *pointer = getLoadStorePointerOperand(&instruction);
      if (!pointer)
        continue;
      const SCEV *address = evolution.getSCEV(pointer);
      auto *row = dyn_cast<SCEVAddRecExpr>(address);
      if (evolution.isLoopInvariant(address, &loop))
        continue;
      auto *step = row && row->getLoop() == &loop
                       ? dyn_cast<SCEVConstant>(row->getStepRecurrence(evolution))
                       : nullptr;
      uint64_t bytes =
          loop.getHeader()->getDataLayout().getTypeAllocSize(getLoadStoreType(&instruction));
      if (!step || step->getAPInt() != bytes)
        return false;
    }
  return true;
}

namespace {
/// In a loop over threads, what all of them decide alike is decided before it. Loops whose vector
/// form would be long and not faster keep the plain one: compiling is a good part of a judgement.
struct PrepareRegions : PassInfoMixin<PrepareRegions> {
  PrepareRegions() {
    LoopPassManager unswitch;
    unswitch.addPass(LICMPass(LICMOptions()));
    unswitch.addPass(SimpleLoopUnswitchPass(/*NonTrivial=*/true));
    passes.addPass(createFunctionToLoopPassAdaptor(std::move(unswitch), /*UseMemorySSA=*/true));
    passes.addPass(SimplifyCFGPass());
  }
  PreservedAnalyses run(Function &function, FunctionAnalysisManager &analyses) {
    if (!function.hasFnAttribute(regionAttribute))
      return PreservedAnalyses::all();
    analyses.invalidate(function, passes.run(function, analyses));
    auto &evolution = analyses.getResult<ScalarEvolutionAnalysis>(function);
    for (Loop *loop : analyses.getResult<LoopAnalysis>(function).getLoopsInPreorder())
      if (loop->isInnermost() && !accessesRows(*loop, evolution))
        addStringMetadataToLoop(loop, "llvm.loop.vectorize.enable", 0);
    return PreservedAnalyses::none();
  }
  FunctionPassManager passes;
};
} // namespace

Expected<std::string> compileForHost(Module &module, TargetMachine &machine) {
  std::string broken;
  raw_string_ostream brokenStream(broken);
  if (verifyModule(module, &brokenStream))
    return hostError("internal error in the image builder: " + broken);
  PipelineTuningOptions tuning;
  PassBuilder builder(&machine, tuning);
  AnalysisManagers analyses(builder);
  builder.registerVectorizerStartEPCallback(
      [](FunctionPassManager &passes, OptimizationLevel) { passes.addPass(PrepareRegions()); });
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2).run(module, analyses.modules);
  expandMinMax(module);

  SmallVector<char, 0> bytes;
  raw_svector_ostream stream(bytes);
  legacy::PassManager emit;
  if (machine.addPassesToEmitFile(emit, stream, nullptr, CodeGenFileType::ObjectFile))
    return hostError("no object files for " + module.getTargetTriple().str());
  emit.run(module);
  return std::string(bytes.begin(), bytes.end());
}

} // namespace kbopt::cpu
