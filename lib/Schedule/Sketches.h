//===- Sketches.h - The sketches of the library -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns one declaration per sketch. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_SKETCHES_H
#define KBOPT_LIB_SCHEDULE_SKETCHES_H

#include "kb-opt/Schedule/Sketch.h"

namespace kbopt {

const Sketch &rowsSketch();
const Sketch &contractionSketch();
const Sketch &mapSketch();
const Sketch &columnsSketch();
const Sketch &stencilSketch();
const Sketch &transposeSketch();
const Sketch &reuseSketch();
const Sketch &scatterSketch();
const Sketch &scanSketch();

/// The schedules of the sketch `rows` for \p nest.
std::vector<Schedule> rowsSchedules(kb::NestOp nest, const ChipInfo &chip, const LaunchSizes &sizes,
                                    const Freedom &freedom);

/// What comes after \p schedule, one of these, where it cannot run.
std::optional<Schedule> rowsOtherwise(kb::NestOp nest, const ChipInfo &chip,
                                      const Schedule &schedule);

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_SKETCHES_H
