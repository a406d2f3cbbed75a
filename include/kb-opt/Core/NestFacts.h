//===- NestFacts.h - What schedules of a kernel are judged by ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the record that goes with the schedules of a raised kernel: what is computed, how large it
// is, and what the model says of each schedule. Plain data, so that evidence can hold it.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CORE_NESTFACTS_H
#define KBOPT_CORE_NESTFACTS_H

#include <map>
#include <string>

namespace kbopt {

struct NestFacts {
  /// Figures by name, as docs/Knowledge.md lists them: counts, and binary logarithms of sizes.
  /// Empty where the kernel is not raised or its sizes are unknown.
  std::map<std::string, double> figures;
  /// Modelled microseconds of one launch by the text of the schedule, where the model tells.
  std::map<std::string, double> estimatesUs;
};

} // namespace kbopt

#endif // KBOPT_CORE_NESTFACTS_H
