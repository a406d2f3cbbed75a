//===- WideIslands.h - Float64 between floats -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the question whether a program's float64 arithmetic may be rounded to float32
// to see what that does to its results (docs/VerificationNumerics.md). Private to lib/Eval.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_WIDEISLANDS_H
#define KBOPT_LIB_EVAL_WIDEISLANDS_H

#include "llvm/ADT/StringRef.h"

namespace kbopt {

/// Whether \p ptx has float64 arithmetic, and all of it in expressions: values come from
/// conversions and constants and end in conversions and comparisons. Nothing of float64 is
/// loaded, stored, summed up in a loop, passed to a function or taken apart into bits.
bool isWideBetweenFloats(llvm::StringRef ptx);

} // namespace kbopt

#endif // KBOPT_LIB_EVAL_WIDEISLANDS_H
