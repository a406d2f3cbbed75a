//===- AtomicCall.h - An atomic that a warp can do as one -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the rule needs to know of one atomic: its operation and type, where
// it stands, whether its address is the same for all lanes.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PASSES_AGGREGATE_ATOMICS_ATOMICCALL_H
#define KBOPT_PASSES_AGGREGATE_ATOMICS_ATOMICCALL_H

#include "kb-opt/Rewrite/AstTools.h"

namespace kbopt::aggregate {

struct AtomicCall {
  const clang::CallExpr *call = nullptr;
  llvm::StringRef operation;              ///< "Add", "Sub", "Max", …
  const clang::Stmt *statement = nullptr; ///< the statement around it, in a block
  std::string type;        ///< of the element: "int", "unsigned", "unsigned long long"
  bool usesResult = false; ///< `x = atomicAdd(…);`, `int x = atomicAdd(…);`
  bool hasConstantValue = false;
  bool hasUniformAddress = false;
  std::string obstacle; ///< why the rule does not take it

  const clang::Expr *address() const { return call->getArg(0); }
  const clang::Expr *value() const { return call->getArg(1); }
};

/// The calls of atomics in the kernel's text, in source order; also those that wait for a
/// template's arguments.
std::vector<const clang::CallExpr *> atomicCallsOf(const KernelView &kernel);
/// What \p call is, which is one of them.
AtomicCall atomicAt(const PassContext &context, const KernelView &kernel,
                    const clang::CallExpr *call);
/// Whether \p expr has one value for all threads of a block that ever evaluate it in \p kernel.
bool isBlockUniform(const KernelView &kernel, const clang::Expr *expr);

} // namespace kbopt::aggregate

#endif // KBOPT_PASSES_AGGREGATE_ATOMICS_ATOMICCALL_H
