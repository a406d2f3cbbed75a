//===- LaunchMemory.h - Memory that a launch needs --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns memory that lives from a launch to the one after it, in the order of their stream: what the
// host calls to have it, and how it is named there.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_LAUNCHMEMORY_H
#define KBOPT_REWRITE_LAUNCHMEMORY_H

#include "kb-opt/Rewrite/PassContext.h"
#include "kb-opt/Schedule/GeneratedKernel.h"

namespace kbopt {

/// The function of the host program that gives memory to a launch.
inline constexpr llvm::StringLiteral launchMemoryFunction = "memory_for_launch";

/// The function as launches of \p kernel can use it.
class LaunchMemory {
public:
  LaunchMemory(const PassContext &context, const clang::FunctionDecl *kernel);
  /// Whether the toolkit offers stream-ordered allocation (CUDA 11.3).
  bool isPossible() const { return hasPools; }
  /// The function's text with an empty line before it; empty if it stands before the kernel
  /// already.
  std::string missingDefinition() const;
  /// `float *name = condition ? (float *)memory_for_launch(bytes, stream) : nullptr`; \p condition
  /// may be empty, \p count is the number of elements at the launch.
  std::string declaration(const GeneratedKernel::Memory &memory, llvm::StringRef name,
                          llvm::StringRef count, llvm::StringRef condition,
                          llvm::StringRef stream) const;
  /// What clears it.
  static std::string clearing(const GeneratedKernel::Memory &memory, llvm::StringRef name,
                              llvm::StringRef count, llvm::StringRef stream);

private:
  std::string function;
  bool hasPools = false, isDefined = false;
};

} // namespace kbopt

#endif // KBOPT_REWRITE_LAUNCHMEMORY_H
