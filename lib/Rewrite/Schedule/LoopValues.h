//===- LoopValues.h - What is passed, over variables of loops ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the values that a launch in loops of the host passes, as polynomials in the loops' variables
// over what the kernel's parameters stand for. What no parameter stands for becomes a new one.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_LOOPVALUES_H
#define KBOPT_LIB_REWRITE_SCHEDULE_LOOPVALUES_H

#include "LaunchLoop.h"
#include "LaunchedNest.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace kbopt {

/// A pointer as an array and the elements after its beginning.
struct HostPointer {
  const clang::Expr *base = nullptr;
  mlir::AffineExpr offset; ///< in elements of what the pointer points to
};

class LoopValues {
public:
  /// \p loops outermost first. \p parameters and \p symbols are those that values may be written
  /// with; both grow.
  LoopValues(const PassContext &context, const LaunchFact &fact, llvm::ArrayRef<LaunchLoop> loops,
             std::vector<PassedParameter> &parameters, std::vector<kb::SymbolAttr> &symbols,
             mlir::MLIRContext *mlirContext);

  /// Adds how often each loop runs to \p counts. Called first; an error is a reason.
  llvm::Error findBegins(std::vector<mlir::AffineExpr> &counts);
  /// \p expr, an integer, with loop k as dimension k and symbols at their places in the list. An
  /// error is a reason.
  llvm::Expected<mlir::AffineExpr> valueOf(const clang::Expr *expr);
  llvm::Expected<HostPointer> pointerOf(const clang::Expr *expr);
  /// Whether \p expr has another value in another iteration of one of the loops.
  bool changes(const clang::Expr *expr) const;
  /// Whether \p expr, or text of it, names something that is declared in the loops.
  bool isInside(const clang::Expr *expr) const;
  bool isInside(llvm::StringRef text) const;
  /// \p wanted, or \p wanted with a number if it has another meaning in the kernel already.
  std::string freshName(llvm::StringRef wanted);
  /// From now on \p name is taken.
  void reserve(llvm::StringRef name) { taken.insert(name); }

private:
  llvm::Expected<mlir::AffineExpr> binary(const clang::BinaryOperator *expr);
  llvm::Expected<mlir::AffineExpr> leaf(const clang::Expr *expr);
  llvm::Error refuse(const clang::Expr *expr, const llvm::Twine &why) const;
  mlir::AffineExpr symbolAt(size_t position) const;
  mlir::AffineExpr symbolOf(kb::ParamAttr parameter);

  const PassContext &context;
  const LaunchFact &fact;
  llvm::ArrayRef<LaunchLoop> loops;
  std::vector<PassedParameter> &parameters;
  std::vector<kb::SymbolAttr> &symbols;
  mlir::MLIRContext *mlirContext;
  std::vector<const clang::VarDecl *> variables;
  std::vector<mlir::AffineExpr> begins;                ///< of the variables
  llvm::StringSet<> taken, declared;                   ///< `declared`: in the loops
  llvm::SmallPtrSet<const clang::VarDecl *, 8> inside; ///< the same as variables
};

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_LOOPVALUES_H
