//===- WorkerProcess.h - kb-run screen, from outside -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns one process that runs candidates (Screen.h): its start, the questions to it
// with their limits, and its end. Whatever a kernel does to it, the asker has an answer.
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_WORKERPROCESS_H
#define KBRUN_WORKERPROCESS_H

#include "Link.h"
#include "Run.h"
#include <sys/types.h>

namespace kbrun {

class WorkerProcess {
public:
  /// Starts the process, which opens its device by itself. Null if no process can be started.
  static std::unique_ptr<WorkerProcess> start();
  /// Kills it, and waits for its end.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess &) = delete;
  WorkerProcess &operator=(const WorkerProcess &) = delete;

  struct Answer {
    enum Kind {
      Said,
      Died, ///< `json` has `status` "crash" and `message`
      Hung, ///< killed at the limit; `json` has `status` "timeout" and `message`
    } kind = Said;
    /// `status`, `message`, `note` and more
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    std::string status() const { return json.value("status", "environment"); }
  };
  /// Asks, and waits at most \p limitSeconds, turns of others not counted.
  Answer ask(const nlohmann::ordered_json &message, double limitSeconds,
             const std::vector<int> &descriptors = {});
  /// What it said of its device; waits for that.
  const Answer &whetherReady();

  /// Tells it to end, without waiting.
  void stop();
  /// Waits for its end: from then on nothing writes to memory that was lent to it.
  void waitForEnd();
  /// Whether it has ended by now; never waits.
  bool hasEnded();

  unsigned candidates = 0; ///< that it has loaded
  bool isEquipped = false; ///< memory and the original are there

private:
  WorkerProcess() = default;
  Answer wait(double limitSeconds);
  Answer lost(Answer::Kind kind, const char *status, std::string message);

  pid_t pid = -1;
  int waitStatus = 0;
  std::unique_ptr<Link> link;
  Progress *progress = nullptr;
  std::optional<Answer> ready;
};

} // namespace kbrun
#endif
