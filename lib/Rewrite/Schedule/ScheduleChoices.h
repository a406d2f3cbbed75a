//===- ScheduleChoices.h - The schedules of a kernel, in order --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns nests with simpler sums, with points by phase, or with sums in parts, while they are in use.
// Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_SCHEDULECHOICES_H
#define KBOPT_LIB_REWRITE_SCHEDULE_SCHEDULECHOICES_H

#include "PartSums.h"
#include "kb-opt/Rewrite/SchedulePass.h"
#include <utility>

namespace kbopt {

/// The nest that a schedule is for: the raised one, or one with simpler sums, with points by phase
/// or with sums in parts that lives as long as this.
class NestInUse {
public:
  /// What the keys `simplify`, `phases` and `parts` of \p schedule make of \p nest.
  static llvm::Expected<NestInUse> create(kb::NestOp nest, const Schedule &schedule);
  NestInUse(NestInUse &&other)
      : nest(other.nest), simpler(std::exchange(other.simpler, {})),
        byPhase(std::exchange(other.byPhase, {})), sums(std::exchange(other.sums, std::nullopt)) {}
  ~NestInUse();
  kb::NestOp get() const { return nest; }
  /// What adds up the parts, and their memory; null if there are none.
  const PartSums *parts() const { return sums ? &*sums : nullptr; }

private:
  explicit NestInUse(kb::NestOp nest) : nest(nest) {}
  kb::NestOp nest, simpler, byPhase;
  std::optional<PartSums> sums;
};

/// The schedule of what is launched after another kernel, with accesses of at most \p vector
/// elements. It depends on no size.
llvm::Expected<Schedule> scheduleAfter(const PassContext &context, kb::NestOp nest, int64_t vector);

/// The keys of \p schedule that say which nest it is for, and those that a sketch knows.
std::pair<Schedule, Schedule> keysOfNest(const Schedule &schedule);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_SCHEDULECHOICES_H
