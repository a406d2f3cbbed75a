//===- PtxBackend.cpp - PTX without nvcc ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the fallback for machines without the toolkit's compiler: LLVM's own
// NVPTX backend on the device bitcode.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Eval/NvccImage.h"
#include "kb-opt/Support/AnalysisManagers.h"
#include "kb-opt/Support/Error.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/IPO/Internalize.h"

using namespace llvm;

namespace kbopt {

static Error cannot(const Twine &what) {
  return make_error<ToolError>(("LLVM's PTX backend failed: " + what).str(),
                               std::vector<std::string>{"llc"}, 1, "");
}

Expected<std::string> ptxFromBitcode(StringRef bitcodePath, StringRef arch) {
  static const bool initialised = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)initialised;
  LLVMContext context;
  SMDiagnostic diagnostic;
  std::unique_ptr<Module> module = parseIRFile(bitcodePath, diagnostic, context);
  if (!module)
    return cannot(diagnostic.getMessage());
  Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return cannot(message);
  std::unique_ptr<TargetMachine> machine(
      target->createTargetMachine(triple, arch, "+ptx80", TargetOptions(), Reloc::PIC_,
                                  std::nullopt, CodeGenOptLevel::Default));
  if (!machine)
    return cannot("no target machine for " + arch);
  module->setDataLayout(machine->createDataLayout());

  PassBuilder builder(machine.get());
  AnalysisManagers analyses(builder);
  ModulePassManager passes;
  // Device functions, libdevice among them, live in this module alone.
  passes.addPass(InternalizePass([](const GlobalValue &value) {
    if (const auto *function = dyn_cast<Function>(&value))
      return function->getCallingConv() == CallingConv::PTX_Kernel;
    return isa<GlobalVariable>(value) && !value.getName().starts_with("llvm.");
  }));
  passes.addPass(GlobalDCEPass());
  passes.addPass(builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2));
  passes.run(*module, analyses.modules);

  SmallString<0> text;
  raw_svector_ostream stream(text);
  legacy::PassManager emitter;
  if (machine->addPassesToEmitFile(emitter, stream, nullptr, CodeGenFileType::AssemblyFile))
    return cannot("it emits no assembly");
  emitter.run(*module);
  return text.str().str();
}

} // namespace kbopt
