//===- Raise.h - From a kernel to what it computes --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns raising: one kb.nest for every kernel of a program, or the reason why a kernel
// is not raised (docs/Raising.md).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_RAISE_RAISE_H
#define KBOPT_RAISE_RAISE_H

#include "kb-opt/Analysis/Import.h"

namespace kbopt {

/// Appends the raised form of \p kernel to \p program's IR: a kb.nest, or a kb.unraised with the
/// reason in the user's words (lower case, no full stop, names the user's objects). Never guesses:
/// a nest computes exactly what a launch of the kernel computes wherever its requirements hold, but
/// for the order of the terms of kb.reduce operations. Texts in it are the user's.
mlir::Operation *raiseKernel(ImportedProgram &program, kb::KernelOp kernel);

/// Raises every kernel of \p program.
void raiseProgram(ImportedProgram &program);

} // namespace kbopt

#endif // KBOPT_RAISE_RAISE_H
