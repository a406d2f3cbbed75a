//===- CompatHeader.h - What nvcc's users have and clang's do not -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the headers that kb-opt brings along: what nvcc declares and clang does
// not, included first everywhere, and an omp.h for one thread. They exist in
// memory only, in a folder that no machine has.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SOURCE_COMPATHEADER_H
#define KBOPT_LIB_SOURCE_COMPATHEADER_H

#include "kb-opt/Source/CompileCommand.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/VirtualFileSystem.h"
#include <string>
#include <vector>

namespace kbopt {

inline constexpr llvm::StringLiteral compatFolder = "/kb-opt/include";

/// One header in compatFolder, the same for all commands.
struct CompatHeader {
  llvm::StringLiteral name;
  llvm::StringLiteral text;
};
llvm::ArrayRef<CompatHeader> compatHeaders();

/// clang's arguments that bring them in. They stand before the user's.
std::vector<std::string> compatArguments();
/// Those that bring in the user's macros (UserMacros.h), between compatArguments() and the user's.
std::vector<std::string> macroArguments();

/// The real files with the headers and the macros of \p command among them; the working directory
/// is the command's. Each call makes one of its own.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem>
filesWithCompatHeaders(const CompileCommand &command);

} // namespace kbopt

#endif // KBOPT_LIB_SOURCE_COMPATHEADER_H
