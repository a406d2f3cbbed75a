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

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/VirtualFileSystem.h"
#include <string>
#include <vector>

namespace kbopt {

inline constexpr llvm::StringLiteral compatFolder = "/kb-opt/include";

/// One header in compatFolder.
struct CompatHeader {
  llvm::StringLiteral name;
  llvm::StringLiteral text;
};
llvm::ArrayRef<CompatHeader> compatHeaders();

/// clang's arguments that bring them in.
std::vector<std::string> compatArguments();

/// The real files with the headers among them; the working directory is
/// \p directory. Each call makes one of its own.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> filesWithCompatHeaders(llvm::StringRef directory);

} // namespace kbopt

#endif // KBOPT_LIB_SOURCE_COMPATHEADER_H
