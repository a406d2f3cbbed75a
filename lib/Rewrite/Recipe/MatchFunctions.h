//===- MatchFunctions.h - Two functions that do the same --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the comparison of two functions of two programs up to names: the same statements on the same
// types, with operands of commutative operators in any order. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_RECIPE_MATCHFUNCTIONS_H
#define KBOPT_LIB_REWRITE_RECIPE_MATCHFUNCTIONS_H

#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <optional>
#include <string>

namespace kbopt {

/// Which variable of the second function stands for one of the first; one to one.
using Bindings = std::map<const clang::ValueDecl *, const clang::ValueDecl *>;

struct OpenPlace {
  unsigned number;           ///< of the text that it is
  const clang::Expr *around; ///< the same with what stands around it wherever it stands
};
/// Expressions of the first function, stripped (ast::strip), for which others may stand.
using OpenPlaces = std::map<const clang::Expr *, OpenPlace>;

struct FunctionMatch {
  Bindings bindings;
  /// By number what stands for an open expression.
  std::map<unsigned, const clang::Expr *> open;
  /// Parameters of the second function that no parameter of the first stands for: what stands for
  /// open expressions uses them, or nothing does.
  std::vector<const clang::ParmVarDecl *> extra;
};

/// Binds the parameters and local variables of \p pattern to those of \p function, of another
/// program, so that both do the same but for what stands at \p open. There the second function may
/// compute anything of the same type without effects, from its parameters and from what stands for
/// the variables of and around that expression; equal open expressions stand for equal ones.
/// Parameters may come in another order, and a pointer to constant values for one to others. A
/// parameter of the pattern remains unbound if open expressions alone use it. Nothing if there is
/// no such binding. Statements that it does not know (lambdas, asm, exceptions) match nothing.
std::optional<FunctionMatch> matchFunctions(const clang::FunctionDecl *pattern,
                                            const clang::FunctionDecl *function,
                                            const OpenPlaces &open = {});

/// Tokens of a function's body but for names, parentheses and qualifiers, counted.
using TokenCounts = std::map<std::string, unsigned>;

/// What two functions that match have in common whatever their names and the order of operands.
/// Cheap enough for a thousand patterns. The second form leaves the expressions \p open out.
TokenCounts tokenCounts(llvm::StringRef function);
TokenCounts tokenCounts(llvm::StringRef function, llvm::ArrayRef<llvm::StringRef> open);

/// Whether a function with the counts \p pattern may match one with the counts \p function;
/// \p isOpen if expressions were left out of the first.
bool mayStandFor(const TokenCounts &pattern, bool isOpen, const TokenCounts &function);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_RECIPE_MATCHFUNCTIONS_H
