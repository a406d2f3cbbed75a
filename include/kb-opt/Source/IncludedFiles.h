//===- IncludedFiles.h - What a compiler reads ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the list of files that a translation unit consists of, as `clang -M`
// makes it.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SOURCE_INCLUDEDFILES_H
#define KBOPT_SOURCE_INCLUDEDFILES_H

#include "kb-opt/Source/CompileCommand.h"
#include <set>

namespace kbopt {

/// The files that the host side and the device side of \p command read, the input among them, as
/// absolute paths, without headers of the toolkit, the compiler and the system (`isForeignHeader`).
/// Fails with a `UsageError` where the flags make no sense; errors in the text end the list early.
llvm::Expected<std::set<std::string>> includedFiles(const CompileCommand &command);

} // namespace kbopt

#endif // KBOPT_SOURCE_INCLUDEDFILES_H
