//===- ScheduleText.h - Schedules as people write them ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the text of a schedule, as in schedule{as='rows team=32 rows=8'}: the sketch,
// then its keys in alphabetical order.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SCHEDULE_SCHEDULETEXT_H
#define KBOPT_SCHEDULE_SCHEDULETEXT_H

#include "kb-opt/Schedule/Sketch.h"
#include <map>

namespace kbopt {

/// "rows cache=registers rows=8 team=32".
std::string scheduleText(const Schedule &schedule);

/// The schedule that \p text writes. Errors are reasons: a word that is no key=value, a sketch
/// that there is not.
llvm::Expected<Schedule> parseSchedule(llvm::StringRef text);

/// Values of parameters, by name: the size of a window, its stride.
using FixedValues = std::map<std::string, int64_t>;

/// The values that \p schedule is for, which its key `fixed` names as in `fixed=K:3,stride:2`.
/// Nothing if the key is not written so.
std::optional<FixedValues> fixedValues(const Schedule &schedule);
/// Those of "K:3,stride:2".
std::optional<FixedValues> fixedValues(llvm::StringRef text);

} // namespace kbopt

#endif // KBOPT_SCHEDULE_SCHEDULETEXT_H
