//===- Clock.h - Time behind an interface -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_SUPPORT_CLOCK_H
#define KBOPT_SUPPORT_CLOCK_H

#include <string>

namespace kbopt {

class Clock {
public:
  virtual ~Clock();
  /// Seconds from an arbitrary start; never goes back.
  virtual double monotonicSeconds() = 0;
  /// UTC in RFC 3339, whole seconds.
  virtual std::string timestamp() = 0;
};

Clock &realClock();

class FakeClock : public Clock {
public:
  double now = 0;
  double monotonicSeconds() override { return now; }
  std::string timestamp() override { return "2000-01-01T00:00:00Z"; }
};

} // namespace kbopt

#endif // KBOPT_SUPPORT_CLOCK_H
