//===- ScheduleChoices.h - The schedules of a kernel, in order --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns nests with simpler sums while they are in use. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_SCHEDULECHOICES_H
#define KBOPT_LIB_REWRITE_SCHEDULE_SCHEDULECHOICES_H

#include "kb-opt/Raise/Simplify.h"
#include "kb-opt/Rewrite/SchedulePass.h"
#include <utility>

namespace kbopt {

/// The nest that a schedule is for: the raised one, or a copy of it with simpler sums that lives as
/// long as this.
class NestInUse {
public:
  static llvm::Expected<NestInUse> create(kb::NestOp nest, const Schedule &schedule) {
    if (!schedule.integer("simplify"))
      return NestInUse(nest, false);
    llvm::Expected<kb::NestOp> copy = simplifyReductions(nest);
    if (!copy)
      return copy.takeError();
    return NestInUse(*copy, true);
  }
  NestInUse(NestInUse &&other) : nest(other.nest), isCopy(std::exchange(other.isCopy, false)) {}
  ~NestInUse() {
    if (isCopy)
      nest.erase();
  }
  kb::NestOp get() const { return nest; }

private:
  NestInUse(kb::NestOp nest, bool isCopy) : nest(nest), isCopy(isCopy) {}
  kb::NestOp nest;
  bool isCopy;
};

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_SCHEDULECHOICES_H
