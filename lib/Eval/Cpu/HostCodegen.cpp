//===- HostCodegen.cpp - Host IR to an object file ------------------------===//
#include "BarrierSplit.h"
#include "Steps.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SimpleLoopUnswitch.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

using namespace llvm;

namespace kbopt::cpu {

static Error hostError(const Twine &problem) {
  return make_error<ToolError>(("cannot compile for this host: " + problem).str(),
                               std::vector<std::string>{}, 0, "",
                               "install LLVM 22 with the host's target");
}

Expected<std::unique_ptr<TargetMachine>> createHostMachine(StringRef cpu) {
  static const bool initialized = !InitializeNativeTarget() && !InitializeNativeTargetAsmPrinter();
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
      triple, cpu.empty() ? sys::getHostCPUName() : cpu, features.getString(), options,
      Reloc::PIC_, std::nullopt, CodeGenOptLevel::Default));
  if (!machine)
    return hostError("no machine for " + triple.str());
  return machine;
}

namespace {
/// In a loop over threads, what all of them decide alike is decided before it.
struct UnswitchRegions : PassInfoMixin<UnswitchRegions> {
  UnswitchRegions() {
    LoopPassManager unswitch;
    unswitch.addPass(LICMPass(LICMOptions()));
    unswitch.addPass(SimpleLoopUnswitchPass(/*NonTrivial=*/true));
    passes.addPass(createFunctionToLoopPassAdaptor(std::move(unswitch), /*UseMemorySSA=*/true));
    passes.addPass(SimplifyCFGPass());
  }
  PreservedAnalyses run(Function &function, FunctionAnalysisManager &analyses) {
    return function.hasFnAttribute(regionAttribute) ? passes.run(function, analyses)
                                                    : PreservedAnalyses::all();
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
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.registerVectorizerStartEPCallback([](FunctionPassManager &passes, OptimizationLevel) {
    passes.addPass(UnswitchRegions());
  });
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2).run(module, modules);

  SmallVector<char, 0> bytes;
  raw_svector_ostream stream(bytes);
  legacy::PassManager emit;
  if (machine.addPassesToEmitFile(emit, stream, nullptr, CodeGenFileType::ObjectFile))
    return hostError("no object files for " + module.getTargetTriple().str());
  emit.run(module);
  return std::string(bytes.begin(), bytes.end());
}

} // namespace kbopt::cpu
