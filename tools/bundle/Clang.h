//===- Clang.h - The compiler in the bundle's executable ------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_TOOLS_BUNDLE_CLANG_H
#define KBOPT_TOOLS_BUNDLE_CLANG_H

namespace kbopt {

/// clang++ for what kb-opt asks of it: C, C++ and CUDA to objects, bitcode,
/// LLVM IR, assembly and precompiled headers, for x86-64 and NVPTX, and linking
/// with the system's linker. Looks for its headers in ../lib/clang beside the
/// executable's folder. \returns clang's exit status.
int runClang(int argc, char **argv);

} // namespace kbopt

#endif // KBOPT_TOOLS_BUNDLE_CLANG_H
