//===- Turn.h - turns on the device -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the agreement between kb-runs and recorded programs on one machine: figures are taken alone,
// what else computes on the device shares it, and everything before and behind that (contexts,
// files, copies, work of the host) needs no turn.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_TURN_H
#define KBRT_TURN_H

#include <chrono>
#include <string>

namespace kbrt::cuda {

/// Holds a lock named by the device until it ends; the kernel releases it with the process. Locks
/// lie in the folder kb-run-turns of $XDG_RUNTIME_DIR, else of /tmp (kb-opt's turnsFolder). Where
/// none can be had (a read-only folder), there is no turn to wait for.
///
/// The lock of a file is not fair: a process that shares it lets others share it too, and one that
/// wants it alone would wait as long as any of them come. So all wait in a queue, which is a second
/// lock: its first holds it until the device is free for it. So a turn is one launch or one block
/// of measurements, no longer.
class Turn {
public:
  /// Others wait no longer than this for one that computes or measures.
  static constexpr std::chrono::milliseconds longest{20};

  /// \p device: its UUID. Has no turn yet.
  explicit Turn(const std::string &device);
  ~Turn();
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;
  /// Waits until no other kb-run uses the device, and keeps them away.
  void alone();
  /// Waits until no process has the device alone, and uses it beside others.
  void shared();
  /// `shared` for launches that follow each other: goes on with the share that it has, and lines up
  /// again once that is `longest` old.
  void sharedOn();
  /// The same for what is measured alone.
  void aloneOn();
  /// `leave`, unless the turn is younger than `longest`: others wait that long at most.
  void rest();
  /// Lets all processes in.
  void leave();

private:
  enum class Held { Nothing, Share, All };
  void wait(int how);
  void take(Held what);
  bool isOld() const;

  int file = -1, queue = -1;
  Held held = Held::Nothing;
  std::chrono::steady_clock::time_point since; ///< it is held
};

} // namespace kbrt::cuda

#endif // KBRT_TURN_H
