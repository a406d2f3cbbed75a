//===- HostPath.h - What the host does after a launch -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the walk over a host function that says whether the host waits for the
// device before it could see what the device has written.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PASSES_CLEAN_HOST_LAUNCHES_HOSTPATH_H
#define KBOPT_PASSES_CLEAN_HOST_LAUNCHES_HOSTPATH_H

#include "kb-opt/Rewrite/AstTools.h"

namespace kbopt::hostpath {

/// The name of the function that \p statement, a call alone, calls; empty if it is something else.
llvm::StringRef calledAlone(const clang::Stmt *statement);

/// What one walk over a host function finds.
struct HostTables {
  explicit HostTables(const clang::FunctionDecl *function);
  llvm::DenseMap<const clang::Stmt *, const clang::Stmt *> parents;
  std::set<const clang::VarDecl *> addressTaken;
};

/// Statements, with the way up from each.
class HostFunction {
public:
  HostFunction(const PassContext &context, const clang::FunctionDecl *function);

  const clang::FunctionDecl *function() const { return host; }
  /// The statement around \p statement; null for the body.
  const clang::Stmt *parentOf(const clang::Stmt *statement) const;
  /// The statement of a block that is \p inner or contains it; null if there is none.
  const clang::Stmt *inBlock(const clang::Stmt *inner) const;
  /// Whether evaluating \p expr calls nothing and reads no memory but local variables that only the
  /// host writes.
  bool readsNoMemory(const clang::Expr *expr) const;

  /// What may happen from a place on, before the host waits for the device.
  struct Answer {
    /// The first statement that may see what the device writes; null: none before the end of the
    /// function.
    const clang::Stmt *reader = nullptr;
    bool reachesEnd = false; ///< the function may return without a wait
    bool isSafe() const { return !reader && !reachesEnd; }
  };
  /// After \p statement of a block; \p within: what follows that loop does not count.
  Answer after(const clang::Stmt *statement, const clang::Stmt *within = nullptr) const;

private:
  enum class Effect { Quiet, Waits, Reads };
  Effect effectOf(const clang::Stmt *statement, const clang::Stmt *&reader) const;
  Effect effectOfCall(const clang::CallExpr *call) const;

  const PassContext &context;
  const clang::FunctionDecl *host;
  const HostTables &tables;
};

} // namespace kbopt::hostpath

#endif // KBOPT_PASSES_CLEAN_HOST_LAUNCHES_HOSTPATH_H
