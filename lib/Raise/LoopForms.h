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

/// A loop whose header does not say how often it runs: \p init, then \p body again and again until
/// it is left by a break.
struct UncountedLoop {
  const clang::Stmt *init = nullptr, *body = nullptr;
  std::string reason; ///< why the loop has no such form
};

class LoopForms {
public:
  /// \p loop as a for loop with an increment: `while (i < n) { … i += step; }` is `for (; i < n; i
  /// += step)`, and `for (;;) { if (i >= n) break; …` has the condition that is asked first. Null
  /// where that is not what it does. The same loop gives the same node.
  const clang::ForStmt *asFor(const clang::Stmt *loop, const clang::ASTContext &ast);
  /// Whether \p loop was a do loop, whose body runs before its condition is asked.
  bool runsFirst(const clang::ForStmt *loop) const { return repeated.count(loop); }
  /// The body of `do { … } while (0)` that nothing leaves; null for anything else.
  static const clang::Stmt *runsOnce(const clang::Stmt *loop, const clang::ASTContext &ast);
  /// Whether the header of \p loop moves an integer variable that its condition compares, and
  /// nothing else does.
  static bool isCounted(const clang::ForStmt *loop, const clang::ASTContext &ast);
  /// \p loop, which is none that counts, with its condition and its increment in its body.
  static UncountedLoop asUncounted(const clang::Stmt *loop, const clang::ASTContext &ast);
  /// \p body after `if (!condition) break;` for each of \p conditions.
  static const clang::Stmt *withExits(const clang::Stmt *body,
                                      llvm::ArrayRef<const clang::Expr *> conditions,
                                      const clang::ASTContext &ast);

private:
  const clang::ForStmt *convert(const clang::Stmt *loop, const clang::ASTContext &ast);
  std::map<const clang::Stmt *, const clang::ForStmt *> known;
  std::set<const clang::ForStmt *> repeated;
};

/// The statement that \p statement consists of: itself, or the only one in a block. Null for
/// several.
const clang::Stmt *onlyStatement(const clang::Stmt *statement);

/// How often \p node names \p variable.
unsigned countMentions(const clang::Stmt *node, const clang::VarDecl *variable);

/// `!condition`.
clang::Expr *negationOf(const clang::Expr *condition, const clang::ASTContext &ast);

/// Whether an iteration of the loop around \p statement may go on with the next one from here.
bool containsContinue(const clang::Stmt *statement);

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_LOOPFORMS_H
