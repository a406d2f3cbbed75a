//===- Child.h - a job's own process -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the process that jobs run in: whatever a kernel does to it, the parent has
// a result. The server decides which jobs may share one.
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_CHILD_H
#define KBRUN_CHILD_H

#include "Run.h"
#include <functional>
#include <sys/types.h>

namespace kbrun {

/// A process that waits for jobs. It has no part of those that the parent gives to others.
class Child {
public:
  /// Starts the process; \p warm opens a CUDA device in advance. Null if no process can be started.
  static std::unique_ptr<Child> start(bool warm);
  /// Ends the process, and waits for its end.
  ~Child();
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;

  /// Gives it the job and waits for the outcome. A process that dies or outlives its limit makes
  /// a result, too. \p whileWaiting is called about once a second.
  Outcome run(const Job &job, const std::string &jobText, const std::string &name,
              const std::string &folder, const std::function<void()> &whileWaiting = {});
  /// Tells the process to end. Taking down a device's context may last longer than a job.
  void stop();
  /// Whether it has ended by now; never waits.
  bool hasEnded();

private:
  Child() = default;
  [[noreturn]] void live(bool warm);
  Outcome runNext(const std::string &message);
  Outcome lost(const Job &job, const char *status, const std::string &message);

  pid_t pid = -1;
  int toChild = -1, fromChild = -1;
  Progress *progress = nullptr;
};

} // namespace kbrun
#endif
