//===- AstPrograms.h - The program that an AST is of ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns finding the parsed program of an AST, for questions that are asked with AST nodes alone and
// keep their answers (`ParsedProgram::derived`).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SOURCE_ASTPROGRAMS_H
#define KBOPT_SOURCE_ASTPROGRAMS_H

#include "kb-opt/Source/ParsedProgram.h"

namespace kbopt {

/// The program whose AST is \p ast; null if it is another tool's. Thread-safe. The program lives as
/// long as its AST is used.
const ParsedProgram *programOf(const clang::ASTContext &ast);

/// Says that \p program is that of \p ast, until `forgetProgram`. For ParsedProgram alone.
void rememberProgram(const clang::ASTContext &ast, const ParsedProgram &program);
void forgetProgram(const clang::ASTContext &ast);

} // namespace kbopt

#endif // KBOPT_SOURCE_ASTPROGRAMS_H
