//===- Coverage.h - Which elements a launch covers ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the proof that a launch has a thread for every element that its kernel's
// guard admits, so that grid and block may change as long as they still do.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_COVERAGE_H
#define KBOPT_REWRITE_COVERAGE_H

#include "kb-opt/Rewrite/AstTools.h"

namespace kbopt {

/// `int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { … }`, or the
/// same with an early return: the kernel's last statement(s).
struct GuardedElements {
  const clang::VarDecl *index = nullptr; ///< i
  const clang::Expr *count = nullptr;    ///< n
  /// Other conditions of the guard, joined by &&.
  std::vector<const clang::Expr *> others;
  const clang::IfStmt *guard = nullptr;
  /// What runs per element: one statement, or those after an early return.
  std::vector<const clang::Stmt *> body;
};

/// The guard of \p kernel, which must be the end of its body; none if it has
/// another shape. Side effects before the guard count as another shape.
std::optional<GuardedElements> guardedElements(const KernelView &kernel);

/// Whether a launch covers all elements, or why that is not known.
class [[nodiscard]] Coverage {
public:
  static Coverage proven() { return Coverage(""); }
  static Coverage unknown(const llvm::Twine &why) { return Coverage(why.str()); }
  explicit operator bool() const { return why.empty(); }
  llvm::StringRef reason() const { return why; }

private:
  explicit Coverage(std::string why) : why(std::move(why)) {}
  std::string why;
};

/// Proven if \p kernel is guarded by `i < n` and \p launch computes its grid as n over its block,
/// rounded up.
Coverage coverageOf(const PassContext &context, const KernelView &kernel, const LaunchFact &launch);

} // namespace kbopt

#endif // KBOPT_REWRITE_COVERAGE_H
