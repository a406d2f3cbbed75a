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
#include "llvm/ADT/StringRef.h"
#include <map>
#include <optional>
#include <string>

namespace kbopt {

/// Which variable of the second function stands for one of the first; one to one.
using Bindings = std::map<const clang::ValueDecl *, const clang::ValueDecl *>;

/// Binds every parameter and local variable of \p pattern to one of \p function, of another
/// program, so that both do the same. Parameters may come in another order. Nothing if there is no
/// such binding. Statements that it does not know (lambdas, asm, exceptions) match nothing.
std::optional<Bindings> matchFunctions(const clang::FunctionDecl *pattern,
                                       const clang::FunctionDecl *function);

/// What two functions that match have in common whatever their names and the order of operands: the
/// counted tokens of \p text but for names and parentheses. Cheap enough for a thousand patterns.
std::string tokenCounts(llvm::StringRef text);

/// The first kernel in \p text, from `__global__` to the end of its body, by its tokens alone;
/// empty if there is none.
llvm::StringRef firstKernelIn(llvm::StringRef text);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_RECIPE_MATCHFUNCTIONS_H
