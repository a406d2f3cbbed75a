//===- Answers.h - What the findings and states name ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the candidates that the search owes to what is known of the original: for each kernel that
// takes time, the passes that findings name and those that answer its primary state.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_POLICY_ANSWERS_H
#define KBOPT_LIB_POLICY_ANSWERS_H

#include "kb-opt/Policy/Explorer.h"

namespace kbopt {

/// Tries these passes at the explorer's origin, each by itself, and returns the fastest program
/// with the step that made it; nothing where none is faster.
llvm::Expected<std::optional<Leader>> tryAnswers(Explorer &explorer);

/// Tries \p answer together with the steps from \p start to \p scheduled that concern other
/// kernels, and returns the fastest of the three programs.
llvm::Expected<NodeId> joinAnswer(Explorer &explorer, const NodeId &start, const Leader &answer,
                                  const NodeId &scheduled);

} // namespace kbopt

#endif // KBOPT_LIB_POLICY_ANSWERS_H
