//===- NestFigures.h - A nest in a few numbers ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the figures by which nests are told to be alike: what is known of the schedules of one is
// then known of the other.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SCHEDULE_NESTFIGURES_H
#define KBOPT_SCHEDULE_NESTFIGURES_H

#include "kb-opt/Schedule/Sketch.h"

namespace kbopt {

/// Figures of \p nest for \p sizes by name (NestFacts::figures). Empty where the sizes do not tell.
std::map<std::string, double> nestFigures(kb::NestOp nest, const LaunchSizes &sizes);

} // namespace kbopt

#endif // KBOPT_SCHEDULE_NESTFIGURES_H
