//===- UserMacros.h - What -D and -U of the user's mean ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns where the user's macros are defined. Clang reads more of the toolkit's headers before a
// program than nvcc does, and `-DN=4096` on its command line would change those, too. A header
// after them defines the macros instead, before anything that the user includes.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SOURCE_USERMACROS_H
#define KBOPT_LIB_SOURCE_USERMACROS_H

#include "kb-opt/Source/CompileCommand.h"

namespace kbopt {

/// The header's name in compatFolder.
inline constexpr llvm::StringLiteral macrosHeader = "kb_opt_user_macros.h";

/// The text of the header for \p command: its flags' definitions, in their order.
std::string userMacrosText(const CompileCommand &command);

/// \p flags without those whose macros the header defines. The macros that the headers of the
/// language and of CUDA ask for stay: `_...`, `CUDA_...` and `NDEBUG`.
std::vector<std::string> withoutUserMacros(llvm::ArrayRef<std::string> flags);

} // namespace kbopt

#endif // KBOPT_LIB_SOURCE_USERMACROS_H
