//===- HostOrder.h - What the host has waited for ----------------*- C++ -*-===//
//
// Owns copies between page-locked memory and the device that the host has not waited for. The
// device executes steps at once; CUDA promises that such a copy has been made only when the host
// has waited.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_RECORD_HOSTORDER_H
#define KBRT_RECORD_HOSTORDER_H

#include "kbrt/Memory.h"
#include "kbrt/Plan.h"
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace kbrt {

/// A copy that may not have been made yet.
struct PendingCopy {
  uint32_t stream = 0;
  uint64_t number = 0;        ///< of the step on its stream
  std::function<void()> made; ///< does on the host's side what the copy does
};

/// Follows the order that streams, events and waits give. Used under `DeviceLock`.
class HostOrder {
public:
  /// \p stream does not wait for the default one.
  void addNonBlocking(uint32_t stream) { nonBlocking.insert(stream); }
  /// Something is enqueued on \p stream.
  void enqueue(uint32_t stream);
  void record(uint32_t event, uint32_t stream);
  void wait(uint32_t event, uint32_t stream);
  /// What was enqueued on \p stream last is a copy; \p made is called once, when the host has
  /// waited for it.
  void addCopy(uint32_t stream, std::function<void()> made);

  /// The host waits for \p stream, or for everything.
  void hostWaits(std::optional<uint32_t> stream);
  void hostWaitsForEvent(uint32_t event);
  /// The host asks whether \p stream, or an event, is done: not at first where it has not waited
  /// for what was enqueued, and the next time it is, and was waited for. Who does not ask again
  /// sees what is in the host's memory before that.
  bool isStreamDone(uint32_t stream);
  bool isEventDone(uint32_t event);

private:
  /// By stream, up to which of its steps all has been done.
  using Clock = std::map<uint32_t, uint64_t>;
  void settle(const Clock &done);
  bool isDone(const Clock &done);
  /// What \p stream has been given, and what that waits for.
  Clock &clockOf(uint32_t stream);

  std::set<uint32_t> nonBlocking;
  std::map<uint32_t, Clock> streams, events;
  std::vector<PendingCopy> pending;
  Clock waited;          ///< what the host has waited for
  std::set<Clock> asked; ///< what it was told to be not done yet
};

} // namespace kbrt

#endif // KBRT_RECORD_HOSTORDER_H
