//===- Helpers.h - Device functions that one kernel calls -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns which functions of the main file belong to one kernel alone, as those that an earlier reply
// wrote for it, and which ones nothing uses.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_ASSISTED_HELPERS_H
#define KBOPT_LIB_REWRITE_ASSISTED_HELPERS_H

#include "kb-opt/Source/ParsedProgram.h"
#include "clang/AST/Decl.h"

namespace kbopt {

/// The device functions with a body in the main file that \p kernel calls, itself or through one
/// another, and that no other function of the file names; in source order, of templates their
/// patterns.
std::vector<const clang::FunctionDecl *> helpersOf(const ParsedProgram &program,
                                                   const clang::FunctionDecl *kernel);

/// The device functions and kernels with a body in the main file that no function of the file
/// names, but for one another; in source order.
std::vector<const clang::FunctionDecl *> unusedFunctions(const ParsedProgram &program);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_ASSISTED_HELPERS_H
