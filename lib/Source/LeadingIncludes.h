//===- LeadingIncludes.h - Libraries that a program begins with -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns which of a program's includes may be in a precompiled header that other programs share:
// Thrust, CUB and libcu++ take seconds to parse, and change with the toolkit alone.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SOURCE_LEADINGINCLUDES_H
#define KBOPT_LIB_SOURCE_LEADINGINCLUDES_H

#include "kb-opt/Source/CompileCommand.h"

namespace kbopt {

/// The names in the `#include <...>` that \p text begins with, before any other directive and any
/// code. Empty unless one is of the libraries, or where a folder of the user's may have a header
/// of such a name.
std::vector<std::string> leadingIncludes(const CompileCommand &command, llvm::StringRef text);

} // namespace kbopt

#endif // KBOPT_LIB_SOURCE_LEADINGINCLUDES_H
