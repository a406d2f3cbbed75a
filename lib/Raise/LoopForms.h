//===- LoopForms.h - Loops as for loops -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the view of while and do loops as the for loops that they could have been written as.
// Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_LOOPFORMS_H
#define KBOPT_LIB_RAISE_LOOPFORMS_H

#include "clang/AST/ASTContext.h"
#include "clang/AST/Stmt.h"
#include <map>
#include <set>

namespace kbopt::raise {

class LoopForms {
public:
  /// \p loop as a for loop with an increment: `while (i < n) { … i += step; }` is `for (; i < n; i
  /// += step)`, and `for (;;) { if (i >= n) break; …` has the condition that is asked first. Null
  /// where that is not what it does. The same loop gives the same node.
  const clang::ForStmt *asFor(const clang::Stmt *loop, const clang::ASTContext &ast);
  /// Whether \p loop was a do loop, whose body runs before its condition is asked.
  bool runsFirst(const clang::ForStmt *loop) const { return repeated.count(loop); }

private:
  const clang::ForStmt *convert(const clang::Stmt *loop, const clang::ASTContext &ast);
  std::map<const clang::Stmt *, const clang::ForStmt *> known;
  std::set<const clang::ForStmt *> repeated;
};

/// The statement that \p statement consists of: itself, or the only one in a block. Null for
/// several.
const clang::Stmt *onlyStatement(const clang::Stmt *statement);

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_LOOPFORMS_H
