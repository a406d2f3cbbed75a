//===- OptimisedCode.cpp - What optimisations leave of a kernel ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns finding the double arithmetic and the branches that a kernel still has when its device code
// is optimised.
//
//===----------------------------------------------------------------------===//
#include "DeviceModule.h"
#include "kb-opt/Analysis/Import.h"
#include "kb-opt/Support/AnalysisManagers.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Passes/PassBuilder.h"
#include <set>

using namespace llvm;

/// Whether \p inst computes with doubles; loads, stores, moves and conversions do not.
static bool computesInDouble(const Instruction &inst) {
  auto isDouble = [](const Value *value) {
    return value->getType()->getScalarType()->isDoubleTy();
  };
  if (const auto *call = dyn_cast<CallBase>(&inst))
    return isDouble(&inst) || any_of(call->args(), isDouble);
  if (isa<FCmpInst>(inst))
    return isDouble(inst.getOperand(0));
  return (isa<BinaryOperator>(inst) || isa<UnaryOperator>(inst)) && isDouble(&inst);
}

static bool isConditional(const Instruction &inst) {
  const auto *branch = dyn_cast<BranchInst>(&inst);
  return branch && branch->isConditional();
}

/// Optimises \p kernel like clang and nvcc do, so that what they narrow to float is float, and what
/// they select is selected.
static void optimise(Function &kernel) {
  PassBuilder builder;
  kbopt::AnalysisManagers analyses(builder);
  builder.buildFunctionSimplificationPipeline(OptimizationLevel::O2, ThinOrFullLTOPhase::None)
      .run(kernel, analyses.functions);
}

/// Where in \p file \p inst stands: the innermost code of the file.
static std::optional<kbopt::CodePlace> placeIn(StringRef file, const Instruction &inst) {
  for (const DILocation *place = inst.getDebugLoc(); place; place = place->getInlinedAt())
    if (place->getLine() && place->getFilename() == file)
      return kbopt::CodePlace{place->getLine(), place->getColumn()};
  return std::nullopt;
}

static kbopt::OptimisedCode optimisedCode(Function &kernel) {
  const DISubprogram *subprogram = kernel.getSubprogram();
  if (!subprogram)
    return {};
  optimise(kernel);
  std::set<kbopt::CodePlace> doubles, branches;
  for (const Instruction &inst : instructions(kernel))
    for (auto [matches, places] :
         {std::pair(computesInDouble(inst), &doubles), std::pair(isConditional(inst), &branches)})
      if (auto place = matches ? placeIn(subprogram->getFilename(), inst) : std::nullopt)
        places->insert(*place);
  return {{doubles.begin(), doubles.end()}, {branches.begin(), branches.end()}};
}

const kbopt::OptimisedCode &kbopt::ImportedProgram::optimisedCodeOf(kb::KernelOp kernel) const {
  auto [found, isNew] = optimisedCode.try_emplace(kernel);
  if (!isNew)
    return found->second;
  if (!optimised) {
    auto device = analysis::DeviceModule::create(bitcode);
    if (!device) { // it was read before
      consumeError(device.takeError());
      return found->second;
    }
    optimised = std::move(*device);
  }
  if (Function *function = optimised->kernel(kernel.getSymName()))
    found->second = ::optimisedCode(*function);
  return found->second;
}
