//===- TeamText.h - Texts with holes ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns small questions and changes on the texts of a thread program. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_TEAMTEXT_H
#define KBOPT_LIB_RAISE_TEAMTEXT_H

#include "ThreadProgram.h"

namespace kbopt::raise {

/// Every text of \p statement itself, also those inside collective operands.
void forEachText(Statement &statement, llvm::function_ref<void(Text &)> visit);
/// The identifier \p from becomes \p to, also in arguments of collectives.
void renameIn(Text &text, llvm::StringRef from, llvm::StringRef to);
void renameIn(std::vector<Statement> &body, llvm::StringRef from, llvm::StringRef to);
/// Puts \p value where hole \p hole is; later holes move up.
void fillHole(Text &text, unsigned hole, const Text &value);
/// Gives equal elements and indices among the operands one hole.
void mergeEqualOperands(Text &text);
/// Without blanks and parentheses around it.
llvm::StringRef bare(llvm::StringRef text);
/// The operand if \p text is nothing but a hole.
Operand *onlyOperand(Text &text);
/// Whether \p text is an identifier.
bool isName(llvm::StringRef text);

/// How a text combines two holes: "add" for `$0 + $1`. Empty kind: in no way that is known.
struct Combination {
  std::string reduction, combine;
};
Combination combinationIn(llvm::StringRef text);
/// The usual way to combine for a kind of reduction.
Combination combinationOf(llvm::StringRef reduction);

/// Whether \p literal changes nothing when it is combined.
bool isIdentity(llvm::StringRef literal, llvm::StringRef reduction);
/// Whether combining a value twice is the same as once.
bool isIdempotent(llvm::StringRef reduction);

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_TEAMTEXT_H
