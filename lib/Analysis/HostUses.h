//===- HostUses.h - How host code uses its variables and functions -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the tables of one program that questions about launches look into: its functions, their
// callers, and which variables only allocations fill. Each is made by one walk. Private to the
// library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_ANALYSIS_HOSTUSES_H
#define KBOPT_LIB_ANALYSIS_HOSTUSES_H

#include "kb-opt/Source/ParsedProgram.h"
#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <vector>

namespace kbopt::analysis {

/// Whether \p function is an allocation of CUDA's runtime that fills the pointer behind its first
/// argument.
bool isAllocation(const clang::FunctionDecl *function);

/// A call in host code.
struct HostCall {
  const clang::CallExpr *call;
  const clang::FunctionDecl *caller;

  /// What is passed for \p variable; null if it is no parameter.
  const clang::Expr *passed(const clang::VarDecl *variable) const;
};

/// What some text does with variables other than to read them.
struct VariableUses {
  llvm::DenseSet<const clang::ValueDecl *> allocated; ///< `cudaMalloc(&variable, …)`
  llvm::DenseSet<const clang::ValueDecl *> escaped;   ///< any other use that may change them
};

/// The functions of a program with their calls and variables.
class HostUses {
public:
  /// Made when it is first asked for; lives as long as \p program.
  static HostUses &of(const ParsedProgram &program);

  /// Every function with a body of the main file and of the user's headers.
  llvm::ArrayRef<const clang::FunctionDecl *> functions() const { return all; }
  bool contains(const clang::FunctionDecl *function) const { return known.contains(function); }
  /// In the order of the functions that make them.
  llvm::ArrayRef<HostCall> callsOf(const clang::FunctionDecl *function);
  /// Whether \p function is named where it is not called.
  bool isNamedOutsideCalls(const clang::FunctionDecl *function);
  /// The uses in the body of \p function.
  const VariableUses &usesIn(const clang::FunctionDecl *function);
  /// The uses in all functions.
  const VariableUses &usesAnywhere();

private:
  explicit HostUses(const ParsedProgram &program);
  void collectCalls();

  std::vector<const clang::FunctionDecl *> all;
  llvm::DenseSet<const clang::FunctionDecl *> known;
  bool hasCalls = false;
  llvm::DenseMap<const clang::FunctionDecl *, std::vector<HostCall>> calls;
  llvm::DenseSet<const clang::FunctionDecl *> named;
  std::map<const clang::FunctionDecl *, VariableUses> uses;
  std::optional<VariableUses> everywhere;
};

} // namespace kbopt::analysis

#endif // KBOPT_LIB_ANALYSIS_HOSTUSES_H
