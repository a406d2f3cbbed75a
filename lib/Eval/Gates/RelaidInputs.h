//===- RelaidInputs.h - Inputs that a host hands over otherwise -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns telling an upload that holds a program's inputs in another form (fields apart, rows padded,
// edges turned round) from one that holds what the device should compute.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_GATES_RELAIDINPUTS_H
#define KBOPT_LIB_EVAL_GATES_RELAIDINPUTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace kbopt {

/// Whether \p upload consists of words of \p inputs, the original's uploads, and holds none of \p
/// results; of indices as well where the host \p mayIndex: it has read no result that they could
/// come from.
bool isRelaid(llvm::StringRef upload, llvm::ArrayRef<llvm::StringRef> inputs,
              llvm::ArrayRef<llvm::StringRef> results, bool mayIndex);

} // namespace kbopt

#endif // KBOPT_LIB_EVAL_GATES_RELAIDINPUTS_H
