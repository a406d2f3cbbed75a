//===- FileWords.h - The words that FileRules forbids -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the tables of names for files that no pass made. No Clang.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_ASSISTED_FILEWORDS_H
#define KBOPT_LIB_REWRITE_ASSISTED_FILEWORDS_H

#include "llvm/ADT/StringRef.h"

namespace kbopt {

/// Whether code can tell by \p word which compiler reads it, how, or when.
bool tellsCompiler(llvm::StringRef word);

/// Whether the macro \p word, whose name is reserved, belongs to the language: all compilers of
/// CUDA C++ give it one meaning.
bool isOfLanguage(llvm::StringRef word);

/// What a host function comes from.
enum class HostOrigin { Std, CLibrary, Cuda };
/// Whether host code may call \p name, or make an object of that type.
bool fileMayUse(llvm::StringRef name, HostOrigin origin);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_ASSISTED_FILEWORDS_H
