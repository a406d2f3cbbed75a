//===- Builtin.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Target/Builtin.h"
#include "llvm/ADT/STLExtras.h"

namespace kbopt {

// Written by cmake/EmbedFiles.cmake.
extern const BuiltinFile builtinFiles[];
extern const size_t builtinFileCount;

llvm::ArrayRef<BuiltinFile> builtinKnowledge() { return {builtinFiles, builtinFileCount}; }

std::optional<llvm::StringRef> builtinKnowledgeFile(llvm::StringRef path) {
  const auto *file = llvm::find_if(
      builtinKnowledge(), [&](const BuiltinFile &candidate) { return candidate.path == path; });
  if (file == builtinKnowledge().end())
    return std::nullopt;
  return file->bytes;
}

} // namespace kbopt
