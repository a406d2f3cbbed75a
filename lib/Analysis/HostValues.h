//===- HostValues.h - Constants in host code --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns folding launch expressions to numbers. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_ANALYSIS_HOSTVALUES_H
#define KBOPT_LIB_ANALYSIS_HOSTVALUES_H

#include "kb-opt/Analysis/Poly.h"
#include "kb-opt/Source/ProgramFacts.h"
#include <array>
#include <optional>

namespace kbopt::analysis {

/// The value of an integer expression in \p host: a constant expression, or
/// arithmetic over local variables that are only ever initialised with one.
std::optional<int64_t> foldHost(const clang::ASTContext &ast, const clang::Expr *expr,
                                const clang::FunctionDecl *host);

/// The components of a grid or block expression (dim3 or a number); -1 where
/// one is not known.
std::array<int64_t, 3> foldDim3(const clang::ASTContext &ast, const clang::Expr *expr,
                                const clang::FunctionDecl *host);

/// What all of \p launches of the device symbol \p kernel agree on.
LaunchRanges launchRanges(const clang::ASTContext &ast, llvm::ArrayRef<LaunchFact> launches,
                          llvm::StringRef kernel);

} // namespace kbopt::analysis

#endif // KBOPT_LIB_ANALYSIS_HOSTVALUES_H
