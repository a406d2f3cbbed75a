//===- Builtin.h - The knowledge folder inside the program ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the copy of knowledge/ (devices, states, seed) that is compiled into the
// tools, so that they need no installation folder.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TARGET_BUILTIN_H
#define KBOPT_TARGET_BUILTIN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace kbopt {

struct BuiltinFile {
  llvm::StringRef path; ///< relative to knowledge/: "devices/h200.json"
  llvm::StringRef bytes;
};

/// All files, sorted by path.
llvm::ArrayRef<BuiltinFile> builtinKnowledge();
std::optional<llvm::StringRef> builtinKnowledgeFile(llvm::StringRef path);

} // namespace kbopt

#endif // KBOPT_TARGET_BUILTIN_H
