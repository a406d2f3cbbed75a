//===- StencilWindows.h - Windows of neighbouring points --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the form of the sketch `stencil` for points that each combine a window of elements in loops.
// Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_STENCILWINDOWS_H
#define KBOPT_LIB_SCHEDULE_STENCILWINDOWS_H

#include "kb-opt/Schedule/Sketch.h"

namespace kbopt {

/// The schedules for \p nest, of the class of `whyNoWindow`, most promising first. None where
/// neither constants nor \p sizes tell how large its windows are.
std::vector<Schedule> windowSchedules(kb::NestOp nest, const LaunchSizes &sizes);

/// The kernel of \p nest with one of these schedules.
llvm::Expected<GeneratedKernel> printWindows(kb::NestOp nest, llvm::StringRef name);

/// How many elements a thread holds in registers with \p schedule, one of these.
int64_t heldElements(kb::NestOp nest, const Schedule &schedule);

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_STENCILWINDOWS_H
