//===- Reround.h - A direction of rounding for each operation ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns a step of an image build that only the judge's own images have; the others are
// declared in Steps.h.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_CPU_REROUND_H
#define KBOPT_LIB_EVAL_CPU_REROUND_H

#include "ImageContext.h"

namespace kbopt::cpu {

/// Gives each operation a direction of rounding of its own, and narrows, where the device code
/// asks for it (kb-opt/Eval/DirectedRounding.h).
void reround(ImageContext &context);

} // namespace kbopt::cpu

#endif // KBOPT_LIB_EVAL_CPU_REROUND_H
