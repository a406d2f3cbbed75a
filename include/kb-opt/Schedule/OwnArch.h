//===- OwnArch.h - What a chip's own architecture gives ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what a remark tells of code that the user could have by another flag of the compiler.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SCHEDULE_OWNARCH_H
#define KBOPT_SCHEDULE_OWNARCH_H

#include "kb-opt/Schedule/Sketch.h"

namespace kbopt {

/// What a kernel of \p schedule would gain if the program were compiled for the own architecture of
/// \p chip (sm_90a), in the user's words; empty if nothing.
std::string gainOfOwnArch(const Schedule &schedule, const ChipInfo &chip);

} // namespace kbopt

#endif // KBOPT_SCHEDULE_OWNARCH_H
