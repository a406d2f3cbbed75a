//===- CompatHeader.h - What nvcc declares and clang does not --*- C++ -*-===//
//
// Owns a header that every parse and compilation includes first. It exists in
// memory only, under a path that no machine has.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SOURCE_COMPATHEADER_H
#define KBOPT_LIB_SOURCE_COMPATHEADER_H

#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/VirtualFileSystem.h"

namespace kbopt {

inline constexpr llvm::StringLiteral compatHeaderPath = "/kb-opt/include/kb_opt_cuda_compat.h";
llvm::StringRef compatHeaderText();

/// The real files with the header among them; the working directory is
/// \p directory. Each call makes one of its own.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> filesWithCompatHeader(llvm::StringRef directory);

} // namespace kbopt

#endif // KBOPT_LIB_SOURCE_COMPATHEADER_H
