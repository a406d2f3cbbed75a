//===- main.cpp - kb-opt and its compiler in one executable ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The bundle's kb-opt. Called as kb-clang it is the compiler that kb-opt runs
// for device bitcode and host objects, so that LLVM is in the bundle once.
//
//===----------------------------------------------------------------------===//
#include "Clang.h"
#include "kb-opt/Driver/Driver.h"
#include "kb-opt/Support/Installation.h"
#include "llvm/Support/Path.h"

int main(int argc, char **argv) {
  if (argc > 0 && llvm::sys::path::filename(argv[0]) == kbopt::bundledClangName)
    return kbopt::runClang(argc, argv);
  return kbopt::runKbOpt(argc, argv);
}
