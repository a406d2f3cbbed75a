//===- Extensions.cpp - LLVM's extensions that the bundle does without ----===//
// SPDX-License-Identifier: Apache-2.0
//
// Debian's clang was built with Polly, which is off unless asked for. The
// bundle has none.
//
//===----------------------------------------------------------------------===//
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "Polly", "", [](llvm::PassBuilder &) {}};
}
