//===- RecordedValues.h - What a recorded launch says of its host -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the values of the expressions that the original's launches are written with. The original
// and the candidate are two ASTs: an expression of one has the value of an expression of the other
// where both are printed alike, have one type and name no variable of the candidate's own.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_LAUNCHMAP_RECORDEDVALUES_H
#define KBOPT_LIB_REWRITE_LAUNCHMAP_RECORDEDVALUES_H

#include "HostValue.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace kbopt::hostmap {

/// What does not depend on a launch, computed once for each expression.
class ExprFacts {
public:
  /// The text of \p expr without the cast that makes its type, and that type.
  llvm::StringRef key(const clang::Expr *expr, const clang::ASTContext &ast);
  /// The value of a constant expression; monostate if it is none.
  const HostValue &constant(const clang::Expr *expr, const clang::ASTContext &ast);
  llvm::StringRef mangledName(const clang::FunctionDecl *function);
  /// Whether \p variable, of \p function, has one value from its declaration on, which its
  /// initialiser has wherever it is evaluated. A parameter that nothing changes is one as well.
  bool isFixed(const clang::VarDecl *variable, const clang::FunctionDecl *function);

private:
  bool isFixedInitialiser(const clang::Expr *init, const clang::FunctionDecl *function);

  llvm::DenseMap<const clang::Expr *, std::string> keys;
  std::map<const clang::Expr *, HostValue> constants;
  llvm::DenseMap<const clang::FunctionDecl *, std::string> names;
  std::map<const clang::VarDecl *, bool> fixed;
};

class RecordedValues {
public:
  explicit RecordedValues(ExprFacts &facts) : facts(facts) {}

  /// Takes the values of \p call, a launch of the original in \p function, from \p step. False if
  /// the recorded launch cannot be one of that place: its kernel, a constant or a value that
  /// another launch of the group gives is different.
  bool addLaunch(const clang::CUDAKernelCallExpr *call, const clang::FunctionDecl *function,
                 const kbrt::LaunchStep &step, const clang::ASTContext &ast);
  /// The value of \p expr, of the candidate; null if no launch gives it.
  const HostValue *find(const clang::Expr *expr, const clang::ASTContext &ast) const;
  /// The expressions of the original that consist of others, with their values.
  llvm::ArrayRef<std::pair<const clang::Expr *, HostValue>> expressions() const { return composed; }
  /// What the null stream is in the plan.
  uint32_t nullStream() const { return noStream; }

private:
  bool bind(const clang::Expr *expr, HostValue value, const clang::ASTContext &ast);
  bool bindComponents(const clang::CXXConstructExpr *construct, const kbrt::Dim3 &value,
                      const clang::ASTContext &ast);

  ExprFacts &facts;
  llvm::StringMap<HostValue> values;
  std::vector<std::pair<const clang::Expr *, HostValue>> composed;
  const clang::FunctionDecl *host = nullptr; ///< around the launch that is added
  uint32_t noStream = 0;
};

/// Whether \p expr is a null pointer: the default stream.
bool isNullPointer(const clang::Expr *expr, const clang::ASTContext &ast);

/// The operand of \p expr if that only passes it on: parentheses, temporaries, copies.
const clang::Expr *passedOn(const clang::Expr *expr);

} // namespace kbopt::hostmap

#endif // KBOPT_LIB_REWRITE_LAUNCHMAP_RECORDEDVALUES_H
