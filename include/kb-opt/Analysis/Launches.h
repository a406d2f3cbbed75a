//===- Launches.h - What all launches of a kernel have in common -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the question for the ranges of a kernel's launch configurations.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_ANALYSIS_LAUNCHES_H
#define KBOPT_ANALYSIS_LAUNCHES_H

#include "kb-opt/Analysis/Import.h"
#include "kb-opt/Analysis/Poly.h"

namespace kbopt {

/// The ranges of block and grid extents and of integer arguments over all launches of \p kernel;
/// the limits of the hardware if there may be unseen launches.
analysis::LaunchRanges launchRangesOf(const ImportedProgram &program, kb::KernelOp kernel);

} // namespace kbopt

#endif // KBOPT_ANALYSIS_LAUNCHES_H
