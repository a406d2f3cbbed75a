//===- HostRefusals.h - Functions that a host program lacks -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns telling which of CUDA's library functions a host program calls and the
// recorder does not have, and functions that say so when they are called.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SOURCE_HOSTREFUSALS_H
#define KBOPT_LIB_SOURCE_HOSTREFUSALS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace kbopt {

/// Names, sorted, of functions of CUDA's libraries that \p objects use, none of
/// them defines, and \p runtimeLibrary does not export.
llvm::Expected<std::vector<std::string>> missingCudaFunctions(llvm::ArrayRef<std::string> objects,
                                                              llvm::StringRef runtimeLibrary);

/// C text that defines each of \p names so that it refuses.
std::string refusalSource(llvm::ArrayRef<std::string> names);

/// Writes \p archive with \p object as its only member.
llvm::Error archiveOf(llvm::StringRef object, llvm::StringRef archive);

} // namespace kbopt

#endif // KBOPT_LIB_SOURCE_HOSTREFUSALS_H
