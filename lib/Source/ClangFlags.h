//===- ClangFlags.h - Flags that are written for clang ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the part of the translation that asks clang's own option table: flags
// of clang on the command line, and what -Xcompiler hands to a host compiler.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SOURCE_CLANGFLAGS_H
#define KBOPT_LIB_SOURCE_CLANGFLAGS_H

#include "kb-opt/Source/CompileCommand.h"
#include <deque>

namespace kbopt {

/// "compute_90a" and "sm_90a" to "sm_90a"; a `UsageError` if clang knows no
/// such architecture.
llvm::Expected<std::string> normalizeArch(llvm::StringRef name);
/// 90 of "sm_90a".
unsigned archNumber(llvm::StringRef arch);

/// Files \p token, followed by \p rest, as a flag of clang. Returns how many
/// words it is, or 0 if clang has no such flag. With \p fromHostCompiler it
/// was written for the host compiler.
llvm::Expected<unsigned> takeClangArgument(llvm::StringRef token,
                                           const std::deque<std::string> &rest,
                                           CompileCommand &command, bool fromHostCompiler = false);
/// Files what -Xcompiler says; flags that clang does not have are ignored.
void takeHostArguments(llvm::ArrayRef<std::string> items, CompileCommand &command);
/// Files -l or -L (\p flag) with its value.
void takeLibrary(llvm::StringRef flag, llvm::StringRef value, CompileCommand &command);
/// Files a word that is no flag: an object or library to link, or a source.
void takeInput(llvm::StringRef token, std::vector<std::string> &inputs, CompileCommand &command);

/// clang's flag nearest to \p name if it is nearer than \p distance edits,
/// which is updated.
std::string nearestClangFlag(llvm::StringRef name, unsigned &distance);

} // namespace kbopt

#endif // KBOPT_LIB_SOURCE_CLANGFLAGS_H
