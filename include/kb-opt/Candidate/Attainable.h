//===- Attainable.h - What no rewrite of a program goes below ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the one figure of how fast a program can become on a chip: stop rule, prompts and report all
// go by it.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CANDIDATE_ATTAINABLE_H
#define KBOPT_CANDIDATE_ATTAINABLE_H

#include "kb-opt/Core/AttainableTime.h"
#include "kb-opt/Target/ChipInfo.h"
#include "kbrt/Plan.h"

namespace kbopt {

/// The least time of any rewrite of the program with the recorded \p plan, whose kernels and
/// launches as they are need \p floorUs at least (0: unknown): one launch, in which the device
/// reads each upload and writes each result once. Where the given kernels need less, because they
/// read parts of the uploads, that counts. Nothing where \p floorUs or the chip's bandwidth is
/// unknown.
AttainableTime attainableTime(const kbrt::Plan &plan, double floorUs, const ChipInfo &chip);

} // namespace kbopt

#endif // KBOPT_CANDIDATE_ATTAINABLE_H
