//===- DirectiveGuard.h - Under which macros a text is what it is -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the conditions of the preprocessor around a place: what replaces the place is right where
// those hold, and in no other build of the program.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_DIRECTIVEGUARD_H
#define KBOPT_LIB_REWRITE_SCHEDULE_DIRECTIVEGUARD_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace kbopt {

/// What `#if` has to ask so that offset \p place of \p text, which is compiled, is compiled: of
///
///     #if FAST
///     …
///     #elif N > 4
///     place
///     #endif
///
/// `!(FAST) && (N > 4)`. Empty where \p text has no directives. Nothing where it has others that
/// matter: conditions that do not enclose the place, or directives that are no conditions.
std::optional<std::string> directiveGuard(llvm::StringRef text, size_t place);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_DIRECTIVEGUARD_H
