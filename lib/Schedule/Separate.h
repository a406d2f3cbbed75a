//===- Separate.h - Which arrays may be one ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns which parameters of a nest of independent points may be passed the same memory, and which
// the launch must keep apart. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_SEPARATE_H
#define KBOPT_LIB_SCHEDULE_SEPARATE_H

#include "LaneLoop.h"

namespace kbopt {

/// Requires that parameters do not overlap, but those that may be the same array: where each point
/// uses one element of both, no thread sees what another one stores. The pointer parameters that
/// are then the only way to what they point to.
llvm::StringSet<> separateParameters(CudaText &text, Needs &needs);

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_SEPARATE_H
