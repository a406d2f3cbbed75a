//===- HostOrder.h - What the host has waited for ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what happens on the host's side when the device comes to it, and no sooner: copies between
// page-locked memory and the device, and functions of the host. The device executes steps at
// once; CUDA promises that such a copy has been made only when the host has waited.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_RECORD_HOSTORDER_H
#define KBRT_RECORD_HOSTORDER_H

#include "kbrt/Memory.h"
#include "kbrt/StreamOrder.h"
#include <deque>
#include <functional>

namespace kbrt {

/// What may not have happened yet.
struct PendingWork {
  Moment moment;
  std::function<void()> happens; ///< does on the host's side what the operation does
  bool isFunction = false;       ///< the program's own: it runs outside `DeviceLock`
};

/// Follows the order that streams, events and waits give. Used under `DeviceLock`.
class HostOrder {
public:
  /// \p stream does not wait for the default one.
  void addNonBlocking(uint32_t stream) { clocks.addNonBlocking(stream); }
  /// Something is enqueued on \p stream.
  void enqueue(uint32_t stream) { latest = clocks.enqueue(stream); }
  void record(uint32_t event, uint32_t stream) { clocks.record(event, stream); }
  void wait(uint32_t event, uint32_t stream) { clocks.wait(event, stream); }
  /// What was enqueued last.
  const Moment &last() const { return latest; }
  /// What was enqueued last is a copy; \p made is called once, when the host has waited for it.
  void addCopy(std::function<void()> made) { pending.push_back({latest, std::move(made)}); }
  /// What was enqueued last is a function of the program's.
  void addFunction(std::function<void()> function) {
    pending.push_back({latest, std::move(function), true});
  }

  /// The host waits for \p stream, or for everything: what is due happens, up to the first
  /// function; that and the rest are for `takeFunction`.
  void hostWaits(std::optional<uint32_t> stream);
  void hostWaitsForEvent(uint32_t event);
  /// The host asks whether \p stream, or an event, is done: not at first where it has not waited
  /// for what was enqueued, and the next time it is, and then it has waited for it. A host that
  /// does not ask again sees what is in the host's memory before that.
  bool isStreamDone(uint32_t stream);
  bool isEventDone(uint32_t event);
  /// What operations of \p stream wait for is due: its next one may need it.
  void makeDueBefore(uint32_t stream);
  /// All that is pending is due.
  void makeAllDue();
  bool hasFunctions() const;

  bool hasDue() const { return !due.empty(); }
  /// Makes the copies that are due up to the next function; returns that, or nothing at the end.
  std::optional<PendingWork> takeFunction();

  /// What the host knows to have ended.
  Moment hostMoment() const { return clocks.hostMoment(); }
  /// What a function on \p stream knows to have ended.
  Moment functionMoment(uint32_t stream) { return clocks.functionMoment(stream); }

private:
  void settle(const Moment &now);
  bool isDone(const StreamClock &done);
  void makeDueCopies();

  StreamClocks clocks;
  Moment latest;
  std::vector<PendingWork> pending;
  std::deque<PendingWork> due;
  std::set<StreamClock> asked; ///< what the host was told to be not done yet
};

} // namespace kbrt

#endif // KBRT_RECORD_HOSTORDER_H
