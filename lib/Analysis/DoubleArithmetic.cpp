//===- DoubleArithmetic.cpp - Double precision that stays ------------------===//
#include "DoubleArithmetic.h"
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
    return !isa<DbgInfoIntrinsic>(inst) && (isDouble(&inst) || any_of(call->args(), isDouble));
  if (isa<FCmpInst>(inst))
    return isDouble(inst.getOperand(0));
  return (isa<BinaryOperator>(inst) || isa<UnaryOperator>(inst)) && isDouble(&inst);
}

/// Optimises \p kernel like clang and nvcc do, so that what they narrow to float is float.
static void optimise(Function &kernel) {
  PassBuilder builder;
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager callGraph;
  ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildFunctionSimplificationPipeline(OptimizationLevel::O2, ThinOrFullLTOPhase::None)
      .run(kernel, functions);
}

std::vector<kbopt::CodePlace> kbopt::analysis::doubleArithmetic(Function &kernel) {
  const DISubprogram *subprogram = kernel.getSubprogram();
  if (!subprogram || none_of(instructions(kernel), computesInDouble))
    return {};
  optimise(kernel);
  std::set<CodePlace> places;
  for (const Instruction &inst : instructions(kernel)) {
    if (!computesInDouble(inst))
      continue;
    // The innermost code of the file: what is inlined from a header stands for its call.
    for (const DILocation *place = inst.getDebugLoc(); place; place = place->getInlinedAt())
      if (place->getLine() && place->getFilename() == subprogram->getFilename()) {
        places.insert({place->getLine(), place->getColumn()});
        break;
      }
  }
  return std::vector<CodePlace>(places.begin(), places.end());
}
