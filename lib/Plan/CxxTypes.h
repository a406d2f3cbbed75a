//===- CxxTypes.h - C++ types as text ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LIB_PLAN_CXXTYPES_H
#define KBOPT_LIB_PLAN_CXXTYPES_H

#include "kbrt/Plan.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace kbopt {

/// \p type without const, volatile, restrict and surplus spaces, "struct" and
/// "std::" dropped, integer spellings brought to one form ("unsigned int").
std::string normalizedType(llvm::StringRef type);
/// The type that \p type points or refers to, normalized; empty if it does not.
std::string pointeeText(llvm::StringRef type);
/// Whether the pointee of \p type is const.
bool pointsToConst(llvm::StringRef type);
/// The C++ type that a buffer of \p element has in generated code.
llvm::StringRef cxxElementType(kbrt::ElementType element);

} // namespace kbopt

#endif // KBOPT_LIB_PLAN_CXXTYPES_H
