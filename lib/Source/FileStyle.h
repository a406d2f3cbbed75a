//===- FileStyle.h - A file's own formatting --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns finding out how a file is formatted, and formatting ranges that way.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SOURCE_FILESTYLE_H
#define KBOPT_LIB_SOURCE_FILESTYLE_H

#include "clang/Format/Format.h"
#include "clang/Tooling/Core/Replacement.h"
#include "llvm/Support/Error.h"

namespace kbopt {

/// The style of the nearest .clang-format above \p file, or one read off
/// \p text: indentation, tabs, where braces stand; lines are then left as long
/// as they are.
clang::format::FormatStyle styleOf(llvm::StringRef file, llvm::StringRef text);

/// \p text with \p ranges formatted like \p original, which lies at \p file. What
/// stands outside the ranges stays, on their first and last lines too.
llvm::Expected<std::string> formatRanges(llvm::StringRef text,
                                         llvm::ArrayRef<clang::tooling::Range> ranges,
                                         llvm::StringRef file, llvm::StringRef original);

} // namespace kbopt

#endif // KBOPT_LIB_SOURCE_FILESTYLE_H
