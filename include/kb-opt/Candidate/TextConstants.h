//===- TextConstants.h - The numbers that a source names --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what numbers stand in the text of a program.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CANDIDATE_TEXTCONSTANTS_H
#define KBOPT_CANDIDATE_TEXTCONSTANTS_H

#include "kb-opt/Plan/BoundaryInputs.h"

namespace kbopt {

/// The literals of \p text, a CUDA C++ file, and products, powers of two and quotients of literals
/// that stand beside each other, as in `1 << 20` and `4 * 1024`. Comments and strings do not count.
ProgramConstants textConstants(llvm::StringRef text);

} // namespace kbopt

#endif // KBOPT_CANDIDATE_TEXTCONSTANTS_H
