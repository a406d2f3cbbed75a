//===- AllocationTest.h - Telling allocations apart at a launch -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the host function that tells whether two pointers lie in different allocations. Where how
// much of an array a kernel touches depends on data (the rows of a table), nothing else shows that
// two arrays do not overlap.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_ALLOCATIONTEST_H
#define KBOPT_REWRITE_ALLOCATIONTEST_H

#include "kb-opt/Rewrite/PassContext.h"

namespace kbopt {

/// The function of the host program that tells whether two pointers lie in different allocations.
inline constexpr llvm::StringLiteral allocationTest = "lie_in_different_allocations";

/// The function as a launch of \p kernel can use it.
class AllocationTest {
public:
  AllocationTest(const PassContext &context, const clang::FunctionDecl *kernel);
  /// Whether the toolkit offers what the function needs.
  bool isPossible() const { return !entryPoint.empty(); }
  const std::string &name() const { return function; }
  /// The function's text with an empty line before it; empty if it stands before the kernel
  /// already.
  std::string missingDefinition() const;

private:
  std::string entryPoint, function;
  bool isDefined = false;
};

} // namespace kbopt

#endif // KBOPT_REWRITE_ALLOCATIONTEST_H
