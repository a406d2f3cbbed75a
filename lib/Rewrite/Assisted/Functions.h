//===- Functions.h - The functions of the main file -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns walking the functions that have a body in the main file, wherever they are
// declared: namespaces, classes, templates.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_ASSISTED_FUNCTIONS_H
#define KBOPT_LIB_REWRITE_ASSISTED_FUNCTIONS_H

#include "kb-opt/Source/Anchor.h"
#include "kb-opt/Source/ParsedProgram.h"
#include "clang/AST/Decl.h"

namespace kbopt {

/// In source order; of a template its pattern.
std::vector<const clang::FunctionDecl *> functionsOfMainFile(const ParsedProgram &program);

/// The whole text of \p function, with its template header.
AnchorOrReason anchorOfFunction(const ParsedProgram &program, const clang::FunctionDecl *function);

/// Whether \p function runs on the device (possibly on the host as well).
bool isDeviceFunction(const clang::FunctionDecl *function);

/// Where \p location is written in the main file; none if it lies elsewhere.
std::optional<unsigned> mainFileOffset(const ParsedProgram &program,
                                       clang::SourceLocation location);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_ASSISTED_FUNCTIONS_H
