//===- LineDirectives.h - #line back to the user's file ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LOCK_LINEDIRECTIVES_H
#define KBOPT_LOCK_LINEDIRECTIVES_H

#include "clang/Basic/LangOptions.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace kbopt {

/// \p rewritten with #line directives, so that compilers and debuggers name \p path and the lines
/// of \p original. Lines that a rewrite added have the number of the last line that they replace or
/// follow.
std::string withLineDirectives(llvm::StringRef original, llvm::StringRef rewritten,
                               llvm::StringRef path, const clang::LangOptions &language);

} // namespace kbopt

#endif // KBOPT_LOCK_LINEDIRECTIVES_H
