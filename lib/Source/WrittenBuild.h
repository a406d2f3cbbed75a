//===- WrittenBuild.h - What the user wrote down of a build -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns reading `.kb-opt` of a build folder: how programs are linked and run, where the build itself
// does not say so.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SOURCE_WRITTENBUILD_H
#define KBOPT_LIB_SOURCE_WRITTENBUILD_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace kbopt {

/// Commands as they are typed in a shell in the build folder.
struct WrittenBuild {
  std::vector<std::string> link;  ///< of programs and libraries
  std::vector<std::string> tests; ///< programs with their arguments
};

/// What `.kb-opt` in \p folder says (YAML: lists of commands under `link:` and `tests:`); nothing
/// where there is no such file. Fails with a `UsageError` at the place of what cannot be read.
llvm::Expected<WrittenBuild> readWrittenBuild(llvm::StringRef folder);

} // namespace kbopt

#endif // KBOPT_LIB_SOURCE_WRITTENBUILD_H
