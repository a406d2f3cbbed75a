//===- HostFunctions.h - Functions that launches call -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns finding functions of the host program, and adding one that the launches of all kernels may
// call. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_HOSTFUNCTIONS_H
#define KBOPT_LIB_REWRITE_HOSTFUNCTIONS_H

#include "kb-opt/Rewrite/PassContext.h"
#include "kb-opt/Source/Edits.h"

namespace kbopt {

/// The function called \p name at file scope; null if there is none.
const clang::FunctionDecl *functionCalled(const clang::ASTContext &ast, llvm::StringRef name);

/// Adds \p definition, with an empty line before it, where the schedules of all kernels of the
/// program find it: each adds the same edit. False if there is no other kernel that may need it, or
/// no such place. An empty one stands there already.
llvm::Expected<bool> addDefinitionForAll(const PassContext &context, const std::string &definition,
                                         Edits &edits);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_HOSTFUNCTIONS_H
