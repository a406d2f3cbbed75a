//===- WaitingClock.h - A clock that can be waited for ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns waiting: for a service that asks for patience, for a file that another process
// will write. Tests wait on a fake and take no time.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SUPPORT_WAITINGCLOCK_H
#define KBOPT_SUPPORT_WAITINGCLOCK_H

#include "kb-opt/Support/Clock.h"
#include <mutex>
#include <vector>

namespace kbopt {

/// Thread-safe.
class WaitingClock : public Clock {
public:
  /// Returns after \p seconds, or as soon as the user interrupts.
  virtual void sleepSeconds(double seconds) = 0;
};

WaitingClock &realWaitingClock();

/// Its time passes only by waiting.
class FakeWaitingClock : public WaitingClock {
public:
  double monotonicSeconds() override;
  /// From 2000-01-01T00:00:00Z on.
  std::string timestamp() override;
  void sleepSeconds(double seconds) override;
  /// All waits so far, in order.
  std::vector<double> waits() const;

private:
  mutable std::mutex mutex;
  double now = 0;
  std::vector<double> slept;
};

} // namespace kbopt

#endif // KBOPT_SUPPORT_WAITINGCLOCK_H
