//===- Installation.h - What came with this executable ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_SUPPORT_INSTALLATION_H
#define KBOPT_SUPPORT_INSTALLATION_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace kbopt {

/// The name of the compiler that lies beside kb-opt in an installation
/// (tools/bundle). Build trees have none and take clang from PATH.
inline constexpr llvm::StringLiteral bundledClangName = "kb-clang";

/// Path of \p program in this executable's own folder.
std::optional<std::string> findBeside(llvm::StringRef program);

/// The kb-run that belongs to this executable: beside it, else in PATH.
std::optional<std::string> findKbRun();

} // namespace kbopt

#endif // KBOPT_SUPPORT_INSTALLATION_H
