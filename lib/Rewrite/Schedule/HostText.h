//===- HostText.h - Kernel expressions at a launch --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns C++ expressions over a kernel's parameters and gridDim and blockDim as text:
// which names they use, what they are worth, how they read elsewhere.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_HOSTTEXT_H
#define KBOPT_LIB_REWRITE_SCHEDULE_HOSTTEXT_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace kbopt {

/// The names in \p text that stand for something there: identifiers that are no member of
/// anything, and "gridDim.x" and its relatives as a whole. In order, with repetitions.
std::vector<llvm::StringRef> namesIn(llvm::StringRef text);

/// \p text with each of its names replaced by what \p replacement says; none: it stays.
std::string
replaceNames(llvm::StringRef text,
             llvm::function_ref<std::optional<std::string>(llvm::StringRef)> replacement);

/// \p text, in parentheses unless it is a name, a number, a call or in them already.
std::string asOperand(llvm::StringRef text);

/// The value of the integer expression \p text, where \p valueOf gives those of its names.
/// Nothing if it has other parts than numbers, casts to integers and the arithmetic,
/// comparison and logical operators, or if it overflows.
std::optional<int64_t>
evaluate(llvm::StringRef text, llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> valueOf);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_HOSTTEXT_H
