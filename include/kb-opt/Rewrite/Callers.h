//===- Callers.h - Callers of a function --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the calls of the user's functions in one file.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_CALLERS_H
#define KBOPT_REWRITE_CALLERS_H

#include "kb-opt/Source/ParsedProgram.h"

namespace kbopt {

/// The calls of each function outside system headers, and its other mentions. Instantiations of
/// templates are functions of their own.
class Callers {
public:
  struct Call {
    const clang::CallExpr *call;
    const clang::FunctionDecl *caller; ///< null outside functions
  };

  /// Those of \p program, which are collected once.
  static const Callers &in(const ParsedProgram &program);

  llvm::ArrayRef<Call> callsOf(const clang::FunctionDecl *function) const;
  /// Those of \p function, or, if it is of a template, of all that come from it.
  std::vector<Call> callsOfPattern(const clang::FunctionDecl *function) const;
  /// Whether something else than a direct call names \p function.
  bool hasOtherUses(const clang::FunctionDecl *function) const;
  bool mayBeCalledByTemplate(const clang::FunctionDecl *function) const;

private:
  class Finder;
  std::map<const clang::FunctionDecl *, std::vector<Call>> calls;
  std::map<const clang::FunctionDecl *, unsigned> mentions;
  std::set<std::string> unresolved; ///< names that templates call
};

} // namespace kbopt

#endif // KBOPT_REWRITE_CALLERS_H
