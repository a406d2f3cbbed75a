//===- LaunchArguments.h - What one launch passes ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns questions about the pointers of a single launch. Those about all launches of a
// kernel are in Legality.h.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_ANALYSIS_LAUNCHARGUMENTS_H
#define KBOPT_ANALYSIS_LAUNCHARGUMENTS_H

#include "kb-opt/Analysis/Answer.h"
#include "kb-opt/Source/ProgramFacts.h"

namespace kbopt {

/// Whether pointers \p first and \p second of \p launch may refer to overlapping memory, as
/// argumentsMayOverlap asks it of every launch of a kernel.
Answer launchArgumentsMayOverlap(const ParsedProgram &program, const LaunchFact &launch,
                                 unsigned first, unsigned second);

/// The same of \p first and \p second, pointers as the function around \p launch sees them.
Answer hostPointersMayOverlap(const ParsedProgram &program, const LaunchFact &launch,
                              const clang::Expr *first, const clang::Expr *second);

/// Whether \p pointer in the function around \p launch is a variable of it that is filled by one
/// allocation, and that nothing uses but frees and the launches \p users.
Answer isOnlyUsedBy(const ParsedProgram &program, const LaunchFact &launch,
                    const clang::Expr *pointer, llvm::ArrayRef<const clang::CallExpr *> users);

/// Whether argument \p argument of \p launch is always what an allocation returned: then it is
/// aligned to 256 bytes. False where that is not known.
bool isStartOfAllocation(const ParsedProgram &program, const LaunchFact &launch, unsigned argument);

} // namespace kbopt

#endif // KBOPT_ANALYSIS_LAUNCHARGUMENTS_H
