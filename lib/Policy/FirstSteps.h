//===- FirstSteps.h - The usual steps, all of them at once ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the first candidate of single steps in a search that ends early: the passes that often pay
// and seldom cost, wherever they apply, as one program.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_POLICY_FIRSTSTEPS_H
#define KBOPT_LIB_POLICY_FIRSTSTEPS_H

#include "kb-opt/Policy/Explorer.h"

namespace kbopt {

/// Tries them where a GPU measures or the time is limited, and moves the explorer's origin to the
/// program if it is better. Ablation takes out what contributed nothing.
llvm::Error tryFirstSteps(Explorer &explorer);

} // namespace kbopt

#endif // KBOPT_LIB_POLICY_FIRSTSTEPS_H
