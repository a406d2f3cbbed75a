//===- Application.h - A recipe where it applies ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the edits that put what a recipe makes in place of a kernel and its launches. Private to the
// library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_RECIPE_APPLICATION_H
#define KBOPT_LIB_REWRITE_RECIPE_APPLICATION_H

#include "ExampleProgram.h"
#include "kb-opt/Rewrite/RewritePass.h"

namespace kbopt {

/// Does to \p kernel, which \p match says is the kernel of \p example, what was done to that.
/// \p options are values of constants that the recipe makes.
llvm::Expected<Rewrite> applyExample(const PassContext &context, const KernelView &kernel,
                                     const ExampleProgram &example, const FunctionMatch &match,
                                     const PassOptions &options);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_RECIPE_APPLICATION_H
