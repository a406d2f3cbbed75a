//===- ToolkitPch.h - CUDA's headers compiled once --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the precompiled headers on disk that spare each run of clang reading
// CUDA's headers again: most of what compiling a small program costs.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SOURCE_TOOLKITPCH_H
#define KBOPT_LIB_SOURCE_TOOLKITPCH_H

#include "kb-opt/Source/CodeEmission.h"

namespace kbopt {

/// A file that clang reads under another name.
struct VirtualFile {
  std::string name;     ///< absolute, as clang sees it
  std::string realPath; ///< where its content is
};

/// clang's overlay that puts \p files where they belong, as text.
std::string overlayOf(llvm::ArrayRef<VirtualFile> files);

/// What a run of clang takes from the cache.
struct ToolkitPch {
  std::string file;                 ///< the precompiled header
  std::vector<VirtualFile> headers; ///< of kb-opt's own those that it was made from
};

/// The precompiled CUDA headers for runs of clang with compatArguments() and then \p arguments
/// under
/// \p command, made if need be in \p limits.cacheFolder; for a program that begins with \p includes
/// (leadingIncludes), with the user's macros and those, too. Nothing if they cannot be made:
/// compiling then reads the headers. clang itself refuses one whose headers have changed since.
/// Thread-safe, and safe between processes.
std::optional<ToolkitPch> findToolkitPch(ProcessRunner &runner, const CompileLimits &limits,
                                         const CompileCommand &command,
                                         llvm::ArrayRef<std::string> arguments,
                                         llvm::ArrayRef<std::string> includes);

/// Removes \p pch from the cache, so that the next one is made anew: clang
/// refused it and compiled without.
void forgetToolkitPch(const ToolkitPch &pch);

} // namespace kbopt

#endif // KBOPT_LIB_SOURCE_TOOLKITPCH_H
