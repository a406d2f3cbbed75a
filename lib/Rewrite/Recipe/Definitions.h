//===- Definitions.h - What an example defines ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what of a program a recipe may bring along. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_RECIPE_DEFINITIONS_H
#define KBOPT_LIB_REWRITE_RECIPE_DEFINITIONS_H

#include "kb-opt/Source/ParsedProgram.h"
#include "clang/AST/Decl.h"

namespace kbopt {

/// What \p program defines in its main file: for the device, constants, and functions of the host
/// that launch nothing. Those in a namespace that \p before does not have are one definition, the
/// namespace.
struct Definition {
  std::string name, text;
  const clang::Decl *declaration = nullptr;
  bool isForHost = false;
};
std::vector<Definition> definitionsIn(const ParsedProgram &program, const ParsedProgram &before);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_RECIPE_DEFINITIONS_H
