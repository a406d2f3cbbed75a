//===- Turn.h - who has the device ------------------------------*- C++ -*-===//
//
// Owns the agreement between kb-runs on one machine: figures are taken alone, all
// else may share the device.
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_TURN_H
#define KBRUN_TURN_H

#include <string>

namespace kbrun {

/// Holds a lock named by the device until it ends; the kernel releases it with the process. Locks
/// lie in the folder kb-run-turns of $XDG_RUNTIME_DIR, else of /tmp. Where none can be had (a
/// read-only folder), there is no turn to wait for.
class Turn {
public:
  /// \p device: its UUID. Waits until nobody has the device alone.
  explicit Turn(const std::string &device);
  ~Turn();
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;
  /// Waits until no other kb-run uses the device, and keeps them away.
  void alone();
  /// Lets others in again.
  void shared();

private:
  int file = -1;
};

} // namespace kbrun

#endif // KBRUN_TURN_H
