//===- Sketches.h - Whole schedules before single steps ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the first phase of every search: for each kernel that could be raised, the schedules
// that its sketches list are tried together, and the search goes on from the best.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_POLICY_SKETCHES_H
#define KBOPT_LIB_POLICY_SKETCHES_H

#include "kb-opt/Policy/Explorer.h"

namespace kbopt {

/// Takes the kernels in the order of their share of the program's time and moves
/// the explorer's origin to the best program. Returns why the search must end, if it must.
llvm::Expected<std::optional<SearchEnd>> trySketches(Explorer &explorer);

} // namespace kbopt

#endif // KBOPT_LIB_POLICY_SKETCHES_H
