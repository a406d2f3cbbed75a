//===- AnalysisManagers.h - What passes ask for analyses --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_SUPPORT_ANALYSISMANAGERS_H
#define KBOPT_SUPPORT_ANALYSISMANAGERS_H

#include "llvm/Passes/PassBuilder.h"

namespace kbopt {

/// The managers of all units with the analyses of \p builder, known to each other. They refer to
/// each other and go in the opposite order.
struct AnalysisManagers {
  explicit AnalysisManagers(llvm::PassBuilder &builder) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
  }

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
};

} // namespace kbopt

#endif // KBOPT_SUPPORT_ANALYSISMANAGERS_H
